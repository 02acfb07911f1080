"""Completion of the command line in a shell, by shtab."""

import argparse
from typing import Any

from polydom_runtime.exceptions import PackageError

from .options import names_file


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script that completes a command line with all its commands."""
    try:
        import shtab
    except ImportError as e:
        package = f"{'polydom-runtime' if parser.prog == 'polydom-node' else 'polydom-builder'}[completion]"
        raise PackageError(
            "--print-completion needs shtab, which is not installed. Run pip install shtab, or "
            f"pip install '{package}'."
        ) from e
    _complete_files(parser, shtab.FILE)
    return str(shtab.complete(parser, shell))


def _complete_files(parser: argparse.ArgumentParser, files: Any) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, files)
        elif action.choices is None and action.nargs != 0:
            name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
            if names_file(name):
                action.complete = files  # type: ignore[attr-defined]
