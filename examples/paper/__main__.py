"""The command ``python -m examples.paper``: repeat the paper's experiments."""

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from polydom_runtime.commands.command_line import run_command

from .results import ResultsError

OUT = Path(".cache/paper")


def synthetic(arguments: argparse.Namespace) -> None:
    """Run the synthetic experiments, or draw their figures again."""
    from dataclasses import replace

    from .synthetic import draw_synthetic, run_synthetic
    from .synthetic_world import QUICK, Scale

    if arguments.redraw:
        draw_synthetic(arguments.out)
        return
    scale = QUICK if arguments.quick else Scale()
    run_synthetic(arguments.out, replace(scale, seeds=arguments.seeds) if arguments.seeds else scale)


def scenes(arguments: argparse.Namespace) -> None:
    """Run the experiments on photographs, or draw their figures again.

    Raises
    ------
    ResultsError
        If the folder of the photographs is not given.
    """
    from .scenes import draw_scenes, run_scenes

    if arguments.redraw:
        draw_scenes(arguments.out)
    elif arguments.data is None:
        raise ResultsError("The photographs are needed. Got no --data. Give the folder that holds their index.csv.")
    else:
        run_scenes(arguments.data, arguments.out, arguments.quick)


def run(arguments: argparse.Namespace) -> None:
    """Run the chosen experiments.

    Raises
    ------
    ResultsError
        If matplotlib is missing.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise ResultsError("Figures need matplotlib. It is not installed. Run pip install 'polydom-builder[demo]'.")
    arguments.experiments(arguments)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    top = argparse.ArgumentParser(prog="python -m examples.paper", description="Repeat the paper's experiments.")
    commands = top.add_subparsers(required=True)

    command = commands.add_parser("synthetic", help="synthetic features with known costs and scores")
    command.add_argument("--seeds", type=positive, metavar="N", help="worlds of each kind (default 20, quick 3)")
    command.set_defaults(experiments=synthetic)

    command = commands.add_parser("scenes", help="photographs of fifteen kinds of scenes")
    command.add_argument("--data", type=Path, metavar="PATH", help="folder of the photographs")
    command.set_defaults(experiments=scenes)

    for command in commands.choices.values():
        command.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"folder for results (default {OUT})")
        command.add_argument("--redraw", action="store_true", help="only draw from the raw results in the folder")
        command.add_argument("--quick", action="store_true", help="make a small run that checks that everything works")
        command.set_defaults(run=run)
    return top


def positive(text: str) -> int:
    """Return a whole number of at least 1; argparse reports the error otherwise.

    Raises
    ------
    argparse.ArgumentTypeError
        If `text` is no such number.

    Examples
    --------
    >>> positive("20")
    20
    """
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return number


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command` for its exit code."""
    return run_command(lambda words: parser(), argv, "Start it again.")


if __name__ == "__main__":
    sys.exit(main())
