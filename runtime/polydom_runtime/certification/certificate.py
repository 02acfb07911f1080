"""A certificate: the result of a run of many items about missed deadlines, with the conditions it depends on."""

import heapq
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polydom_runtime.binomial import Look, SamplingPlan, misses_allowed
from polydom_runtime.causes import printable
from polydom_runtime.codec.codec import Codec, current, unpack_json
from polydom_runtime.codec.marks import AnyText, In, Unsound
from polydom_runtime.costs import HUGE, format_seconds
from polydom_runtime.device.jitter import Jitter
from polydom_runtime.exceptions import CertificateError
from polydom_runtime.files import replace_file
from polydom_runtime.histogram import Histogram
from polydom_runtime.learning.margin import LEAST, MOST
from polydom_runtime.learning.runs import Runs, RunsOutcome
from polydom_runtime.records.metrics import MAX_REASONS, BoundedCounter
from polydom_runtime.tables import percent

if TYPE_CHECKING:
    from polydom_runtime.prediction import Prediction

FORMAT, VERSION = "polydom-certificate", 1
AGAIN = "Write it again with `polydom-node certify`"

Verdict = Literal["proven", "refuted", "undecided"]
EXIT_CODES: Mapping[Verdict, int] = {"proven": 0, "refuted": 1, "undecided": 3}

MAX_LISTED, MAX_LONGEST = 100, 1000

MarginValue = Annotated[float, In(LEAST, MOST)]


@dataclass(frozen=True, slots=True)
class Claim:
    """At most this share of answers is late, with this confidence."""

    miss_rate: float
    confidence: float


@dataclass(frozen=True, slots=True)
class LateAnswer:
    """An answer after the deadline; `item` is its number in the run, from 1."""

    item: int
    late_ns: int
    reason: AnyText
    slowdown: float
    """The predictor's estimate of how much slower than measured the machine was."""


@dataclass(frozen=True, slots=True)
class MarginRange:
    """The margins with which answers were planned; see `polydom_runtime.learning.margin`."""

    smallest: MarginValue
    largest: MarginValue
    last: MarginValue

    def __str__(self) -> str:
        return f"{self.smallest:.2f} to {self.largest:.2f}, {self.last:.2f} at the end"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The result of a run: verdict, counts, times, and the conditions of the run."""

    verdict: Verdict
    claim: Claim
    looks: tuple[Look, ...]
    """The points at which misses were compared with the claim, fixed before the first item; see `SamplingPlan`."""
    items: Annotated[int, In(0, 10**18)]
    misses: Annotated[int, In(0, 10**18)]
    """`items`, `misses`: the number of answers, and of those that were late."""
    rate_at_least: float
    rate_at_most: float
    """`rate_at_least`, `rate_at_most`: bounds of the rate of misses, each at the claim's confidence, as if the number
    of items had been fixed before."""
    stopped: AnyText
    deadline: float
    """The deadline in seconds."""
    elapsed_share: Mapping[str, float | None]
    """Quantiles of the times from when the item was due to the answer, divided by the deadline."""
    guard_margin: float | None
    """Seconds by which each answer would have to be earlier, so that a single look after this number of items proves
    the claim; None if there are too few items to prove it at all."""
    most_in_a_row: int
    """The longest run of misses. The claim assumes that misses are independent; a long run shows that they are not."""
    reasons: Mapping[AnyText, int]
    missed: tuple[LateAnswer, ...]
    """The first misses, 100 at most."""
    watched: int
    """How often, between items, a loop only read the clock, for as long as the item before had taken."""
    pauses: Mapping[str, float | None]
    """Quantiles, in seconds, of the longest time between two readings in such a loop. The machine alone causes them: no
    code of the predictor runs meanwhile."""
    wake_ups: tuple[Jitter, Jitter]
    """How late a sleeping loop was woken, just before the run and just after it."""
    context: Mapping[AnyText, Any] = field(default_factory=dict)
    """Machine, versions, bundle, items, load."""
    period: Annotated[float | None, In(math.ulp(0.0), HUGE)] = None
    """Seconds from one item to the next, with a sleep between them; None if there was none."""
    rehearsed: bool = False
    """Whether kept items were answered right before each item."""
    waited_share: Mapping[str, float | None] = field(default_factory=dict)
    """Quantiles of the times from when the item was due to the call, divided by the deadline. They are a part of the
    times in `elapsed_share`."""
    margin: MarginRange | None = None
    """None if the predictor controls no margin."""
    late_at_most: RunsOutcome | None = None
    """The promise about late answers in a row, and how it was kept; None if there was none."""

    def _check(self) -> None:
        if self.misses > self.items:
            raise Unsound("have at most as many misses as items", (self.misses, self.items))

    @property
    def regime(self) -> str:
        """How the items came, in words."""
        if self.period is None:
            return "one item after the other, without a sleep"
        how = "rehearsed" if self.rehearsed else "not rehearsed"
        return f"an item every {format_seconds(self.period)}, asleep between, {how}"

    @property
    def late_share(self) -> float:
        """The share of answers that were late."""
        return self.misses / max(self.items, 1)

    @property
    def exit_code(self) -> int:
        """0 if the claim is proven, 1 if it is refuted, 3 if neither."""
        return EXIT_CODES[self.verdict]

    def __str__(self) -> str:
        late = f"later than {format_seconds(self.deadline)}, with {_percent(self.claim.confidence)} confidence"
        most = "more than" if self.verdict == "refuted" else "at most"
        rate = f"at least {_percent(self.rate_at_least)}, at most {_percent(self.rate_at_most)}"
        lines = [
            f"{self.verdict}: {most} {_percent(self.claim.miss_rate)} of answers are {late}",
            f"{self.misses:,} of {self.items:,} were late, {self.most_in_a_row:,} in a row at most; the rate is {rate}",
            self.regime,
            "times in shares of the deadline: " + _listed(self.elapsed_share, lambda share: f"{share:.3g}"),
            f"the machine alone, watched {self.watched:,} times, paused for: " + _listed(self.pauses, format_seconds),
            f"and woke a sleeping loop up to {format_seconds(max(j.max_ns for j in self.wake_ups) / 1e9)} late",
        ]
        if self.period is not None:
            waited = _listed(self.waited_share, lambda share: f"{share:.3g}")
            lines.insert(4, f"of these, from when the item was due to the call: {waited}")
        lines += [f"late: {count:,} x {reason}" for reason, count in self.reasons.items()]
        if self.late_at_most is not None:
            lines.append(str(self.late_at_most))
        if self.margin is not None:
            lines.append(f"all times were planned with a margin of {self.margin}")
        if self.guard_margin is None:
            lines.append("too few items for a guard margin")
        elif self.guard_margin:
            lines.append(f"a guard margin of {format_seconds(self.guard_margin)} would have been enough")
        if isinstance(bundle := self.context.get("bundle"), Mapping):
            about = (bundle.get(what) for what in ("name", "version", "index_sha256"))
            lines.append(f"bundle {' '.join(str(text) for text in about if text)}")
        return "\n".join(map(printable, lines))

    def write(self, file: str | os.PathLike[str]) -> None:
        """Write it as JSON, whole or not at all."""
        text = json.dumps({"format": FORMAT, "version": VERSION, **CODEC.write(self)}, indent=2, allow_nan=False)
        try:
            replace_file(file, f"{text}\n".encode())
        except OSError as e:
            raise CertificateError(f"{file} must be a file that can be written. Got {e}. Choose another.") from e

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> "Certificate":
        """Return the certificate that `write` wrote; `CertificateError` if the file is damaged, or something else."""
        try:
            document = unpack_json(Path(file).read_bytes())
            if document.get("format") != FORMAT:
                raise Unsound(f"have format {FORMAT!r}", document.get("format"))
            return CODEC.read(current(document, VERSION, AGAIN, {}))
        except OSError as e:
            raise CertificateError(f"{file} must be a certificate that can be read. Got {e}. {AGAIN}.") from e
        except Unsound as e:
            raise CertificateError(f"{file} must be a certificate. {e.says('It')} {e.remedy or f'{AGAIN}.'}") from e


CODEC = Codec(Certificate, plain=True)


def _percent(share: float) -> str:
    return percent(share, 4)  # a rate is compared with the claim


def _listed(values: Mapping[str, float | None], written: Callable[[float], str]) -> str:
    return ", ".join(f"{name} {written(value)}" for name, value in values.items() if value is not None) or "none"


class Evidence:
    """Counts answers until the plan decides about the claim."""

    def __init__(self, plan: SamplingPlan, deadline_ns: int, runs: Runs | None = None) -> None:
        self.plan, self.deadline_ns, self.runs = plan, deadline_ns, runs
        self.verdict: Verdict = "undecided"
        self.items = self.misses = self.most_in_a_row = self._in_a_row = 0
        self.elapsed, self.waited, self.reasons = Histogram(), Histogram(), BoundedCounter[str](MAX_REASONS)
        self.missed: list[LateAnswer] = []
        self.margin: MarginRange | None = None
        self._longest: list[int] = []

    def add(self, answer: "Prediction") -> None:
        """Count one answer."""
        self.items += 1
        self.elapsed.add(answer.elapsed_ns)
        self.waited.add(answer.waited_ns)
        keep = heapq.heappush if len(self._longest) < MAX_LONGEST else heapq.heappushpop
        keep(self._longest, answer.elapsed_ns)
        late_ns = answer.elapsed_ns - self.deadline_ns
        self._in_a_row = self._in_a_row + 1 if late_ns > 0 else 0
        if self.runs is not None:
            self.runs.add(late_ns > 0)
        if late_ns > 0:
            self.misses += 1
            self.most_in_a_row = max(self.most_in_a_row, self._in_a_row)
            self.reasons.add(answer.reason)
            if len(self.missed) < MAX_LISTED:
                self.missed.append(LateAnswer(self.items, late_ns, answer.reason, answer.slowdown))
        if (late_ns > 0 or self.items == self.plan.last) and self.plan.is_refutation(self.misses, self.items):
            self.verdict = "refuted"
        if self.verdict == "undecided" and self.plan.is_proof(self.misses, self.items):
            self.verdict = "proven"

    def add_margin(self, value: float) -> None:
        """Note the margin with which an answer was planned."""
        before = self.margin or MarginRange(value, value, value)
        if value != before.last or self.margin is None:
            self.margin = MarginRange(min(before.smallest, value), max(before.largest, value), value)

    @property
    def is_enough(self) -> bool:
        """Whether the run may end; a refuted one goes on up to the first look, so that there is a guard margin."""
        refuted = self.verdict == "refuted"
        return self.verdict == "proven" or self.items >= (self.plan.first if refuted else self.plan.last)

    def guard_margin(self) -> float | None:
        """Return the smallest margin in seconds with which few enough answers would have been late for the claim."""
        allowed = misses_allowed(self.items, self.plan.rate, self.plan.confidence)
        if allowed is None:
            return None
        # Only MAX_LONGEST times are kept. Where that is too few, the margin is too large, never too small.
        longest = heapq.nlargest(allowed + 1, self._longest)
        return max(longest[-1] - self.deadline_ns, 0) / 1e9
