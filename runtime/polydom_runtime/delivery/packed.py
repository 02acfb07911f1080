"""Bundles as one file: a plain tar, read by rules that leave no room for surprises."""

import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from polydom_runtime.bundles.signed_files import unsigned
from polydom_runtime.codec.marks import bad
from polydom_runtime.exceptions import BundleFormatError, UpdateError
from polydom_runtime.files import new_file
from polydom_runtime.trust import SIGNATURE_FILE
from polydom_runtime.trust.envelope import MAX_SIGNATURE_BYTES
from polydom_runtime.trust.trust import Trust, check_file, check_file_names

TAR_BLOCK, COPIED_AT_ONCE = tarfile.BLOCKSIZE, 1 << 16

MAX_TAR_BYTES, MAX_ENTRIES = 2 << 30, 20_000
"""The size of the file, and the number of files and folders in it: twice the limits for the models of a bundle."""

MAX_UNCHECKED_BYTES = MAX_ENTRIES * TAR_BLOCK + MAX_SIGNATURE_BYTES
"""The most bytes that are read before the signature is checked, where one is demanded: 14 MB."""

Entries = dict[tuple[str, ...], tuple[int | None, int]]
"""For the parts of each name, the size of the file, or None for a folder, and where it starts in the tar file."""

DEPTHS = {tarfile.DIRTYPE: (1, 2), tarfile.REGTYPE: (2, 3), tarfile.AREGTYPE: (2, 3)}
"""How deep folders and files of a bundle may be. All other kinds, such as links, are nowhere."""


@contextmanager
def unpacked(bundle: str | os.PathLike[str], trust: Trust | None = None) -> Iterator[Path]:
    """Yield the folder of a bundle: a temporary one for a tar file, anything else as it is.

    `trust`: the keys one of which must have signed it. Before that is known, nothing is unpacked.
    """
    path = Path(bundle)
    if not path.is_file():
        yield path
        return
    with TemporaryDirectory(prefix="polydom-") as scratch:
        try:
            with open(path, "rb") as stream:
                folder = unpack_tar(stream, path, Path(scratch), trust)
        except OSError as e:
            raise UpdateError(
                f"{path} must be readable, and there must be space for its content in {scratch}. Got: {e}. "
                "Name a folder with space by the environment variable TMPDIR."
            ) from e
        yield folder


def unpack_tar(stream: BinaryIO, name: Path, into: Path, trust: Trust | None = None) -> Path:
    """Write the one folder of a tar file into an empty folder, and return its path; `BundleFormatError` if unsound.

    With `trust`, only the headers and the signature are read before it is checked: at most `MAX_UNCHECKED_BYTES`.
    """
    entries = _listed(stream, name)
    if trust is not None:
        _check_signature(stream, name, entries, trust)
    for parts, (size, start) in entries.items():
        if size is None:
            into.joinpath(*parts).mkdir()
            continue
        stream.seek(start)
        with new_file(into.joinpath(*parts), sync=False) as file:
            for done in range(0, size, COPIED_AT_ONCE):
                file.write(stream.read(min(COPIED_AT_ONCE, size - done)))
    stream.seek(max(start + -(-(size or 0) // TAR_BLOCK) * TAR_BLOCK for size, start in entries.values()))
    while block := stream.read(COPIED_AT_ONCE):
        if block.strip(b"\0"):
            raise _bad(name, "more after its end")
    return into / next(iter(entries))[0]


def _listed(stream: BinaryIO, name: Path) -> Entries:
    """Read the headers of a tar file, and nothing between them."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    if size > MAX_TAR_BYTES:
        raise bad(f"{name} must have at most {MAX_TAR_BYTES} bytes", size, "Pack a smaller bundle.")
    seen: Entries = {}
    while (block := stream.read(TAR_BLOCK)).strip(b"\0"):
        entry = _entry(block, name)
        parts = tuple(entry.name.split("/"))
        if not _fits(entry, parts, seen):
            raise _bad(name, f"the entry {entry.name!r} of type {entry.type!r} in this place")
        if not 0 <= entry.size <= size - stream.tell():
            raise _bad(name, f"an end before that of {entry.name!r}")
        seen[parts] = None if entry.isdir() else entry.size, stream.tell()
        stream.seek(-(-entry.size // TAR_BLOCK) * TAR_BLOCK, os.SEEK_CUR)
    if len(block) < TAR_BLOCK or not seen:
        raise _bad(name, "an end before that of the list")
    return seen


def _check_signature(stream: BinaryIO, name: Path, entries: Entries, trust: Trust) -> None:
    """Check the signature over the names and sizes of all files; their contents are checked when they are loaded."""
    files = {"/".join(parts[1:]): place for parts, place in entries.items() if place[0] is not None}
    size, start = files.get(SIGNATURE_FILE, (None, 0))
    if size is None:
        raise unsigned(name)
    stream.seek(start)
    _, stated = trust.opened(stream.read(min(size, MAX_SIGNATURE_BYTES + 1)))
    check_file_names(stated, files)
    for file, digest in stated.files.items():
        check_file(stated, file, digest._replace(size=files[file][0] or 0))


def _entry(block: bytes, name: Path) -> tarfile.TarInfo:
    """Read one header. `TarFile` would read on as the header says, such as names of any length, or sparse files."""
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError) as e:
        raise _bad(name, f"{e}, as in a file that is cut or compressed") from e


def _fits(entry: tarfile.TarInfo, parts: tuple[str, ...], seen: Entries) -> bool:
    """Tell whether a bundle may have an entry of this kind and name, after those that were seen."""
    return (
        len(parts) in DEPTHS.get(entry.type, ())
        and parts[-1] not in ("", ".", "..")
        and parts not in seen
        and (seen.get(parts[:-1], (0,))[0] is None if seen else len(parts) == 1)
        and len(seen) < MAX_ENTRIES
        and not (entry.isdir() and entry.size)
    )


def _bad(name: Path, got: str) -> BundleFormatError:
    return bad(
        f"{name} must be a tar file as `polydom pack` writes it, without compression", got, "Pack the bundle again."
    )
