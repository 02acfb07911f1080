"""Completion of the command line in a shell, by shtab."""

import argparse
from collections.abc import Sequence
from typing import Any

from polydom_runtime.exceptions import PackageError

OPTION = "--print-completion"
SHELLS = ("bash", "zsh")
FILES = ("BUNDLE", "ROOT", "FILE", "BEFORE", "AFTER", "FLIGHT", "FOLDER", "KEYS")
"""The names of arguments that are files or folders; those with an ending in their name are files as well."""


class PrintCompletion(argparse.Action):
    """Prints the completion of a parser with the arguments of all its commands, and ends the program."""

    def __call__(  # noqa: D102
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        try:
            import shtab
        except ImportError as e:
            package = f"{'polydom-runtime' if parser.prog == 'polydom-node' else 'polydom-builder'}[completion]"
            raise PackageError(
                f"{OPTION} needs shtab, which is not installed. Run pip install shtab, or pip install '{package}'."
            ) from e
        _complete_files(parser, shtab.FILE)
        print(shtab.complete(parser, str(values)))
        parser.exit()


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints the completion."""
    parser.add_argument(
        OPTION, choices=SHELLS, action=PrintCompletion, help="print the completion of this command line for a shell"
    )


def _complete_files(parser: argparse.ArgumentParser, files: Any) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, files)
        elif action.choices is None and action.nargs != 0 and _is_file(action):
            action.complete = files  # type: ignore[attr-defined]


def _is_file(action: argparse.Action) -> bool:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return name in FILES or "." in name or name in ("ITEMS", "OUT", "INTO", "RECORD")
