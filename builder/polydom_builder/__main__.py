"""The command ``polydom``: build a bundle, inspect or verify one, report on measured costs, run the demo."""

import argparse
import importlib.util
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.arguments import duration, positive, share
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.exceptions import ItemError, PolyDomError, ProfileError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.items import UNLABELLED, iterate, load_object, space_of
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.records.flight_file import load_flight

from . import __version__
from .bundling.bundle_folder import checked_target
from .commands.demo import DEADLINES, run_demo
from .commands.inspection import as_text, description
from .costs.report import as_report, plot_costs, report_costs
from .exceptions import FitError
from .exploration import SEARCHES
from .greedy_search import GreedySearch
from .lattice.greedy import PAPER_LAMBDAS
from .search import PolyDomSearch
from .simulation.flights import flown, trials_of_flight
from .simulation.report import POLICIES, as_table, deadlines_of, rehearse, trials_of
from .verification import verify_bundle

GREEDY = {"greedy": PAPER_LAMBDAS, "greedy-acc": (0.0,), "greedy-cost": (math.inf,)}
"""Searches without a promise, by their λ."""


def default_estimator() -> Any:
    """Return logistic regression on standardised features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def build(arguments: argparse.Namespace) -> None:
    """Measure, train, index and export."""
    space = space_of(arguments.space)
    checked_target(arguments.out)  # now, rather than after the training
    costs = device_of(arguments.profile)
    pairs = list(iterate(arguments.items))
    if any(label is UNLABELLED for _, label in pairs):
        raise ItemError(f"{arguments.items} must give a label for each item: the array 'label', or (item, label).")
    search = search_for(arguments, space)
    search.fit([item for item, _ in pairs], [label for _, label in pairs], costs=costs)
    bundle = search.export(arguments.out)
    for name, reason in search.dropped_.items():
        print(f"dropped {name}: {reason}")
    print(bundle.times.origin)
    kept = (
        f"{len(bundle.stored.sequences)} sequences"
        if bundle.stored.sequences
        else f"{len(bundle.stored.shipped)} feature sets"
    )
    print(
        f"{arguments.out}: {kept} of {len(search.expanded_)} trained "
        f"({2 ** len(search.space_)} possible), {len(bundle.models)} models with all prefixes; "
        f"alpha {bundle.promise.alpha:.4g}, tolerance {bundle.promise.tolerance:.4g}."
    )


def search_for(arguments: argparse.Namespace, space: FeatureSpace) -> PolyDomSearch | GreedySearch:
    """Return the search that the command line asks for."""
    common: dict[str, Any] = {
        "deadline": arguments.deadline,
        "size_range": arguments.sizes,
        "scoring": arguments.scoring,
        "cv": arguments.cv,
        "n_jobs": arguments.jobs,
        "memory": arguments.cache,
        "quantile": arguments.quantile,
        "max_features": arguments.max_features,
        "verbose": 1,
    }
    estimator = load_object(arguments.estimator) if arguments.estimator else default_estimator()
    if arguments.lattice in GREEDY:
        return GreedySearch(estimator, space, lambdas=GREEDY[arguments.lattice], **common)
    return PolyDomSearch(
        estimator,
        space,
        alpha=arguments.alpha,
        tolerance=arguments.tolerance,
        max_trainings=arguments.max_trainings,
        max_seconds=arguments.max_seconds,
        lattice=arguments.lattice,
        slowdown=arguments.slowdown,
        early_stop=arguments.early_stop,
        **common,
    )


def verify(arguments: argparse.Namespace) -> int:
    """Check the proof of a bundle and its index, without the code that made them."""
    report = verify_bundle(arguments.bundle)
    print(report)
    return 0 if report.ok else 1


def device_of(names: Sequence[str]) -> CostSamples | DeviceProfile | None:
    """Return the device to plan for: a measured one wins over profiles; None stands for this machine.

    Raises
    ------
    MeasurementError, ProfileError
        If a file or name is not sound.
    """
    devices = [load_costs(name) if name.endswith(".costs") else DeviceProfile.named(name) for name in names]
    measured = [d for d in devices if isinstance(d, CostSamples)]
    if len(measured) > 1 or len(devices) - len(measured) > 1:
        raise ProfileError(f"There must be at most one measured device and one profile. Got {', '.join(names)}.")
    for warning in measured[0].warnings if measured else ():
        print(f"polydom: {names[devices.index(measured[0])]}: {warning}", file=sys.stderr)
    return (measured or devices or [None])[0]


def costs(arguments: argparse.Namespace) -> None:
    """Report on a file of measured costs."""
    samples = load_costs(arguments.file)
    rows = report_costs(samples, arguments.quantile)
    print(as_report(samples, rows, arguments.quantile))
    if arguments.plots:
        if importlib.util.find_spec("matplotlib") is None:
            raise FitError("Pictures need matplotlib. It is not installed. Run pip install 'polydom-builder[demo]'.")
        plot_costs(samples, rows, arguments.quantile, Path(arguments.plots))
        print(f"{arguments.plots}: a picture of each unit.")


def simulate(arguments: argparse.Namespace) -> None:
    """Say what a bundle would do on a device, at some deadlines, by its recorded times."""
    bundle = load_bundle(arguments.bundle)
    trials = trials_of(bundle, load_costs(arguments.costs), arguments.count, arguments.seed)
    policies = POLICIES if arguments.policy is None else (arguments.policy,)
    asked = arguments.deadline or deadlines_of(bundle, 5)
    rows = rehearse(bundle, trials, asked, policies, arguments.slowdown, not arguments.no_adapt)
    print(json.dumps(rows, indent=2) if arguments.json else as_table(rows))


def replay(arguments: argparse.Namespace) -> None:
    """Say what a bundle would have made of the items of a flight recording, beside what was made of them."""
    bundle, flight = load_bundle(arguments.bundle), load_flight(arguments.file)
    trials = trials_of_flight(bundle, flight)
    policies = POLICIES if arguments.policy is None else (arguments.policy,)
    rows = rehearse(bundle, trials, arguments.deadline or [flight.header.deadline], policies, arguments.slowdown)
    recorded = flown(flight)
    if arguments.json:
        print(json.dumps({"recorded": recorded, "replayed": rows}, indent=2))
        return
    deadline = format_seconds(recorded["deadline"])
    print(
        f"recorded: {recorded['items']} items at {deadline}, {recorded['policy']}: {recorded['missed']} missed, "
        f"slow-down up to {recorded['slowdown']:.2f}\n\n{as_table(rows)}"
    )


def inspect(arguments: argparse.Namespace) -> None:
    """Print the candidates, their cost functions, and the staircase at the bundle's deadlines."""
    bundle = load_bundle(arguments.bundle)
    document = description(bundle, arguments.deadline)
    print(json.dumps(document, indent=2) if arguments.json else as_text(document))


def demo(arguments: argparse.Namespace) -> None:
    """Build the surface example and run it on a node."""
    run_demo(
        example=arguments.example,
        node=arguments.node,
        out=arguments.out,
        estimator=default_estimator(),
        deadlines=DEADLINES,
        n_jobs=arguments.jobs,
        count=arguments.count,
    )


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    top = argparse.ArgumentParser(prog="polydom", description="Build bundles of models for fixed deadlines.")
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(required=True)

    command = commands.add_parser("build", help="measure, train, index and export a bundle")
    command.add_argument("space", metavar="MODULE:SPACE")
    command.add_argument("--items", required=True, help="a packed .npz file with labels, or MODULE:FUNCTION")
    command.add_argument("--deadline", required=True, type=deadlines, help="such as 2ms, or a range 1ms:10ms")
    command.add_argument("--out", required=True, help="the bundle folder; an old bundle there is replaced")
    command.add_argument("--alpha", type=float, default=1.0, help="score slack, at least 1 (default 1)")
    command.add_argument(
        "--tolerance", type=slack, default=0.0, help="monotonicity slack, at least 0 (default 0), or auto"
    )
    command.add_argument("--estimator", metavar="MODULE:OBJECT", help="scaled logistic regression if not given")
    command.add_argument("--scoring", help="as in scikit-learn; accuracy, or r2 of a regressor, if not given")
    command.add_argument("--cv", type=int, default=5, help="folds (default 5)")
    command.add_argument("--sizes", type=size_range, metavar="LOW:HIGH", help="of the items to come; N for one size")
    command.add_argument("--max-features", type=int, help="leave so many to the lattice, by a pre-selection")
    command.add_argument("--max-trainings", type=int, help="stop there, and prove the smallest alpha that can be")
    command.add_argument("--max-seconds", type=positive, help="likewise")
    command.add_argument(
        "--lattice", choices=[*SEARCHES, *GREEDY], default="best-first", help="the search (default best-first)"
    )
    command.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="NAME.costs|NAME",
        help="the device: costs measured there, or a profile (a name or a .toml file) for an estimate; this machine if "
        "not given. Of both, the measured costs win",
    )
    command.add_argument(
        "--quantile", type=share, default=0.999, help="the promised share of answers in time (default 0.999)"
    )
    command.add_argument(
        "--slowdown", type=float, default=2.0, help="have the models for a device so much slower (default 2)"
    )
    command.add_argument(
        "--early-stop", type=share, metavar="LOSS", help="let the node answer when it is sure, for so much accuracy"
    )
    command.add_argument("--jobs", type=int, help="workers; -1 for all cores")
    command.add_argument("--cache", help="a folder that keeps all work, so that a killed build goes on")
    command.set_defaults(run=build)

    command = commands.add_parser("inspect", help="show the candidates, their costs and the staircase of a bundle")
    command.add_argument("bundle", metavar="BUNDLE")
    command.add_argument("--deadline", type=duration, help="show the staircase at this deadline")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=inspect)

    command = commands.add_parser("verify", help="check the proof of a bundle; exit code 1 if it does not hold")
    command.add_argument("bundle", metavar="BUNDLE")
    command.set_defaults(run=verify)

    command = commands.add_parser("costs", help="report on costs measured by polydom-node measure")
    command.add_argument("file", metavar="NAME.costs")
    command.add_argument("--quantile", type=share, default=0.999, help="of the worst case (default 0.999)")
    command.add_argument("--plots", metavar="FOLDER", help="draw each unit's samples and fits (needs matplotlib)")
    command.set_defaults(run=costs)

    command = commands.add_parser("simulate", help="what a bundle would do on a device, by its recorded times")
    command.add_argument("bundle", metavar="BUNDLE")
    command.add_argument("--costs", required=True, metavar="NAME.costs", help="measured by polydom-node measure")
    command.add_argument("--deadline", type=duration, nargs="+", help="such as 2ms; five of the bundle's if not given")
    command.add_argument("--policy", choices=POLICIES, help="both if not given")
    command.add_argument("--slowdown", type=positive, default=1.0, help="of the device against its costs (default 1)")
    command.add_argument("--no-adapt", action="store_true", help="without the estimate of the slow-down")
    command.add_argument("--count", type=count, default=2000, help="items (default 2000)")
    command.add_argument("--seed", type=count, default=1, help="of what is drawn (default 1)")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=simulate)

    command = commands.add_parser("replay", help="what another bundle, deadline or policy would have made of a flight")
    command.add_argument("file", metavar="FLIGHT", help="recorded by polydom-node run --record")
    command.add_argument("--bundle", required=True, metavar="BUNDLE")
    command.add_argument("--deadline", type=duration, nargs="+", help="such as 2ms; the recorded one if not given")
    command.add_argument("--policy", choices=POLICIES, help="both if not given")
    command.add_argument("--slowdown", type=positive, default=1.0, help="had all been so many times slower (default 1)")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=replay)

    command = commands.add_parser("demo", help="build the surface example and run it on a node")
    command.add_argument("--example", type=Path, default=Path("examples/surface"))
    command.add_argument("--node", default=sys.executable, help="the node's python")
    command.add_argument("--out", type=Path, default=Path(".cache/demo"))
    command.add_argument("--jobs", type=int)
    command.add_argument("--count", type=int, default=1500, help="patches for training and for test")
    command.set_defaults(run=demo)
    return top


def deadlines(text: str) -> float | tuple[float, float]:
    """Return one deadline, or a range written LOW:HIGH, in seconds.

    >>> deadlines("2ms"), deadlines("1ms:1s")
    (0.002, (0.001, 1.0))
    """
    low, colon, high = text.partition(":")
    return (duration(low), duration(high)) if colon else duration(text)


def count(text: str) -> int:
    """Return a whole number of at least 1.

    >>> count("20")
    20
    """
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"must be a whole number of at least 1. Got {text!r}")


def slack(text: str) -> float | str:
    """Return a number, or "auto"."""
    return text if text == "auto" else float(text)


def size_range(text: str) -> tuple[float, float]:
    """Return a range of sizes written LOW:HIGH, or one size twice.

    >>> size_range("100:5000"), size_range("64")
    ((100.0, 5000.0), (64.0, 64.0))
    """
    low, _, high = text.partition(":")
    return positive(low), positive(high or low)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; an error of the user's is one line and exit code 2."""
    arguments = parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments) or 0
    except BrokenPipeError:
        return 141
    except (PolyDomError, OSError) as e:
        print(f"polydom: {e}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
