"""A bearing that wears out: a node listens every 50 ms, and a missed fault costs as much as twenty false alarms."""
