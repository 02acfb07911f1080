"""``polydom evaluate``: show how good and how quick the answers of a bundle to labelled items are."""

from argparse import Namespace
from pathlib import Path

from polydom_builder.evaluation import Labelled, evaluate, here
from polydom_builder.evaluation.predictions import AnswerItems, Node
from polydom_builder.simulation.expected import some_deadlines
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.bundle_options import BUNDLE, SPACE
from polydom_runtime.commands.options import Group, Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.items.sources import space_of

from .arguments import count
from .deadlines import deadlines_option, long_enough
from .evaluation_tables import print_evaluation

OPTIONS = (
    *(BUNDLE, SPACE),
    Option(
        "--items ITEMS", "labelled items, not those of the build: a packed .npz file or MODULE:FUNCTION", required=True
    ),
    deadlines_option("five of the bundle's table"),
    Option("--policy", "the policy of the node (default anytime)", default="anytime", choices=("anytime", "strict")),
    Option("--bands", "the number of size bands, at most (default 4)", count, 4),
    Group(
        "",
        Option(
            "--node PYTHON",
            "the Python of a node's environment, which answers the items (default: this process answers them)",
        ),
        Option("--planned", "time nothing: show the answers that are planned"),
    ),
)


def run(arguments: Namespace) -> Outcome:
    """Answer the items at each deadline, and print scores, late answers and times."""
    bundle = load_bundle(arguments.bundle)
    test = Labelled.read(bundle.space_of(space_of(arguments.space)), arguments.items)
    found = evaluate(
        *(bundle, test, long_enough(bundle, arguments.deadline or some_deadlines(bundle))),
        policy=arguments.policy,
        answering=_answering(arguments, bundle, test),
        n_bands=arguments.bands,
    )
    print_evaluation(found)
    return Outcome(found)


def _answering(arguments: Namespace, bundle: Bundle, test: Labelled) -> AnswerItems | None:
    if arguments.planned:
        return None
    if arguments.node is None:
        return here(bundle, space_of(arguments.space), test.items, arguments.policy)
    node = Node(arguments.node, Path.cwd(), Path(arguments.bundle), arguments.space)
    return node.answering(arguments.items, arguments.policy)
