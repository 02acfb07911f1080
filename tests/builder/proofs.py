"""Proofs in a folder of their own, as `export` leaves them in a bundle."""

from pathlib import Path

from polydom_builder.lattice.proof import Proof
from polydom_builder.verification.proof_file import PROOF_FILE, encode_proof


def save_proof(proof: Proof, folder: Path) -> Path:
    file = folder / PROOF_FILE
    file.write_bytes(encode_proof(proof))
    return file
