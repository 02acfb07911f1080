"""The names of the ways to choose the feature set of an item, as pictures and tables have them."""

ANY_TIME, STRICT, SINGLE, ORACLE = "any-time", "strict", "best single set", "oracle"
