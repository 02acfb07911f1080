"""A command line with several commands, each in a module that is imported only when the command is used."""

import os
import re
import signal
import sys
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from polydom_runtime.causes import printable, raised
from polydom_runtime.exceptions import PolyDomError

from .signals import Stopped, interruptible
from .terminal import close_output, prepare_streams, say

TRACEBACK = "POLYDOM_TRACEBACK"
"""The environment variable that asks for the traceback of an error that nobody expected."""


def add_commands(parser: ArgumentParser, commands: Mapping[str, str], package: str, words: Sequence[str]) -> None:
    """Add the commands to a parser; only the module of the command that the words name is imported.

    Parameters
    ----------
    parser : ArgumentParser
        Its own options must take no values.
    commands : mapping of str to str
        The help line of each command, by name.
    package : str
        The package with a module of the same name for each command. The module has ``add_arguments(parser)`` and
        ``run(arguments)``, which returns an exit code, or None for 0. Parsed arguments have the latter as ``run``.
    words : sequence of str
        The words of the command line that are to be parsed.
    """
    used = next((word for word in words if not word.startswith("-")), None)
    subparsers = parser.add_subparsers(required=True)
    for name, text in commands.items():
        command = subparsers.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == used:
            command._negative_number_matcher = re.compile(r"-\.?\d")  # "-5ms" is a value, and refused as such
            module = import_module(f"{package}.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)


def run_command(parser: Callable[[Sequence[str]], ArgumentParser], argv: Sequence[str] | None, to_go_on: str) -> int:
    """Run a command and return its exit code; every error is one line on stderr.

    The codes are those of the command; 2 for an error; 128 + n after signal n, such as 130 after Ctrl-C; 141 if the
    reader of the output has gone.

    Parameters
    ----------
    parser : callable
        Takes the words and returns the parser.
    argv : sequence of str, optional
        The words; those of the process if not given. Then warnings are single lines, too.
    to_go_on : str
        What to do after an interruption.
    """
    words, own = sys.argv[1:] if argv is None else argv, argv is None
    program = Path(sys.argv[0]).name
    if own:
        prepare_streams()
        warnings.showwarning = lambda message, *where: say(message, program)
    try:
        with interruptible() if own else nullcontext():
            command = parser(words)
            program = command.prog
            arguments = command.parse_args(words)
            code: int = arguments.run(arguments) or 0
            sys.stdout.flush()
    except BrokenPipeError:
        code = 141
    except (PolyDomError, OSError) as e:
        say(e, program)
        code = 2
    except KeyboardInterrupt as e:
        say(f"stopped. {to_go_on}", program)
        code = 128 + (e.number if isinstance(e, Stopped) else signal.SIGINT)
    except Exception as e:
        if os.environ.get(TRACEBACK):
            raise
        say(f"{raised(e)} For its traceback set {TRACEBACK}=1.", program)
        code = 2
    if own:
        close_output()
    return code


class Parser(ArgumentParser):
    """A parser whose errors are printable, whatever the words on the command line are, such as names of files."""

    def error(self, message: str) -> NoReturn:
        """End the program with an error."""
        super().error(printable(message))
