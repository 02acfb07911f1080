"""What is kept of answers: metrics and the flight recorder."""
