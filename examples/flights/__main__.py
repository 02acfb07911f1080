"""The command ``python -m examples.flights``: build, compare deadlines, fly, and read the recording of the flight."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from examples.deadlines import flights as quadcopter
from polydom_builder.commands.evaluation_tables import print_evaluation
from polydom_builder.commands.tables import print_table
from polydom_builder.evaluation import Evaluation, Labelled, evaluate, here
from polydom_runtime import Bundle, EnergyBudget, FeatureSpace, Prediction, Predictor
from polydom_runtime.commands.command_line import run_command
from polydom_runtime.commands.terminal import show
from polydom_runtime.policy.deadline import too_short
from polydom_runtime.tables import TextTable

from .aircraft import STATES, windows
from .build import build
from .features import space
from .picture import draw
from .recording import record

DEADLINES = (0.0005, 0.001, 0.002, 0.008, 0.032)  # seconds
WATTS, SURE = 4.0, 0.9


class Scale(NamedTuple):
    """How much work a run is.

    `flights`, `tested`, `each`: flights in each state to build with, and to test; windows of each. `seconds`: for the
    measurement of the features. `trainings`: the most feature sets.
    """

    flights: int = 12
    tested: int = 6
    each: int = 8
    seconds: float = 5.0
    trainings: int = 30


QUICK = Scale(flights=4, tested=2, each=4, seconds=0.5, trainings=6)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    command = argparse.ArgumentParser(
        prog="python -m examples.flights", description="Find faults of an aircraft in its telemetry."
    )
    command.add_argument("--out", type=Path, default=Path(".cache/flights"), help="folder (default %(default)s)")
    command.add_argument("--fails", choices=STATES, default="icing", help="in the recorded flight (default icing)")
    command.add_argument(
        "--data", type=Path, metavar="PATH", help="instead, take flights of a real quadcopter: see examples/deadlines"
    )
    command.add_argument("--quick", action="store_true", help="make a small run that checks that everything works")
    command.set_defaults(run=run)
    return command


def run(arguments: argparse.Namespace) -> None:
    """Run the example, with simulated flights or with real ones."""
    out, scale = arguments.out, QUICK if arguments.quick else Scale()
    out.mkdir(parents=True, exist_ok=True)
    if arguments.data:
        task = quadcopter.load(arguments.data, scale.each)
        real = task.items, task.labels, task.groups
        bundle = build(out / "real.bundle", task.space, real, DEADLINES, scale.seconds, scale.trainings, task.scoring)
        print_evaluation(compared(bundle, task.space, Labelled.of(task.space, task.test_items, task.test_labels)))
        return
    folder = out / "aircraft.bundle"
    items, labels, groups = map(list, zip(*windows(scale.flights, scale.each), strict=True))
    n_flights = scale.flights * len(STATES)
    show(f"{len(items)} windows of {n_flights} flights to build with. Measuring {len(space)} features ...")
    bundle = build(folder, space, (items, labels, groups), DEADLINES, scale.seconds, scale.trainings)
    show(f"Built {folder}: {len(bundle.models)} models.\n")
    test = Labelled.of(space, *zip(*windows(scale.tested, scale.each, seed=1), strict=True))
    found = compared(bundle, space, test)
    print_evaluation(found)
    print_confusion(found)
    print_budgets(folder, test)
    recorded = record(Predictor.load(folder, space), out / "node.flight", arguments.fails)
    show(f"\nA flight in which {recorded.state} begins at {recorded.onset:.0f} s, read by polydom-node flight:")
    show("\n".join(recorded.story()))
    show(f"\nPicture: {draw(out / 'flights', found, recorded)[0]}")


def compared(bundle: Bundle, of: FeatureSpace, test: Labelled) -> Evaluation:
    """Evaluate the bundle at each deadline that this machine allows."""
    possible = [deadline for deadline in DEADLINES if not too_short(bundle, deadline)]
    return evaluate(bundle, test, possible, answering=here(bundle, of, test.items), n_bands=1)


def print_confusion(found: Evaluation) -> None:
    """Print which state was taken for which at the longest deadline."""
    at = found.deadlines[-1]
    rows = [(name, *map(str, row)) for name, row in zip(found.classes, at.whole.confusion, strict=True)]
    title = "\nAnswers at the longest deadline, a row for each true state:"
    print_table(TextTable(title, ("true", *(f"#{name}" for name in found.classes)), rows))


def print_budgets(folder: Path, test: Labelled) -> None:
    """Print the cost and the use of saving energy, and of withholding unsure answers."""
    options: dict[str, dict[str, Any]] = {
        "all of the time": {},
        "4 mJ an item": {"energy": EnergyBudget(0.004, watts=WATTS)},
        f"only if {SURE:.0%} sure": {"abstain_below": SURE},
    }
    rows = []
    for name, option in options.items():
        predictor = Predictor.load(folder, space, **option)
        predictor.warm_up(test.items[0])
        answers = [predictor.predict_one(item) for item in test.items]
        given = [(a, label) for a, label in zip(answers, test.labels, strict=True) if a.label is not None]
        right = sum(answer.label == label for answer, label in given) / max(len(given), 1)
        rows.append((name, f"{len(given) / len(answers):.0%}", f"{right:.3f}", f"{millijoules(answers):.1f} mJ"))
    columns = ("budget", "#answered", "#right", "#median energy")
    print_table(TextTable(f"At the longest deadline, {WATTS:g} W:", columns, rows))


def millijoules(answers: Sequence[Prediction]) -> float:
    """Return the energy of an answer; the median, since pauses of a busy machine count in single ones."""
    return median(answer.elapsed_ns for answer in answers) * 1e-6 * WATTS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command` for its exit code."""
    return run_command(lambda words: parser(), argv, "Start it again.")


if __name__ == "__main__":
    sys.exit(main())
