"""The files of a bundle: ``index.msgpack``, its SHA-256, and the models, whose SHA-256 stand in the index."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from polydom_runtime.causes import shown

from . import schema
from .bundle import Bundle
from .decoding import decode
from .encoding import encode
from .model_entry import read_bounded

INDEX_FILE, DIGEST_FILE = "index.msgpack", "index.sha256"


def load_bundle(folder: str | os.PathLike[str]) -> Bundle:
    """Read a bundle and check it, every model included.

    Raises
    ------
    BundleFormatError
        If a file is missing, cut, altered, too large, of a newer version, or inconsistent with another.
    """
    if not isinstance(folder, str | os.PathLike):
        raise schema.bad("A bundle must be given by the path of its folder", shown(folder), "The space comes after it.")
    path = Path(folder)
    if not (path / INDEX_FILE).is_file():
        got = f"no file {INDEX_FILE} there" if path.is_dir() else "a file" if path.is_file() else "no such folder"
        raise schema.bad(f"{path} must be a bundle folder", got, "Give the path of the folder, or copy it whole.")
    data = read_bounded(path / INDEX_FILE, schema.MAX_INDEX_BYTES)
    digest = read_bounded(path / DIGEST_FILE, 4096)
    if digest != digest_line(data):
        raise schema.bad(f"{path / DIGEST_FILE} must hold the SHA-256 of {INDEX_FILE}", digest[:80])
    bundle = replace(decode(data, path), sha256=hashlib.sha256(data).hexdigest())
    for model in range(len(bundle.models)):
        bundle.model_bytes(model)
    return bundle


def index_sha256(bundle: Bundle) -> str:
    """Return the SHA-256 of a bundle's index in hexadecimal, as in ``index.sha256`` when it was loaded."""
    return bundle.sha256 or hashlib.sha256(encode(bundle)).hexdigest()


def digest_line(index: bytes) -> bytes:
    """Return the content of ``index.sha256``, as ``sha256sum`` writes it."""
    return f"{hashlib.sha256(index).hexdigest()}  {INDEX_FILE}\n".encode()
