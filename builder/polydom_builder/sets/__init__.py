"""What the searches speak of: costs of feature sets, the sets that fit at a size, and the queries to expect."""
