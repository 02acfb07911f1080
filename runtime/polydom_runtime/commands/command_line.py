"""A command line with several commands, each in a module that is imported only when the command is used."""

import os
import re
import signal
import sys
import warnings
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from functools import partial
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from polydom_runtime.causes import raised
from polydom_runtime.exceptions import PolyDomError

from .options import Option, add_options, check_options, make_absolute
from .outcome import ExitCode, Outcome, document
from .signals import Stopped, interruptible
from .terminal import close_output, prepare_streams, say, warn

JSON = Option("--json", "print one JSON document, whatever happens", action="store_true")
COMPLETION = "--print-completion"
TRACEBACK = "POLYDOM_TRACEBACK"
"""The environment variable that asks for the traceback of an error that nobody expected."""


def add_commands(
    parser: ArgumentParser, commands: Mapping[str, str], package: str, words: Sequence[str], version: str
) -> None:
    """Add the commands, with their help lines; only the module of the command that the words name is imported.

    It is the module of this name in `package`, ``_`` for ``-``, with ``OPTIONS``, and ``run(arguments)``, which returns
    an `Outcome`, an exit code or None; it may have ``to_go_on(arguments)``, which says what a user can do who has
    stopped it. The parser's own options must take no values, except `COMPLETION`, for which all modules are imported.
    """
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    help = "print the completion of this command line for a shell"
    parser.add_argument(COMPLETION, choices=("bash", "zsh"), action=PrintCompletion, help=help)
    used = next((word for word in words if not word.startswith("-")), None)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, text in commands.items():
        command = subparsers.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == used or COMPLETION in words[:1]:
            command._negative_number_matcher = re.compile(r"-\.?\d")  # "-5ms" is a value, and refused as such
            module = import_module(f"{package}.{name.replace('-', '_')}")
            add_options(command, [*module.OPTIONS, JSON])
            command.add_argument("--version", action="version", version=f"%(prog)s {version}")
            command.set_defaults(run=partial(_checked, module))
            if hasattr(module, "to_go_on"):
                command.set_defaults(to_go_on=module.to_go_on)


class PrintCompletion(Action):
    """Prints the completion of a parser with the arguments of all its commands, and ends the program."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: object, option: object = None) -> None:
        """Print it, and end the program."""
        from .completion import completion_script  # only here: it is asked for once

        print(completion_script(parser, str(values)))
        parser.exit()


def _checked(module: ModuleType, arguments: Namespace) -> Any:
    check_options(arguments, module.OPTIONS)
    make_absolute(arguments, module.OPTIONS)
    return module.run(arguments)


def run_command(
    parser: Callable[[Sequence[str]], ArgumentParser], argv: Sequence[str] | None, version: str = ""
) -> int:
    """Run a command and return its exit code, see `ExitCode`; every error is one line on stderr.

    With ``--json``, standard output gets one JSON `document` and nothing else. Without `argv`, the words are those of
    the process, and warnings are single lines, too.
    """
    words, own = sys.argv[1:] if argv is None else argv, argv is None
    as_json = JSON.name in words
    program, arguments = Path(sys.argv[0]).name, Namespace()
    if own:
        prepare_streams()
        warnings.showwarning = lambda message, *where: warn(message, program)

    def print_json(code: int, **part: Any) -> None:
        command = " ".join([program, *(word for word in words[:1] if not word.startswith("-"))])
        print(document(command, version, code, **part), flush=True)

    def print_error(kind: str, message: str, code: int) -> int:
        if as_json:
            print_json(code, error={"type": kind, "message": message, "exit_code": code})
        return code

    def failed(error: BaseException, message: object, code: int) -> int:
        say(message, program)
        return print_error(type(error).__name__, str(message), code)

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
                print_json(outcome.code, result=outcome.result)
            sys.stdout.flush()
            code = outcome.code
    except UsageError as e:
        print_error("UsageError", e.message, ExitCode.ERROR)
        raise
    except BrokenPipeError:
        code = ExitCode.NOT_READ
    except (PolyDomError, OSError) as e:
        code = failed(e, e, ExitCode.ERROR)
    except KeyboardInterrupt as e:
        number = e.number if isinstance(e, Stopped) else signal.SIGINT
        remedy = arguments.to_go_on(arguments) if hasattr(arguments, "to_go_on") else ""
        code = failed(e, f"stopped. {remedy}".rstrip(), ExitCode.AFTER_SIGNAL + number)
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
    """A parser whose errors are in plain, printable words, with the usage of the command that they are about.

    Names of options must be whole: a part of a name might stand for two of them once there are more options.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words; one that is unknown is an error of this command, and comes before what is missing."""
        own = takewhile(lambda word: word[:1] == "-" if self._subparsers else word != "--", args)
        unknown = [*filter(self._is_unknown, own)]
        found, others = (namespace, unknown) if unknown else super().parse_known_args(args, namespace)
        if others:
            from .usage import refused_words  # only here, as below: it is about errors

            self.error(refused_words(self, others))
        return found, others

    def _is_unknown(self, word: str) -> bool:
        is_value = word[:1] != "-" or word == "-" or " " in word or self._negative_number_matcher.match(word)
        return not is_value and word.partition("=")[0] not in self._option_string_actions

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from .usage import refused_choice

            raise refused_choice(action, value)

    def error(self, message: str) -> NoReturn:
        """End the program with an error."""
        from .usage import in_plain_words, short_usage

        print(short_usage(self), file=sys.stderr)
        say(f"{(message := in_plain_words(message))} For help: {self.prog} --help", self.prog)
        raise UsageError(message)
