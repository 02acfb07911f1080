"""Archives of arrays as documents: the header of each array beside its raw bytes, so that a header can lie."""

import ast
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

MAGIC = b"\x93NUMPY\x01\0"


def opened(data: bytes) -> dict[str, Any]:
    """Return a map of name to the header and the bytes of each array."""
    with ZipFile(BytesIO(data)) as archive:
        return {name: _array(archive.read(name)) for name in archive.namelist()}


def closed(document: Any) -> bytes:
    """Return the archive of a document, all members of one date; what is no array is written as text."""
    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, array in document.items() if isinstance(document, dict) else [("x.npy", document)]:
            archive.writestr(ZipInfo(name.replace("\0", "0") or "x"), _written(array), ZIP_DEFLATED)
    return stream.getvalue()


def _array(data: bytes) -> dict[str, Any]:
    end = 10 + int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:end].decode())
    return {"header": {**header, "shape": list(header["shape"])}, "data": data[end:]}


def _written(array: Any) -> bytes:
    if not (isinstance(array, dict) and isinstance(array.get("data"), bytes)):
        return repr(array).encode()
    header: Any = array.get("header")
    if isinstance(header, dict) and isinstance(header.get("shape"), list):
        header = {**header, "shape": tuple(header["shape"])}
    text = (repr(header).encode() + b"\n")[:60_000]
    return MAGIC + len(text).to_bytes(2, "little") + text + bytes(array["data"])
