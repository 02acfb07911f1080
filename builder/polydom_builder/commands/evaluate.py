"""``polydom evaluate``: show how good and how quick the answers of a bundle to labelled items are."""

import argparse
from pathlib import Path

from polydom_builder.evaluation import Labelled, evaluate, here
from polydom_builder.evaluation.answering import Answering, Node
from polydom_builder.simulation.report import deadlines_of
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.arguments import duration
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.items.sources import space_of

from .arguments import count
from .deadlines import long_enough
from .evaluation_tables import print_evaluation


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom evaluate``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    command.add_argument("space", metavar="MODULE:SPACE", help="the feature space of the bundle")
    command.add_argument(
        "--items", required=True, help="labelled items, not those of the build: a packed .npz file or MODULE:FUNCTION"
    )
    command.add_argument(
        "--deadline",
        type=duration,
        nargs="+",
        help="the deadlines of an item, such as 2ms 5ms (default: five within the range of the bundle)",
    )
    command.add_argument(
        "--policy", choices=("anytime", "strict"), default="anytime", help="the policy of the node (default anytime)"
    )
    command.add_argument("--bands", type=count, default=4, help="the number of size bands, at most (default 4)")
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "--node",
        metavar="PYTHON",
        help="the Python of a node's environment, which answers the items (default: this process answers them)",
    )
    where.add_argument("--planned", action="store_true", help="time nothing: show the answers that are planned")


def run(arguments: argparse.Namespace) -> Outcome:
    """Answer the items at each deadline, and print scores, late answers and times.

    Raises `BundleFormatError`, `BundleMismatchError` if the bundle is not sound, or of another space. Raises
    `ItemError`, `FeatureError`, `TrainingError` if the items cannot be read, have no labels, or a feature of one cannot
    be computed. Raises `DeadlineError` if all deadlines are shorter than dispatch alone takes. Raises `ExportError` if
    the node cannot run the bundle.
    """
    bundle = load_bundle(arguments.bundle)
    test = Labelled.read(bundle.space_of(space_of(arguments.space)), arguments.items)
    found = evaluate(
        bundle,
        test,
        long_enough(bundle, arguments.deadline or deadlines_of(bundle, 5)),
        policy=arguments.policy,
        answering=_answering(arguments, bundle, test),
        n_bands=arguments.bands,
    )
    print_evaluation(found)
    return Outcome(found)


def _answering(arguments: argparse.Namespace, bundle: Bundle, test: Labelled) -> Answering | None:
    if arguments.planned:
        return None
    if arguments.node is None:
        return here(bundle, space_of(arguments.space), test.items, arguments.policy)
    node = Node(arguments.node, Path.cwd(), Path(arguments.bundle), arguments.space)
    return node.answering(arguments.items, arguments.policy)
