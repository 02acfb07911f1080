"""Whose a bundle is: signatures, and the keys that a node trusts. Imported only where a signature is demanded."""

VARIABLE = "POLYDOM_TRUST"
"""The environment variable with the paths of keys files: then every bundle must be signed."""

SIGNATURE_FILE = "signature.json"
