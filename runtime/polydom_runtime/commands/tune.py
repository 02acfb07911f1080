"""``polydom-node tune``: time the models of a bundle on this machine, so that plans need no estimates."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.tune_file import write_tune
from polydom_runtime.items.sources import readable, space_of
from polydom_runtime.measuring.tuning import tune_bundle

from .arguments import positive
from .bundle_options import BUNDLE, SPACE, TRUST, trust_of
from .measure import PERIOD
from .options import Option, values_of
from .outcome import Outcome
from .terminal import ProgressBar, say, show

OPTIONS = (
    *(BUNDLE, SPACE, TRUST),
    Option("--items ITEMS", "the items to answer: a packed .npz file or MODULE:FUNCTION", required=True),
    Option("--out NAME.tune", "the tune file to write (default: BUNDLE with .tune)"),
    Option("--seconds", "the time that it takes, about (default 30)", positive, 30.0),
    PERIOD,
)


def run(arguments: Namespace) -> Outcome:
    """Tune, write the file, and say what changes."""
    bundle, space = load_bundle(arguments.bundle, trust_of(arguments)), space_of(arguments.space)
    items, options = readable(arguments.items), values_of(arguments, "seconds", "period")
    out = arguments.out or Path(arguments.bundle).with_suffix(".tune")
    with ProgressBar("tuned") as bar:
        tune = tune_bundle(bundle, space, items, progress=bar.update, **options)
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


def _range(seconds: Sequence[float]) -> str:
    low, high = format_seconds(min(seconds)), format_seconds(max(seconds))
    return low if low == high else f"{low} to {high}"
