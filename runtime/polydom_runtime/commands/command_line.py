"""A command line with several commands, each in a module that is imported only when the command is used."""

import os
import re
import signal
import sys
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from polydom_runtime.causes import raised
from polydom_runtime.exceptions import PolyDomError

from . import completion
from .completion import add_completion
from .exit_code import ExitCode
from .outcome import Envelope, Outcome
from .signals import Stopped, interruptible
from .terminal import close_output, prepare_streams, say

JSON = "--json"
TRACEBACK = "POLYDOM_TRACEBACK"
"""The environment variable that asks for the traceback of an error that nobody expected."""


def add_commands(
    parser: ArgumentParser, commands: Mapping[str, str], package: str, words: Sequence[str], version: str
) -> None:
    """Add the commands to a parser; only the module of the command that the words name is imported.

    `parser`: its own options must take no values, except `completion.OPTION`: for this, all modules are imported.
    `commands`: the help line of each command, by name. `package`: the package with a module of the same name for each
    command. The module has ``add_arguments(parser)`` and ``run(arguments)``, which returns an `Outcome`, or only the
    exit code, or None. Parsed arguments have this function as ``run``. `words`: the words of the command line that are
    to be parsed. `version`: of the program.
    """
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    add_completion(parser)
    used = next((word for word in words if not word.startswith("-")), None)
    subparsers = parser.add_subparsers(required=True)
    for name, text in commands.items():
        command = subparsers.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == used or completion.OPTION in words[:1]:
            command._negative_number_matcher = re.compile(r"-\.?\d")  # "-5ms" is a value, and refused as such
            module = import_module(f"{package}.{name}")
            module.add_arguments(command)
            command.add_argument(JSON, action="store_true", help="print one JSON document, whatever happens")
            command.add_argument("--version", action="version", version=f"%(prog)s {version}")
            command.set_defaults(run=module.run)


def run_command(
    parser: Callable[[Sequence[str]], ArgumentParser], argv: Sequence[str] | None, to_go_on: str, version: str = ""
) -> int:
    """Run a command and return its exit code, see `ExitCode`; every error is one line on stderr.

    With ``--json``, standard output gets one JSON document, see `Envelope`, and nothing else.

    `parser`: takes the words and returns the parser. `argv`: the words; those of the process if not given. Then
    warnings are single lines, too. `to_go_on`: what to do after an interruption. `version`: of the program.
    """
    words, own = sys.argv[1:] if argv is None else argv, argv is None
    as_json = JSON in words
    program = Path(sys.argv[0]).name
    if own:
        prepare_streams()
        warnings.showwarning = lambda message, *where: say(message, program)

    def failed(error: BaseException, message: object, code: int) -> int:
        say(message, program)
        if as_json:
            print(envelope().of_error(type(error).__name__, str(message), code), flush=True)
        return code

    def envelope() -> Envelope:
        return Envelope(" ".join([program, *(word for word in words[:1] if not word.startswith("-"))]), version)

    try:
        with interruptible() if own else nullcontext():
            command = parser(words)
            program = command.prog
            arguments = command.parse_args(words)
            as_json = getattr(arguments, "json", False)
            with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere if as_json else sys.stdout):
                found: Outcome | int | None = arguments.run(arguments)
            outcome = found if isinstance(found, Outcome) else Outcome(None, found or ExitCode.DONE)
            if as_json:
                print(envelope().of(outcome))
            sys.stdout.flush()
            code = outcome.code
    except UsageError as e:
        if as_json:
            print(envelope().of_error("UsageError", e.message, ExitCode.ERROR), flush=True)
        raise
    except BrokenPipeError:
        code = ExitCode.NOT_READ
    except (PolyDomError, OSError) as e:
        code = failed(e, e, ExitCode.ERROR)
    except KeyboardInterrupt as e:
        number = e.number if isinstance(e, Stopped) else signal.SIGINT
        code = failed(e, f"stopped. {to_go_on}", ExitCode.AFTER_SIGNAL + number)
    except Exception as e:
        if os.environ.get(TRACEBACK):
            raise
        code = failed(e, f"{raised(e)} For its traceback set {TRACEBACK}=1.", ExitCode.ERROR)
    if own:
        close_output()
    return int(code)


class UsageError(SystemExit):
    """The words on the command line are not as they must be. It ends the program."""

    def __init__(self, message: str) -> None:
        super().__init__(int(ExitCode.ERROR))
        self.message = message


class Parser(ArgumentParser):
    """A parser whose errors are printable, whatever the words on the command line are, such as names of files."""

    def error(self, message: str) -> NoReturn:
        """End the program with an error."""
        self.print_usage(sys.stderr)
        say(f"error: {message}", self.prog)
        raise UsageError(message)
