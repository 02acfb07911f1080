"""Tar files as documents: the header of each entry beside its content, so that a header can lie."""

from tarfile import BLOCKSIZE, TarInfo
from typing import Any

CHECKSUM = slice(148, 156)


def opened(data: bytes) -> list[Any]:
    """Return the header and the content of each entry."""
    entries, at = [], 0
    while any(header := data[at : at + BLOCKSIZE]):
        at += BLOCKSIZE
        size = TarInfo.frombuf(header, "utf-8", "strict").size
        entries.append({"header": header, "content": data[at : at + size]})
        at += size + -size % BLOCKSIZE
    return entries


def closed(document: Any) -> bytes:
    """Return the tar file of a document, each header with the right checksum; what is no entry is left out."""
    data = b""
    for entry in document if isinstance(document, list) else []:
        header, content = (entry.get("header"), entry.get("content")) if isinstance(entry, dict) else (None, None)
        if isinstance(header, bytes) and isinstance(content, bytes):
            block = bytearray(header[:BLOCKSIZE].ljust(BLOCKSIZE, b"\0"))
            block[CHECKSUM] = b" " * 8
            block[CHECKSUM] = b"%06o\0 " % sum(block)
            data += block + content + bytes(-len(content) % BLOCKSIZE)
    return data + bytes(2 * BLOCKSIZE)
