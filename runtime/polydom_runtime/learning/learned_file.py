"""The file of what a node learned, ``NAME.learned``: a line with format and version, a SHA-256, and a msgpack map."""

import hashlib
import os
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from typing import Annotated, NamedTuple

import msgpack
import numpy as np

from polydom_runtime.bundles.bundle import MAX_MODELS, Bundle
from polydom_runtime.bundles.bundle_times import MAX_SECONDS, Regime
from polydom_runtime.bundles.engines import NO_VERSION, Engine, onnxruntime_version
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.bundles.opened_folder import read_bounded
from polydom_runtime.causes import report, uncontrolled
from polydom_runtime.codec.codec import Codec, after_line, unpack
from polydom_runtime.codec.marks import AnyText, In, Size, Text, Unsound
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError
from polydom_runtime.files import replace_file
from polydom_runtime.tables import TextTable, percent

from .learned_times import MOVED, Changes, LearnedRow, LearnedTimes
from .margin import LEAST, MOST
from .summary import moved_units, table_of_moved

MAGIC, VERSION = b"polydom-learned ", 1
SHA256_BYTES, MAX_FILE_BYTES, MAX_ROWS = 32, 4 << 20, 50_000
REMEDY = "It is written anew where it is used."

MACHINE = ("device", "cpu", "numpy", "onnxruntime")
"""The facts that must be equal for learned times to hold."""

MAX_NOTE = 500
Note = Annotated[str, Text(MAX_NOTE, cleaned=True)]
Notes = Annotated[tuple[Note, ...], Size(0, 20)]

BUSY, CAPPED = 0.9, 0.98
"""A process that got less of the processor than this share was among others; a clock whose limit is below this share
of what the processor can do is capped."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What a node learned of one bundle: what a `Predictor` begins with.

    It is bound to the bundle, except for the times of features, steps and answers without models: these hold for each
    bundle on the same machine that was built from the same code of features.
    """

    bundle_sha256: str
    """The digest of the bundle's index, in hexadecimal."""
    code: Annotated[str, Text(least=0)]
    """The fingerprint of the code of the features; empty if it is not known."""
    began: Note
    """When the first answer was learned from."""
    answers: Annotated[int, In(0, 1 << 60)]
    """How many answers were learned from."""
    margin: Annotated[float, In(LEAST, MOST)]
    size: Annotated[float, In(1e-300, 1e300)]
    """The item size that the seconds of the rows are for."""
    rows: Annotated[tuple[LearnedRow, ...], Size(0, MAX_ROWS)]
    engines: Annotated[tuple[Engine, ...], Size(0, MAX_MODELS)] = ()
    """The quicker engine of each model; empty if each is as in the bundle."""
    by_worker: bool = False
    """As of `LearnedTimes`."""

    @classmethod
    def of(
        cls,
        bundle: Bundle,
        times: LearnedTimes,
        margin: float,
        before: "Learned | None" = None,
        since: float | None = None,
    ) -> "Learned":
        """Return what was learned of a bundle, by a predictor that began with what was learned `before`.

        `since`: when it began to learn, in seconds after the epoch; now if not given.
        """
        same = before if before is not None and before.is_of(bundle) else None
        began, engines = (date_text(since), ()) if same is None else (same.began, same.engines)
        digest = index_sha256(bundle)
        rows = times.rows()
        return cls(
            *(digest, bundle.identity.code, began, times.answers, margin, times.middle, rows, engines), times.by_worker
        )

    def is_of(self, bundle: Bundle) -> bool:
        """Tell whether it was learned with this bundle."""
        return self.bundle_sha256 == index_sha256(bundle)

    def applied(self, bundle: Bundle) -> Bundle:
        """Return a bundle with the engines that were found, and a note of where its times come from."""
        if not self.is_of(bundle):
            return bundle
        origin = bundle.times.origin
        note = f"changed by what {self.answers} answers showed here since {uncontrolled(self.began)}"
        times = bundle.times._replace(origin=origin._replace(notes=(*origin.notes, note)))
        engines = self.engines or tuple(model.engine for model in bundle.models)
        models = (model._replace(engine=engine) for model, engine in zip(bundle.models, engines, strict=True))
        return replace(bundle, times=times, models=tuple(models), sha256=self.bundle_sha256)

    def recalled(self, bundle: Bundle, budget: float) -> "Recalled":
        """Return what the plans of a predictor with this budget, in seconds, begin with."""
        return Recalled(self, bundle, LearnedTimes(bundle, budget))


class Recalled:
    """What the plans of a predictor begin with: learned times, and with which changes each plan was made.

    `times`: those of a bundle, which take up what was learned. From answers in a process of another kind, where a
    hand-over is a part of answers or not, they take features and steps only. `regimes`: those of which something was
    learned. `margin`: the margin to begin with.
    """

    def __init__(self, learned: Learned, bundle: Bundle, times: LearnedTimes) -> None:
        self.times, self.planned = times, dict[Regime, Changes]()
        self.margin, is_own, is_alike = LEAST, learned.is_of(bundle), learned.by_worker == times.by_worker
        if is_own and is_alike:
            self.margin = learned.margin
            times.recall(learned.rows, learned.answers)
        elif is_own or (learned.code and learned.code == bundle.identity.code):
            units = bundle.times.worst.names
            times.recall((row for row in learned.rows if is_alike or row.unit in units), elsewhere=learned.size)
        self.regimes = {regime for regime, _ in times.histories}

    def at(self, regime: Regime) -> Bundle:
        """Return the bundle with the learned times of a regime."""
        if regime not in self.regimes:
            return self.times.shipped(regime)
        return self.times.bundle(regime, self.plan(regime))

    def plan(self, regime: Regime) -> Changes:
        """Return the changes to plan a regime with, and note them."""
        changes = self.planned[regime] = self.times.changes(regime)
        return changes


class Circumstances(NamedTuple):
    """The state of the machine and of the process while it learned, as it was at the end."""

    processor_share: Annotated[float, In(0.0, 1.0)]
    """The share of a processor that the process got while it could run."""
    throttled: Annotated[int, In(0, (1 << 32) - 1)] | None
    """The Raspberry Pi's throttle flags, those since the start included; None on other machines."""
    clock_share: Annotated[float, In(0.0, 1.0)]
    """The highest clock that is allowed, divided by the highest one that the processor has."""
    governors: Annotated[tuple[Note, ...], Size(0, 100)]
    celsius: Annotated[float, In(-300.0, 1000.0)] | None
    bits: Annotated[int, In(8, 1024)]
    """The bits of an address: 32 or 64."""
    period: Annotated[float, In(0.0, MAX_SECONDS)]
    """Seconds from one item to the next; 0 back to back, or if it is not known."""

    @classmethod
    def now(cls, board: Board, period: float = 0.0) -> "Circumstances":
        """Return the circumstances of this process."""
        state = board.state()
        ran, waited = ([int(n) for n in (board.text("proc/self/schedstat") or "").split()] or [0, 0])[:2]
        return cls(
            ran / (ran + waited) if ran else 1.0,
            state.throttled,
            board.clock_share,
            board.governors,
            state.celsius,
            8 * struct.calcsize("P"),
            period,
        )

    @property
    def is_sound(self) -> bool:
        """Whether the machine had its full clock: otherwise its times do not stand for others of its kind."""
        return not self.throttled and self.clock_share >= CAPPED

    @property
    def warnings(self) -> list[str]:
        """The reasons why the times may not hold for another machine of the kind, or on another day."""
        governors = ", ".join(self.governors)
        found = {
            "the clock was lowered (throttled): cool the board or change its power supply": bool(self.throttled),
            f"the clock is capped at {percent(self.clock_share)}": self.clock_share < CAPPED,
            f"the governor was {governors}: set it to performance": self.governors not in ((), ("performance",)),
            f"the machine was busy: the process got {percent(self.processor_share)} of a processor": (
                self.processor_share < BUSY
            ),
        }
        return [warning for warning, holds in found.items() if holds]


@dataclass(frozen=True, slots=True)
class LearnedFile:
    """The content of the file: what was learned, where and how."""

    machine: Mapping[str, AnyText]
    """The facts that must be equal for the times to hold; see `this_machine`."""
    saved: Note
    circumstances: Circumstances
    warnings: Notes
    learned: Learned

    @property
    def note(self) -> str:
        """Where, when and how it was learned, in words."""
        how, learned = self.circumstances, self.learned
        dates = f"{learned.began[:10]} to {self.saved[:10]}"
        facts = [
            f"learned on {self.machine['device']} from {learned.answers} answers, {dates}",
            f"{how.bits} bits",
            f"every {1e3 * how.period:g} ms" if how.period else "back to back",
            *(["by workers"] if learned.by_worker else []),
            *([f"{how.celsius:.0f} °C"] if how.celsius is not None else []),
            *self.warnings,
        ]
        return uncontrolled("; ".join(facts))


CODEC = Codec(LearnedFile)


def date_text(seconds: float | None = None) -> str:
    """Return the date and the time of day, now or some seconds after the epoch."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def this_machine(board: Board | None = None) -> dict[str, str]:
    """Return the facts about this machine and its software by which learned times are tied to it."""
    board = board or Board()
    versions = np.__version__, onnxruntime_version() or NO_VERSION
    return dict(zip(MACHINE, (board.device, board.cpu, *versions), strict=True))


def write_learned(
    file: str | os.PathLike[str],
    learned: Learned,
    *,
    period: float = 0.0,
    warnings: tuple[str, ...] = (),
    board: Board | None = None,
    sync: bool = True,
) -> LearnedFile:
    """Write what was learned in one step: at any instant the whole old or the whole new file is there.

    Raises `OSError` if it cannot be written.
    """
    how = Circumstances.now(board := board or Board(), period)
    notes = tuple(dict.fromkeys([*how.warnings, *warnings]))
    kept = LearnedFile(this_machine(board), date_text(), how, notes, learned)
    replace_file(file, encode(kept), sync=sync)
    return kept


def encode(kept: LearnedFile) -> bytes:
    """Return the bytes of the file."""
    content = bytes(msgpack.packb(CODEC.write(kept)))
    return MAGIC + b"%d\n" % VERSION + hashlib.sha256(content).digest() + content


def recalled_from(file: str | os.PathLike[str], bundle: Bundle, board: Board | None = None) -> LearnedFile | None:
    """Return what a file holds for a bundle on this machine; None if there is none, or it is of no use, which is said.

    A node plans by the shipped times then: the file is never a reason to stop.
    """
    if not os.path.lexists(file):
        return None
    try:
        return load_learned(file, bundle, board)
    except (BundleFormatError, BundleMismatchError) as e:
        report(f"plans begin with the shipped times. {e}")
        return None


def load_learned(file: str | os.PathLike[str], bundle: Bundle, board: Board | None = None) -> LearnedFile:
    """Read a file that holds on this machine for a bundle, if only for the times of its features.

    Raises `BundleFormatError` if it is unsound, `BundleMismatchError` if it is of another machine or other features.
    """
    kept = read_learned(file)
    here = this_machine(board)
    if differ := [name for name in MACHINE if kept.machine[name] != here[name]]:
        pairs = uncontrolled(", ".join(f"{name} {kept.machine[name]} and not {here[name]}" for name in differ))
        raise BundleMismatchError(f"{file} must have been learned on this machine. It was with {pairs}. {REMEDY}")
    learned = kept.learned
    if learned.is_of(bundle):
        if len(learned.engines) not in (0, n_models := len(bundle.models)):
            raise BundleFormatError(
                f"{file} must name an engine for each of {n_models} models. Got {len(learned.engines)}. {REMEDY}"
            )
    elif not learned.code or learned.code != bundle.identity.code:
        raise BundleMismatchError(
            f"{file} must have been learned with this bundle, or with one of the same features. It was with another "
            f"one, or their code was changed. {REMEDY}"
        )
    return kept


def read_learned(file: str | os.PathLike[str]) -> LearnedFile:
    """Read a file from whatever machine; `BundleFormatError` if it is unsound."""
    path = Path(file)
    try:
        kept = CODEC.read(unpack(_content(path)))
        if kept.machine.keys() != {*MACHINE}:
            raise Unsound(f"hold {', '.join(MACHINE)}", list(kept.machine)).within("machine")
    except (BundleFormatError, Unsound) as e:
        why = f"{e.says('It')} {e.remedy or REMEDY}" if isinstance(e, Unsound) else f"{e} {REMEDY}"
        raise BundleFormatError(f"{path} must be a sound file of learned times. {why}") from e
    return kept


def moved_table(kept: LearnedFile) -> TextTable:
    """Return the units, and the models together, that take another time than the bundle says, and where and how."""
    title = f"{kept.note}; margin {kept.learned.margin:.2f}; units that moved:"
    return table_of_moved(title, moved_units(filter(_has_moved, kept.learned.rows)))


def _has_moved(row: LearnedRow) -> bool:
    return abs(log(row.factor)) > MOVED or abs(row.offset) > MOVED * row.seconds


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise Unsound("be a file", "none")
    data = read_bounded(path.resolve(), MAX_FILE_BYTES)
    start = after_line(data, "a file of learned times", MAGIC, VERSION, REMEDY.rstrip("."))
    digest, content = data[start : start + SHA256_BYTES], data[start + SHA256_BYTES :]
    if hashlib.sha256(content).digest() != digest:
        raise Unsound("have the SHA-256 that it states", "another one: it is cut or altered")
    return content
