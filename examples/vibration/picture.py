"""The picture: one machine until it breaks, and how soon faults are heard at which rate of false alarms."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polydom_builder.drawing.labels import label_lines
from polydom_builder.drawing.saving import save
from polydom_builder.drawing.style import COLOURS, LOOKS, headline
from polydom_builder.drawing.ticks import linear_axis, percent_axis

from .lives import Record
from .machine import SOUND
from .watch import Watch

NAMES = "costs known", "all errors alike"


def draw(path: Path, informed: Record, plain: Record) -> list[Path]:
    """Write the picture in its four forms.

    `path`: the folder and the name. `informed`, `plain`: of the same lives, by the bundle that knows the costs and by
    the other one. The first life is shown.
    """

    def figure() -> Figure:
        figure = Figure(figsize=(11.0, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_life(left, informed, plain)
        _draw_trades(right, informed, plain)
        return figure

    return save(figure, path)


def _draw_life(axes: Axes, informed: Record, plain: Record) -> None:
    life = informed.lives[0]
    axes.plot(life.sizes, color=COLOURS["ink"], label="_damage")
    for k, (name, record) in enumerate(zip(NAMES, (informed, plain), strict=True)):
        bad = [number for number, label in enumerate(record.said[0]) if label != SOUND]
        look, height = LOOKS[k], -0.1 - 0.12 * k
        axes.plot(bad, [height] * len(bad), "|", color=COLOURS[look.colour], markersize=7.0)
        axes.text(1.01, height, name, fontsize=9.0, va="center", transform=axes.get_yaxis_transform())
    watch = Watch()
    alarms = [alarm.window for label in informed.said[0] if (alarm := watch.hear(label))]
    true = next((window for window in alarms if window >= life.onset), None)
    for window in alarms:
        axes.axvline(window, color=COLOURS["grey"], linestyle="-" if window == true else ":", linewidth=1.0)
    linear_axis(axes.xaxis, label="window")
    percent_axis(axes.yaxis, "size of the damage")
    axes.set_ylim(-0.3, 1.03)
    axes.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
    finding = "No alarm" if true is None else f"Alarm at {100 * life.sizes[true]:.0f} % of the damage that breaks it"
    place = "a ball" if life.fault == "ball" else f"its {life.fault} race"
    headline(axes, finding, f"one machine, {place}; marks: windows called bad; upright lines: alarms")


def _draw_trades(axes: Axes, informed: Record, plain: Record) -> None:
    for name, look, record in zip(NAMES, LOOKS, (informed, plain), strict=False):
        trades = record.trades[::-1]
        axes.plot([t.false_alarms for t in trades], [t.delay for t in trades], **look.line, label=name)
    axes.set_xscale("symlog", linthresh=1.0)
    axes.set_xticks([0, 1, 3, 10, 30, 100], ["0", "1", "3", "10", "30", "100"])
    axes.set_xlabel("false alarms in 1,000 windows of a sound machine")
    axes.set_ylim(0.0)
    linear_axis(axes.yaxis, label="windows from damage to alarm")
    saved = 1.0 - informed.cost / plain.cost
    finding = f"Errors cost {100 * abs(saved):.0f} % {'less' if saved > 0 else 'more'} if their costs are known"
    headline(axes, finding, f"{len(informed.lives)} machines; points: 1 to 8 bad windows in a row raise an alarm")
    label_lines(axes)
