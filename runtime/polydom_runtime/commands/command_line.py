"""A command line with several commands, each in a module that is imported only when the command is used."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from importlib import import_module


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
            module = import_module(f"{package}.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
