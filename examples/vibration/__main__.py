"""The command ``python -m examples.vibration``: build two bundles, watch a machine until it breaks, compare."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from polydom_builder.commands.tables import print_table
from polydom_runtime import MqttPublisher, Predictor, measure
from polydom_runtime.commands.arguments import duration
from polydom_runtime.commands.command_line import run_command
from polydom_runtime.commands.terminal import show
from polydom_runtime.costs import format_seconds
from polydom_runtime.tables import TextTable

from .build import COSTS_OF_ERRORS, QUANTILE, build
from .features import space
from .lives import Life, Record
from .machine import HITS, training_windows
from .picture import NAMES, draw
from .recordings import TESTED_LOAD, recorded_windows
from .watch import PERIOD, Alarm, run_loop


class Scale(NamedTuple):
    """How much work a run is.

    `machines`, `each`: to build with, and a sixth of the windows of each. `seconds`: for the measurement of the
    features. `trainings`: the most feature sets of a bundle. `lives`, `windows`: of each fault, and the windows of each
    life.
    """

    machines: int = 24
    each: int = 7
    seconds: float = 5.0
    trainings: int = 24
    lives: int = 3
    windows: int = 240


QUICK = Scale(machines=12, each=3, seconds=0.5, trainings=6, lives=1, windows=40)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    command = argparse.ArgumentParser(
        prog="python -m examples.vibration", description="Listen to a bearing until it breaks, every 50 ms."
    )
    command.add_argument("--out", type=Path, default=Path(".cache/vibration"), help="folder (default %(default)s)")
    command.add_argument("--deadline", type=duration, default=0.01, help="of each window, at most 50ms (default 10ms)")
    command.add_argument("--cwru", type=Path, metavar="PATH", help="take windows of real bearings: see recordings.py")
    command.add_argument(
        "--lines", action="store_true", help="print each alarm as a line of JSON, and all else to standard error"
    )
    command.add_argument(
        "--mqtt", metavar="ADDRESS", help="publish the answers of the loop, such as to host/hall/pump3"
    )
    command.add_argument("--quick", action="store_true", help="make a small run that checks that everything works")
    command.set_defaults(run=run)
    return command


def run(arguments: argparse.Namespace) -> None:
    """Run the example, with simulated or with recorded windows."""
    scale = QUICK if arguments.quick else Scale()
    stdout = sys.stdout

    def on_alarm(alarm: Alarm) -> None:
        if arguments.lines:
            print(json.dumps(asdict(alarm)), file=stdout, flush=True)
        show(f"   window {alarm.window:3}: ALARM, {alarm.fault}")

    arguments.out.mkdir(parents=True, exist_ok=True)
    with redirect_stdout(sys.stderr) if arguments.lines else nullcontext():
        if arguments.cwru:
            run_recorded(arguments.cwru, arguments.out, arguments.deadline, scale)
        else:
            run_simulated(arguments.out, arguments.deadline, scale, on_alarm, arguments.mqtt)


def run_simulated(
    out: Path, deadline: float, scale: Scale, on_alarm: Callable[[Alarm], object], broker: str | None
) -> None:
    """Build both bundles, run the loop on one machine, and compare the bundles on several; print and draw."""
    windows = training_windows(scale.machines, scale.each)
    show(f"{len(windows[0]):,} windows of {scale.machines} machines to build with. Measuring {len(space)} features ...")
    costs = measure(space, windows[0], seconds=scale.seconds, quantile=QUANTILE)
    predictors = []
    for name, known in (("costs-known", COSTS_OF_ERRORS), ("all-alike", None)):
        bundle = build(out / f"{name}.bundle", windows, costs, deadline, known, scale.trainings)
        show(f"Built {out / name}.bundle: {len(bundle.models)} models.")
        predictors.append(Predictor.load(out / f"{name}.bundle", space))
    lives = [Life.simulated(fault, scale.windows, seed) for seed in range(scale.lives) for fault in HITS]
    show(f"\nOne machine, a window every {format_seconds(PERIOD)}. Its damage begins at window {lives[0].onset}.")
    with MqttPublisher(broker) if broker else nullcontext() as publisher:
        _, summary = run_loop(lives[0].windows, predictors[0], on_alarm, publisher)
    counts = summary.counts
    show(
        f"   {counts.answered} answers, {counts.late} of them late (deadline {format_seconds(deadline)}); "
        f"{summary.rehearsals.share:.0%} of the time for rehearsals."
    )
    records = [Record.of(lives, predictor) for predictor in predictors]
    print_trades(*records)
    files = draw(out / "vibration", *records)
    show(f"Picture: {files[0]}")


def print_trades(informed: Record, plain: Record) -> None:
    """Print the results of both bundles on the same lives."""
    n_windows = sum(len(one.windows) for one in informed.lives)
    rows = [
        (name, f"{record.cost:.2f}", f"{record.missed(faulty=True):.1%}", f"{record.missed(faulty=False):.1%}")
        for name, record in zip(NAMES, (informed, plain), strict=True)
    ]
    title = f"\nErrors in {n_windows:,} windows of {len(informed.lives)} machines, from sound to broken:"
    print_table(TextTable(title, ("bundle", "#cost a window", "#misses", "#false alarms"), rows))
    pairs = zip(informed.trades, plain.trades, strict=True)
    cells = [
        (str(a.in_a_row), *(f"{value:.1f}" for t in (a, b) for value in (t.false_alarms, t.delay))) for a, b in pairs
    ]
    columns = ("#in a row", f"#false ({NAMES[0]})", "#delay", f"#false ({NAMES[1]})", "#delay")
    alarms = "Alarms by bad windows in a row: false ones in 1,000 sound windows, delay in windows:"
    print_table(TextTable(alarms, columns, cells))


def run_recorded(data: Path, out: Path, deadline: float, scale: Scale) -> None:
    """Build a bundle with recordings at three loads, and print how it does at the fourth."""
    count = scale.machines * scale.each * 6
    windows = recorded_windows(data, count, tested=False)
    items, labels, _ = recorded_windows(data, count, tested=True)
    costs = measure(space, windows[0], seconds=scale.seconds, quantile=QUANTILE)
    bundle = build(out / "recorded.bundle", windows, costs, deadline, None, scale.trainings)
    predictor = Predictor.load(out / "recorded.bundle", space)
    predictor.warm_up(items[0])
    answers = [predictor.predict_one(item) for item in items]
    right = sum(answer.label == label for answer, label in zip(answers, labels, strict=True))
    late = sum(not answer.deadline_met for answer in answers)
    show(
        f"{count:,} windows at lower loads to build with, {count:,} at {TESTED_LOAD} hp to test; "
        f"{len(bundle.models)} models.\n{right / count:.1%} of the faults are named rightly, {late} answers were late."
    )
    for names, n in Counter(answer.features for answer in answers).most_common(3):
        show(f"   {n / count:4.0%} answered by {', '.join(names) or 'the most frequent class'}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command` for its exit code."""
    return run_command(lambda words: parser(), argv, "Start it again.")


if __name__ == "__main__":
    sys.exit(main())
