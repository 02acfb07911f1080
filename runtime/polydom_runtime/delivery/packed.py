"""Bundles as one file: a plain tar, read by rules that leave no room for surprises."""

import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from polydom_runtime.codec.marks import bad
from polydom_runtime.exceptions import BundleFormatError, UpdateError
from polydom_runtime.files import new_file

TAR_BLOCK, COPIED_AT_ONCE = tarfile.BLOCKSIZE, 1 << 16

MAX_TAR_BYTES, MAX_ENTRIES = 2 << 30, 20_000
"""The size of the file, and the number of files and folders in it: twice the limits for the models of a bundle."""

DEPTHS = {tarfile.DIRTYPE: (1, 2), tarfile.REGTYPE: (2, 3), tarfile.AREGTYPE: (2, 3)}
"""How deep folders and files of a bundle may be. All other kinds, such as links, are nowhere."""


@contextmanager
def unpacked(bundle: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the folder of a bundle: a temporary one for a tar file, anything else as it is."""
    path = Path(bundle)
    if not path.is_file():
        yield path
        return
    with TemporaryDirectory(prefix="polydom-") as scratch:
        try:
            with open(path, "rb") as stream:
                folder = unpack_tar(stream, path, Path(scratch))
        except OSError as e:
            raise UpdateError(
                f"{path} must be readable, and there must be space for its content in {scratch}. Got: {e}. "
                "Name a folder with space by the environment variable TMPDIR."
            ) from e
        yield folder


def unpack_tar(stream: BinaryIO, name: Path, into: Path) -> Path:
    """Write the one folder of a tar file into an empty folder, and return its path; `BundleFormatError` if unsound."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    if size > MAX_TAR_BYTES:
        raise bad(f"{name} must have at most {MAX_TAR_BYTES} bytes", size, "Pack a smaller bundle.")
    seen: dict[tuple[str, ...], bytes] = {}
    while (block := stream.read(TAR_BLOCK)).strip(b"\0"):
        entry = _entry(block, name)
        parts = tuple(entry.name.split("/"))
        if not _fits(entry, parts, seen):
            raise _bad(name, f"the entry {entry.name!r} of type {entry.type!r} in this place")
        if not 0 <= entry.size <= size - stream.tell():
            raise _bad(name, f"an end before that of {entry.name!r}")
        seen[parts] = entry.type
        if entry.isdir():
            into.joinpath(*parts).mkdir()
        else:
            with new_file(into.joinpath(*parts), sync=False) as file:
                for start in range(0, entry.size, COPIED_AT_ONCE):
                    file.write(stream.read(min(COPIED_AT_ONCE, entry.size - start)))
            stream.seek(-entry.size % TAR_BLOCK, os.SEEK_CUR)
    if len(block) < TAR_BLOCK or not seen:
        raise _bad(name, "an end before that of the list")
    while block := stream.read(COPIED_AT_ONCE):
        if block.strip(b"\0"):
            raise _bad(name, "more after its end")
    return into / next(iter(seen))[0]


def _entry(block: bytes, name: Path) -> tarfile.TarInfo:
    """Read one header. `TarFile` would read on as the header says, such as names of any length, or sparse files."""
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError) as e:
        raise _bad(name, f"{e}, as in a file that is cut or compressed") from e


def _fits(entry: tarfile.TarInfo, parts: tuple[str, ...], seen: dict[tuple[str, ...], bytes]) -> bool:
    """Tell whether a bundle may have an entry of this kind and name, after those that were seen."""
    return (
        len(parts) in DEPTHS.get(entry.type, ())
        and parts[-1] not in ("", ".", "..")
        and parts not in seen
        and (seen.get(parts[:-1]) == tarfile.DIRTYPE if seen else len(parts) == 1)
        and len(seen) < MAX_ENTRIES
        and not (entry.isdir() and entry.size)
    )


def _bad(name: Path, got: str) -> BundleFormatError:
    return bad(
        f"{name} must be a tar file as `polydom pack` writes it, without compression", got, "Pack the bundle again."
    )
