"""One way to read and write records: by the annotations of their fields."""
