"""The content of ``index.msgpack``: a bundle, written and read by the annotations of its records."""

from dataclasses import replace
from pathlib import Path

import msgpack

from polydom_runtime.codec.codec import Codec
from polydom_runtime.codec.document import Upgrades, current, unpack
from polydom_runtime.codec.unsound import Unsound, bad
from polydom_runtime.exceptions import BundleFormatError

from .bundle import Bundle
from .index_check import check_index
from .limits import check_limits
from .rules import check_parts
from .scores import check_scores

FORMAT = "polydom-bundle"
VERSION = 1
"""The format version. A change of a record raises it, and `UPGRADES` gets one more function."""

UPGRADES: Upgrades = {}
"""For an older version, the function that changes its document into one of the next version."""

MAX_INDEX_BYTES = 4 << 20
"""Thousands of models need one MiB. Decoded, an index may take some ten times as much memory."""

AGAIN = "Export the bundle again"

CODEC = Codec(Bundle)


def encode(bundle: Bundle) -> bytes:
    """Return the content of ``index.msgpack``.

    Raises `BundleFormatError` if something is known of some models only.
    """
    try:
        return bytes(msgpack.packb({"format": FORMAT, "version": VERSION, **CODEC.write(bundle)}))
    except Unsound as e:
        raise BundleFormatError(f"{e.says('The bundle')} {AGAIN}.") from e


def decode(data: bytes, path: Path | None = None) -> Bundle:
    """Return the bundle that the bytes of an ``index.msgpack`` describe; the inverse of `encode`.

    Raises `BundleFormatError` if they are not well-formed, of a version that is not known, or inconsistent.
    """
    if len(data) > MAX_INDEX_BYTES:
        raise bad(f"The index must have at most {MAX_INDEX_BYTES} bytes", len(data))
    try:
        document = unpack(data)
        if document.get("format") != FORMAT:
            raise Unsound(f"have format {FORMAT!r}", document.get("format"))
        bundle = replace(CODEC.read(current(document, VERSION, AGAIN, UPGRADES)), path=path)
        check_parts(bundle)
    except Unsound as e:
        raise BundleFormatError(f"{e.says('The index')} {e.remedy or AGAIN + '.'}") from e
    check_limits(bundle)
    check_scores(bundle)
    check_index(bundle)
    return bundle
