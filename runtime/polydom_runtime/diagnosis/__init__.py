"""The causes of late answers on a machine, and their remedies."""
