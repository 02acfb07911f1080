"""Records of the answers: metrics and the flight recorder."""
