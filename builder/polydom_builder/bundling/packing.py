"""A bundle as one file, the same bytes for the same bundle."""

import os
import tarfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from polydom_builder.exceptions import ExportError
from polydom_builder.signing.sign import unaltered
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.model_entry import MAX_MODEL_BYTES
from polydom_runtime.bundles.opened_folder import opened_folder
from polydom_runtime.delivery.packed import unpack_tar
from polydom_runtime.files import replace_file

from .given_identity import source_date


def pack(folder: str | os.PathLike[str], out: str | os.PathLike[str]) -> Bundle:
    """Write a bundle with all its files as one tar file, ``NAME.tar``, in one step, and return the bundle.

    Its times are 0, or those of ``SOURCE_DATE_EPOCH``.
    """
    path, target = Path(folder).resolve(), Path(out).resolve()
    if target.suffix != ".tar" or target.is_relative_to(path):
        raise ExportError(f"The file must be named NAME.tar, and be outside of {folder}. Got {out}.")
    load_bundle(folder)
    unaltered(folder)  # a node would refuse it
    content = _tar(path)
    with TemporaryDirectory() as scratch:  # as a node will read it
        bundle = load_bundle(unpack_tar(BytesIO(content), target, Path(scratch)))
    try:
        replace_file(out, content)
    except OSError as e:
        raise ExportError(f"{out} must be writable. {e}") from e
    return bundle


def _tar(folder: Path) -> bytes:
    target = BytesIO()
    with (
        opened_folder(folder) as opened,
        tarfile.open(
            fileobj=target, mode="w", format=tarfile.USTAR_FORMAT, encoding="utf-8", errors="strict"
        ) as archive,
    ):
        files = opened.files()
        for name in sorted({*files, *(os.path.dirname(file) for file in files)}):
            content = opened.read(name, MAX_MODEL_BYTES) if name in files else None
            entry = _entry(f"{folder.name}/{name}".rstrip("/"), content)
            try:
                archive.addfile(entry, BytesIO(content or b""))
            except ValueError as e:
                raise ExportError(
                    "A tar file must hold names of at most 100 bytes, and a time before the year 2242. "
                    f"Got {entry.name!r}: {e}. Give it a shorter name, or set SOURCE_DATE_EPOCH right."
                ) from e
    return target.getvalue()


def _entry(name: str, content: bytes | None) -> tarfile.TarInfo:
    """Return the header of a file, or of a folder, which has no content. Owner and group are root."""
    entry = tarfile.TarInfo(name)
    entry.mtime = source_date() or 0
    entry.type, entry.mode = (tarfile.DIRTYPE, 0o755) if content is None else (tarfile.REGTYPE, 0o644)
    entry.size = len(content or b"")
    return entry
