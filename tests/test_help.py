"""What ``--help`` says of every command, as the parsers hold it: argparse breaks lines differently in each Python."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from polydom_builder import __main__ as builder
from polydom_runtime import __main__ as runtime

GOLDEN = Path(__file__).parent / "golden" / "help.txt"
"""To write it anew: ``python -m tests.test_help``."""


def described() -> Iterator[str]:
    """Yield a line for each command and each of its arguments."""
    for module in (runtime, builder):
        for words in ([], *([name] for name in module.COMMANDS)):
            yield from (*_described(_parser(module, words)), "")


def _parser(module: ModuleType, words: list[str]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = module.parser(words)
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    found: argparse.ArgumentParser = commands.choices[words[0]] if words else parser
    return found


def _described(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"{parser.prog}: {parser.description}"
    exclusive = {id(a): "or " for group in parser._mutually_exclusive_groups for a in group._group_actions[1:]}
    for group in parser._action_groups[2:]:
        exclusive |= {id(a): f"({group.title}) " for a in group._group_actions[:1]}
    formatter = parser._get_formatter()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from (f"  {choice.dest}: {choice.help}" for choice in action._choices_actions)
            continue
        choices = action.choices and "{" + ",".join(map(str, action.choices)) + "}"
        value = "" if action.nargs == 0 else f" {action.metavar or choices or action.dest.upper()}"
        many = {"?": " or none", "+": "..."}.get(str(action.nargs), "")
        needed = ", required" if action.required and action.option_strings else ""
        untold = action.default is None or action.default in ("", argparse.SUPPRESS, sys.executable)
        usual = "" if untold or action.nargs == 0 else f" = {action.default}"
        words = f"{', '.join(action.option_strings)}{value}{many}{needed}{usual}".strip()
        yield f"  {exclusive.get(id(action), '')}{words}: {formatter._expand_help(action)}"


def test_help_of_every_command_is_the_golden_one() -> None:
    assert "\n".join(described()).splitlines() == GOLDEN.read_text("utf-8").splitlines()


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(described()), "utf-8")
