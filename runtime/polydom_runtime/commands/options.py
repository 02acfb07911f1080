"""Options of command lines as tables: each is described once, and added and checked by one function."""

import os
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Iterable
from typing import Any, NamedTuple

from polydom_runtime.exceptions import PolyDomError

from .arguments import real, whole

FILES = ("BUNDLE", "ROOT", "FILE", "BEFORE", "AFTER", "FLIGHT", "FOLDER", "KEYS", "ITEMS", "OUT", "INTO", "RECORD")
"""The names of arguments that are files or folders; those with an ending in their name are files as well."""


class Needed(NamedTuple):
    """An option without which others mean nothing."""

    name: str
    what: str
    error: type[PolyDomError]


class Option:
    """An argument of a command; `type`, `default` and `settings` are those of argparse's ``add_argument``.

    `name` ends with that of its value where the help shows one of its own, such as ``--trial N``. An option without a
    value is a switch, which is True if given; but ``--no-x`` sets ``x`` to False.
    """

    def __init__(
        self, name: str, help: str, type: Any = None, default: Any = None, needs: Needed | None = None, **settings: Any
    ) -> None:
        self.name, _, value = name.partition(" ")
        self.needs, self.dest, self.default = needs, dest_of(self.name), default
        if not (value or type or "choices" in settings):
            self.default = self.name.startswith("--no-")
            self.dest = self.dest.removeprefix("no_")
            settings["action"] = "store_false" if self.default else "store_true"
        else:
            settings |= {"type": {int: whole, float: real}.get(type, type), "metavar": value or None}
        if self.name.startswith("-"):
            settings["dest"] = self.dest
        self.settings = {"help": help, "default": self.default, **settings}

    def is_given(self, arguments: Namespace) -> bool:
        """Whether the command line asks for something else than without it."""
        return bool(getattr(arguments, self.dest) != self.default)


class Group:
    """Options that the help shows under a title; without one they exclude each other."""

    def __init__(self, title: str, *options: Option) -> None:
        self.title, self.options = title, options


Options = Iterable[Option | Group]


def dest_of(name: str) -> str:
    """Return the attribute of parsed arguments that an option sets."""
    return name.lstrip("-").replace("-", "_")


def values_of(arguments: Namespace, *names: str) -> dict[str, Any]:
    """Return the values of options, for a call with parameters of the same names."""
    return {name: getattr(arguments, name) for name in names}


def add_options(parser: ArgumentParser | _ArgumentGroup, options: Options) -> None:
    """Add options to a parser."""
    for option in options:
        if isinstance(option, Option):
            parser.add_argument(option.name, **option.settings)
        elif option.title:
            add_options(parser.add_argument_group(option.title), option.options)
        else:
            add_options(parser.add_mutually_exclusive_group(), option.options)


def names_file(name: str) -> bool:
    """Tell whether an argument whose value has this name is a file or a folder.

    >>> names_file("BUNDLE"), names_file("NAME.costs"), names_file("MODULE:SPACE")
    (True, True, False)
    """
    return name in FILES or "." in name


def make_absolute(arguments: Namespace, options: Options) -> None:
    """Make the names of files absolute: a module of the user may change the folder of the process.

    Items are a file if it is there. What may be a file or a known name, such as a profile, stays as it is.
    """
    for option in options:
        if isinstance(option, Group):
            make_absolute(arguments, option.options)
        elif names_file(name := option.settings.get("metavar") or "") and "|" not in name:
            value = getattr(arguments, option.dest)
            found = [_absolute(one, name != "ITEMS") for one in (value if isinstance(value, list) else [value])]
            setattr(arguments, option.dest, found if isinstance(value, list) else found[0])


def _absolute(value: Any, is_sure: bool) -> Any:
    is_file = isinstance(value, str | os.PathLike) and value not in ("", "-") and (is_sure or os.path.exists(value))
    return type(value)(os.path.join(os.getcwd(), value)) if is_file else value


def check_options(arguments: Namespace, options: Options) -> None:
    """Raise the error of an option that is given without the one that it needs."""
    for option in options:
        if isinstance(option, Group):
            check_options(arguments, option.options)
        elif (needs := option.needs) and option.is_given(arguments) and getattr(arguments, dest_of(needs.name)) is None:
            raise needs.error(f"{option.name} must come with {needs.name}, {needs.what}. {needs.name} is missing.")
