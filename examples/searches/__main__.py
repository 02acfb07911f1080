"""The command ``python -m examples.searches``: what searches find and state, checked on five data sets."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.deadlines.__main__ import NEED_NO_DATA, add_places
from examples.paper.results import ResultsError
from polydom_runtime.commands.command_line import run_command

OUT = Path(".cache/searches")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    command = argparse.ArgumentParser(
        prog="python -m examples.searches",
        description="Check on test items what searches find, and what their bundles state.",
    )
    add_places(command, OUT)
    command.add_argument(
        "--parts",
        nargs="+",
        default=(),
        metavar="NAME",
        help="trainings, progress, stated, confidence, abstention, estimators, memory (default: all)",
    )
    command.add_argument("--page", type=Path, metavar="FILE.md", help="instead, put all results into docs/searches.md")
    command.add_argument("--redraw", action="store_true", help="only draw from the raw results in the folder")
    command.add_argument("--quick", action="store_true", help="make a small run that checks that everything works")
    command.set_defaults(run=run)
    return command


def run(arguments: argparse.Namespace) -> None:
    """Run the study, or put its results on the page."""
    from . import study

    if unknown := set(arguments.parts) - study.PARTS.keys():
        raise ResultsError(f"A part must be one of {', '.join(study.PARTS)}. Got {', '.join(sorted(unknown))}.")
    if arguments.page is not None:
        study.fill_page(arguments.page, arguments.out)
    elif arguments.redraw:
        study.draw(arguments.out)
    elif arguments.data is None and not (arguments.tasks and set(arguments.tasks) <= NEED_NO_DATA):
        raise ResultsError("The data sets are needed. Got no --data. Give their folder, or --tasks patches.")
    else:
        study.run_study(arguments.data, arguments.out, arguments.parts, arguments.tasks, quick=arguments.quick)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command` for its exit code."""
    return run_command(lambda words: parser(), argv, "Start it again; what is done is kept.")


if __name__ == "__main__":
    sys.exit(main())
