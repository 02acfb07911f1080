"""``polydom-node tune``: let a node learn its times on given items, before the first real one."""

from argparse import Namespace
from pathlib import Path

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.files import check_folder_of
from polydom_runtime.items.sources import readable, space_of
from polydom_runtime.learning.learned_file import moved_table, write_learned
from polydom_runtime.measuring.conditions import Conditions, machine_facts
from polydom_runtime.measuring.tuning import tune_bundle

from .arguments import duration, positive
from .bundle_options import BUNDLE, SPACE, TRUST, trust_of
from .measure import PERIOD
from .options import Option, values_of
from .outcome import Outcome
from .terminal import ProgressBar, say, show

OPTIONS = (
    *(BUNDLE, SPACE, TRUST),
    Option("--items ITEMS", "the items to answer: a packed .npz file or MODULE:FUNCTION", required=True),
    Option("--out NAME.learned", "the file to write (default: BUNDLE with .learned)"),
    Option("--deadline", "the deadline of each item, such as 2ms (default: the bundle's longest)", duration),
    Option("--seconds", "the time that it takes, about (default 30)", positive, 30.0),
    PERIOD,
)


def run(arguments: Namespace) -> Outcome:
    """Answer the items hot and after sleeps, write the file, and say what moved."""
    bundle, space = load_bundle(arguments.bundle, trust_of(arguments)), space_of(arguments.space)
    items, options = readable(arguments.items), values_of(arguments, "deadline", "seconds", "period")
    out = arguments.out or Path(arguments.bundle).with_suffix(".learned")
    check_folder_of(out, MeasurementError)
    conditions = Conditions(board := Board(), machine_facts(board))
    with ProgressBar("tuned") as bar:
        learned = tune_bundle(bundle, space, items, progress=bar.update, **options)
    conditions.have_moved()
    kept = write_learned(out, learned, period=arguments.period, warnings=tuple(conditions.warnings), board=board)
    for warning in kept.warnings:
        say(f"{warning}")
    show("\n".join(moved_table(kept).lines("")))
    show(f"{out}: learned from {learned.answers} answers. Use it with --learned {out}.")
    return Outcome({"file": str(out), **{name: getattr(kept, name) for name in kept.__slots__}})
