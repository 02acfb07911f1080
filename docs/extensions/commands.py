"""The page about the commands: a line ``<!-- commands of PACKAGE -->`` becomes what the parser of the package says."""

import re
from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Iterator
from importlib import import_module

from sphinx.application import Sphinx

PLACE = re.compile(r"^<!-- commands of (\w+) -->$", re.MULTILINE)


def filled(text: str) -> str:
    """Return a page with the commands in their places."""
    return PLACE.sub(lambda found: "\n".join(_program(found[1])), text)


def _program(package: str) -> Iterator[str]:
    module = import_module(f"{package}.__main__")
    for name in module.COMMANDS:
        parser = module.parser([name])
        (commands,) = (action for action in parser._actions if isinstance(action.choices, dict))
        yield from _command(commands.choices[name])


def _command(parser: ArgumentParser) -> Iterator[str]:
    yield from (f"### `{parser.prog}`\n", f"{plain(parser.description or '')}\n")
    yield from ("```text", parser.format_usage().removeprefix("usage: ").rstrip(), "```\n")
    formatter = parser._get_formatter()
    for action in parser._actions:
        if SUPPRESS not in (action.help, action.dest) and action.dest != "help":
            yield from (f"`{_words(action)}`", f": {plain(formatter._expand_help(action))}\n")


def _words(action: Action) -> str:
    """Return what is written on the command line: ``--out FILE``, or ``FILE``."""
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    shown = "" if action.nargs == 0 else " ".join(value) if isinstance(value, tuple) else value
    return " ".join(part for part in (", ".join(action.option_strings), shown) if part)


def plain(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    >>> plain("[NAME=]MODULE")
    '\\[NAME=\\]MODULE'
    """
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill the places when a page is read."""

    def fill(_app: Sphinx, _page: str, source: list[str]) -> None:
        source[0] = filled(source[0])

    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
