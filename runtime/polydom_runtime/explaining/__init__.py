"""How an answer came about."""
