"""``polydom-node tune``: time the models of a bundle on this machine, so that plans need no estimates."""

import argparse
from dataclasses import asdict
from pathlib import Path

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.tune_file import write_tune
from polydom_runtime.items.sources import readable, space_of
from polydom_runtime.measuring.tuning import tune_bundle

from .arguments import add_trust, duration, positive
from .outcome import Outcome
from .progress import ProgressBar
from .terminal import say, show
from .tuned_bundle import trust_of


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node tune``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    command.add_argument("space", metavar="MODULE:SPACE", help="the feature space of the bundle")
    add_trust(command)
    command.add_argument("--items", required=True, help="the items to answer: a packed .npz file or MODULE:FUNCTION")
    command.add_argument("--out", metavar="NAME.tune", help="the tune file to write (default: BUNDLE with .tune)")
    command.add_argument("--seconds", type=positive, default=30.0, help="the time that it takes, about (default 30)")
    command.add_argument(
        "--period",
        type=duration,
        default=0.02,
        help="the time to sleep before each answer that is to be cold, such as the period of the loop (default 20ms)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Tune, write the file, and say what changes."""
    bundle, space = load_bundle(arguments.bundle, trust_of(arguments)), space_of(arguments.space)
    items = readable(arguments.items)
    out = arguments.out or Path(arguments.bundle).with_suffix(".tune")
    with ProgressBar("tuned") as bar:
        tune = tune_bundle(
            bundle, space, items, seconds=arguments.seconds, period=arguments.period, progress=bar.update
        )
    write_tune(out, tune)
    for warning in tune.warnings:
        say(f"{warning}")
    stated = [entry.seconds for entry in bundle.models]
    show(f"{out}: {len(stated)} models on {tune.machine['device']}, {_range(stated)} planned before")
    for name, there in tune.regimes.items():
        median, high = map(format_seconds, there.dispatch)
        show(f"{name:9} models {_range(there.models)}; dispatch typically {median}, 0.9 quantile {high}")
    show(f"Use it with --tune {out}.")
    return Outcome({"file": str(out), **asdict(tune)})


def _range(seconds: "list[float] | tuple[float, ...]") -> str:
    low, high = format_seconds(min(seconds)), format_seconds(max(seconds))
    return low if low == high else f"{low} to {high}"
