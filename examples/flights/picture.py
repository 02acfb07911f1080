"""The picture: how right answers are at each deadline, and the recording of a flight."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polydom_builder.drawing.labels import label_lines
from polydom_builder.drawing.saving import save
from polydom_builder.drawing.style import COLOURS, LOOKS, headline
from polydom_builder.drawing.ticks import linear_axis, log_axis, percent_axis
from polydom_builder.evaluation import Evaluation
from polydom_runtime.costs import format_seconds

from .aircraft import SECONDS
from .recording import FIRST, OUTAGE, Recorded

NAMES = {"planned": "Poly-Dom", "cheap_first": "cheap first", "single": "one fixed set", "node": "Poly-Dom, this run"}
"""The first three by planned times; the last one with all pauses that other programs made."""


def draw(path: Path, found: Evaluation, recorded: Recorded) -> list[Path]:
    """Write the picture in its four forms; `path` is the folder and the name."""

    def figure() -> Figure:
        figure = Figure(figsize=(11.0, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_scores(left, found)
        _draw_flight(right, found.classes, recorded)
        return figure

    return save(figure, path)


def _draw_scores(axes: Axes, found: Evaluation) -> None:
    deadlines = [at.deadline for at in found.deadlines]
    scores = {name: [at.whole.systems[name].score or 0.0 for at in found.deadlines] for name in NAMES}
    for look, (name, label) in zip(LOOKS, NAMES.items(), strict=False):
        axes.plot(deadlines, scores[name], **look.line, label=label)
    own = [at.whole.systems["planned"] for at in found.deadlines]
    low, high = ([float(end or 0.0) for end in ends] for ends in zip(*((s.low, s.high) for s in own), strict=True))
    axes.fill_between(deadlines, low, high, color=COLOURS[LOOKS[0].colour], alpha=0.15, linewidth=0.0)
    log_axis(axes.xaxis, "s", "deadline of a window")
    percent_axis(axes.yaxis, "right answers")
    # Only where some set fits all windows: otherwise the answer is always the same class, right for one of all classes.
    fitting = [k for k, score in enumerate(scores["single"]) if score > 1.2 / len(found.classes)] or [-1]
    gain, best = max((scores["planned"][k] - scores["single"][k], k) for k in fitting)
    finding = f"{100 * gain:.0f} points more than one fixed set at {format_seconds(deadlines[best])}"
    headline(axes, finding, f"{found.deadlines[0].whole.items} windows of new flights; band: 90 % interval")
    label_lines(axes)


def _draw_flight(axes: Axes, classes: tuple[str, ...], recorded: Recorded) -> None:
    axes.axvspan(OUTAGE.start, OUTAGE.stop, color=COLOURS["grey"], alpha=0.25, linewidth=0.0)
    axes.text(OUTAGE.start - 0.5, len(classes) - 0.5, "no air data", fontsize=9.0, ha="right")
    axes.set_xlim(2.0, SECONDS + 2.0)
    axes.axvline(recorded.onset, color=COLOURS["ink"], linewidth=1.0)
    axes.text(recorded.onset + 0.8, -0.8, "it fails", fontsize=9.0)
    for number, one in enumerate(recorded.records, FIRST):
        right = one["label"] == (recorded.state if number >= recorded.onset else "sound")
        look = LOOKS[0 if right else 1]
        size = 8.0 + 40.0 * one["confidence"] ** 2
        axes.scatter(number, classes.index(one["label"]), size, color=COLOURS[look.colour], marker=look.marker)
    axes.set_yticks(range(len(classes)), classes)
    axes.set_ylim(-1.0, len(classes))
    linear_axis(axes.xaxis, "s", "time of flight")
    at = recorded.named_at
    finding = f"{recorded.state.capitalize()}: " + (f"named {at - recorded.onset:.0f} s later" if at else "not named")
    headline(axes, finding, "from the recording; larger marks are surer, squares are wrong")
