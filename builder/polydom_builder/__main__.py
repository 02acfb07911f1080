"""The command ``polydom``: build a bundle, inspect or verify one, report on measured costs, run the demo."""

import sys
from collections.abc import Sequence

from polydom_runtime.commands.command_line import Parser, add_commands, run_command

from . import __version__

COMMANDS = {
    "build": "measure, train, index and export a bundle",
    "deadline": "tell which deadline is sensible for a bundle, and what half of it would cost",
    "inspect": "show the candidates of a bundle, their costs and its staircase",
    "evaluate": "show how good and how quick the answers of a bundle to labelled items are",
    "compare": "show what changed between two bundles or two costs files; exit code 1 if it is worse than allowed",
    "verify": "check the proof of a bundle; exit code 1 if it does not hold",
    "keygen": "make a pair of keys to sign bundles with",
    "sign": "sign a bundle, so that a node can tell whose it is",
    "pack": "write a bundle as one file, to deliver it",
    "costs": "report on a costs file, as measured by polydom-node measure",
    "simulate": "show the answers that a bundle would give on a device, by its recorded times",
    "replay": "show the answers that another bundle, deadline or policy would have given in a flight recording",
    "report": "write a page about a bundle, a flight recording or a device profile",
    "demo": "build the surface example and run it on a node",
}
"""The help line of each command; its module in ``commands/`` has the same name."""


def parser(words: Sequence[str] = ()) -> Parser:
    """Return the command line, with the arguments of the command that the words name."""
    top = Parser(prog="polydom", description="Build bundles of models for fixed deadlines.")
    add_commands(top, COMMANDS, "polydom_builder.commands", words, __version__)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command` for its exit code."""
    return run_command(parser, argv, version=__version__)


if __name__ == "__main__":
    sys.exit(main())
