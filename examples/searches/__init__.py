"""What searches find and state, checked on test items of five data sets."""
