"""The file of a tune, ``NAME.tune``: a line with format and version, a SHA-256 of the rest, and a msgpack map."""

import hashlib
import os
from pathlib import Path

import msgpack
import numpy as np

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.engines import NO_VERSION, onnxruntime_version
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.bundles.opened_folder import read_bounded
from polydom_runtime.causes import uncontrolled
from polydom_runtime.codec.codec import Codec, after_line, unpack
from polydom_runtime.codec.marks import Unsound, bad
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError
from polydom_runtime.files import replace_file

from .board import Board
from .tune import Tune

MAGIC, VERSION = b"polydom-tune ", 1
SHA256_BYTES, MAX_FILE_BYTES = 32, 1 << 20
CODEC = Codec(Tune)
REMEDY = "Run `polydom-node tune` again."

MACHINE = ("device", "cpu", "numpy", "onnxruntime")
"""The facts that must be equal for the times of a tune to hold."""


def this_machine(board: Board | None = None) -> dict[str, str]:
    """Return the facts about this machine and its software by which a tune is tied to it."""
    board = board or Board()
    versions = np.__version__, onnxruntime_version() or NO_VERSION
    return dict(zip(MACHINE, (board.device, board.cpu, *versions), strict=True))


def write_tune(file: str | os.PathLike[str], tune: Tune) -> None:
    """Write a tune in one step: at any instant the whole old or the whole new file is there."""
    content = bytes(msgpack.packb(CODEC.write(tune)))
    try:
        replace_file(file, MAGIC + b"%d\n" % VERSION + hashlib.sha256(content).digest() + content)
    except OSError as e:
        raise bad(f"{file} must be a file that can be written", e, "Choose another name.") from e


def load_tune(file: str | os.PathLike[str], bundle: Bundle, board: Board | None = None) -> Tune:
    """Read a tune; `BundleFormatError` if it is unsound, `BundleMismatchError` if of another bundle or machine."""
    path = Path(file)
    try:
        tune = CODEC.read(unpack(_content(path)))
        _check_tune(tune, bundle)
    except (BundleFormatError, Unsound) as e:
        why = f"{e.says('It')} {e.remedy or REMEDY}" if isinstance(e, Unsound) else f"{e} {REMEDY}"
        raise BundleFormatError(f"{path} must be a sound tune file. {why}") from e
    if tune.bundle_sha256 != index_sha256(bundle):
        raise BundleMismatchError(
            f"{path} must be a tune of the bundle {bundle.path}. It is of another one, or of an earlier build. {REMEDY}"
        )
    here = this_machine(board)
    if differ := [name for name in MACHINE if tune.machine[name] != here[name]]:
        pairs = uncontrolled(", ".join(f"{name} {tune.machine[name]} and not {here[name]}" for name in differ))
        raise BundleMismatchError(f"{path} must be a tune made on this machine. It was made with {pairs}. {REMEDY}")
    return tune


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise Unsound("be a file", "none")
    data = read_bounded(path.resolve(), MAX_FILE_BYTES)
    start = after_line(data, "a tune", MAGIC, VERSION, REMEDY.rstrip("."))
    digest, content = data[start : start + SHA256_BYTES], data[start + SHA256_BYTES :]
    if hashlib.sha256(content).digest() != digest:
        raise Unsound("have the SHA-256 that it states", "another one: it is cut or altered")
    return content


def _check_tune(tune: Tune, bundle: Bundle) -> None:
    n_models, n_units = len(bundle.models), len(bundle.times.worst.names)
    if len(tune.engines) != n_models:
        raise Unsound(f"have an engine for each of the {n_models} models", len(tune.engines)).within("engines")
    if tune.machine.keys() != {*MACHINE}:
        raise Unsound(f"hold {', '.join(MACHINE)}", list(tune.machine)).within("machine")
    if "hot" not in tune.regimes:
        raise Unsound("have the regime hot", list(tune.regimes)).within("regimes")
    for name, there in tune.regimes.items():
        if (len(there.models), len(there.added)) != (n_models, n_units):
            must = f"have times of {n_models} models and {n_units} units"
            raise Unsound(must, (len(there.models), len(there.added))).within("regimes", name)
