"""The searches and indexes of the paper, some as printed and some corrected, to compare Poly-Dom with."""
