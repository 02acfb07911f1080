"""What is wrong with the words of a command line, and how they should be; imported only where an error is made."""

import re
from argparse import Action, ArgumentError, ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from shutil import get_terminal_size
from textwrap import wrap

from polydom_runtime.codec.near_names import did_you_mean, one_of

PLAIN = (
    (r"the following arguments are required: ([^,]*)", r"\1 must be given. It is missing"),
    (r"the following arguments are required: (.*)", r"\1 must be given. They are missing"),
    (r"argument (.+?): expected .*", r"\1 must have a value. Got none"),
    (r"argument (.+?): not allowed with argument (.*)", r"\1 must not come with \2. Leave one of them out"),
    (r"argument (.+?): ignored explicit argument '(.*)'", r"\1 must have no value. Got \2. Leave it out"),
    (r"argument (.+?): (.*)", r"\1 \2"),
)
"""What argparse says, and the same in the words of all other messages."""


def in_plain_words(message: str) -> str:
    """Return a message of argparse in the words of all others.

    >>> in_plain_words("the following arguments are required: BUNDLE, --items")
    'BUNDLE, --items must be given. They are missing.'
    >>> in_plain_words("argument MODULE:SPACE: expected one argument")
    'MODULE:SPACE must have a value. Got none.'
    """
    for argparse_says, plain in PLAIN:
        if found := re.fullmatch(argparse_says, message, re.DOTALL):
            message = found.expand(plain)
            break
    return message if message.endswith((".", "?")) else f"{message}."


def refused_choice(action: Action, value: object) -> ArgumentError:
    """Return the error of a value that is none of the choices of an argument."""
    known = ["none" if choice is None else choice for choice in action.choices or ()]
    return ArgumentError(action, one_of("", known, value).lstrip())


def refused_words(parser: ArgumentParser, words: Sequence[str]) -> str:
    """Return the message about words that a command has no use for."""
    if not words[0].startswith("-"):
        return f"There must be no more words than the usage shows. Got {' '.join(words)}. Leave that out."
    name = words[0].partition("=")[0]
    known = [option for option in parser._option_string_actions if option.startswith("--")]
    return f"There is no option {name}.{did_you_mean(name, known)}"


def short_usage(parser: ArgumentParser) -> str:
    """Return the usage without options that may be left out, in lines that fit the terminal."""
    words = ["usage:", parser.prog, *_needed(parser._actions), "..."]
    width = max(get_terminal_size().columns - 1, 30)
    return "\n".join(wrap(" ".join(words), width, subsequent_indent="  ", break_on_hyphens=False))


def _needed(actions: Iterable[Action]) -> Iterator[str]:
    for action in actions:
        name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
        if action.required:
            yield f"{action.option_strings[0]} {name}" if action.option_strings else name
