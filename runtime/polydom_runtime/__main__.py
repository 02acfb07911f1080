"""The command ``polydom-node``: measure, look for trouble, answer items, certify, update, or show files."""

import sys
from collections.abc import Sequence

from . import __version__
from .commands.command_line import Parser, add_commands, run_command

COMMANDS = {
    "run": "answer items: one line of JSON for each, and a summary",
    "info": "check a bundle and describe it",
    "explain": "answer one item, and tell how the answer came about and which sets did not fit",
    "measure": "time features on this machine, so that the host can plan for it",
    "tune": "let a bundle learn its times on this machine from given items, before the first real one",
    "doctor": "look for causes of late answers on this machine; exit code 1 if there is a problem",
    "certify": "prove or refute, with items answered on this machine, that late answers are rare",
    "board-report": "measure all of a board that device profiles need, in one run, into one file",
    "install": "check a bundle on this machine and make it the current release",
    "rollback": "make an earlier release the current one",
    "status": "list the releases of this machine; exit code 1 if the current one is missing or damaged",
    "flight": "print the records of a flight recorder",
}
"""The help line of each command; its module in ``commands/`` has the same name, with ``_`` for ``-``."""


def parser(words: Sequence[str] = ()) -> Parser:
    """Return the command line, with the arguments of the command that the words name."""
    top = Parser(prog="polydom-node", description="Answer items inside a deadline.")
    add_commands(top, COMMANDS, "polydom_runtime.commands", words, __version__)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command` for its exit code."""
    return run_command(parser, argv, version=__version__)


if __name__ == "__main__":
    sys.exit(main())
