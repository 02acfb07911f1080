"""The command ``python -m examples.deadlines``: score against deadline on five data sets."""

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.paper.results import ResultsError
from polydom_runtime.commands.command_line import run_command

OUT = Path(".cache/deadlines")
NEED_NO_DATA = {"patches", "surface"}


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    command = argparse.ArgumentParser(
        prog="python -m examples.deadlines",
        description="Replay measured times on five data sets: how well each system answers before each deadline.",
    )
    add_places(
        command,
        OUT,
        "; with --loops also surface, which needs none either; with --models names of estimators (default: all that "
        "the experiment has)",
    )
    command.add_argument(
        "--deadlines",
        type=Path,
        metavar="FILE.csv",
        help="run at the deadlines of the results of an earlier run, and replay the bundles beside them, too",
    )
    command.add_argument("--redraw", action="store_true", help="only draw from the raw results in the folder")
    instead = command.add_mutually_exclusive_group()
    instead.add_argument("--drift", action="store_true", help="instead, let times differ from those of the build")
    instead.add_argument("--real", action="store_true", help="instead, answer every test item in five real runs")
    instead.add_argument("--loops", action="store_true", help="instead, run real loops that sleep between two items")
    instead.add_argument("--certificates", action="store_true", help="instead, certify loops at a period of 20 ms")
    instead.add_argument("--models", action="store_true", help="instead, compare stated and real times of models")
    instead.add_argument("--page", type=Path, metavar="FILE.md", help="instead, put all results into docs/anytime.md")
    command.add_argument("--quick", action="store_true", help="make a small run that checks that everything works")
    command.set_defaults(run=run)
    return command


def add_places(command: argparse.ArgumentParser, out: Path, more: str = " (default: all)") -> None:
    """Add the arguments for the folders of data and results, and for the tasks; `more` ends the help of the latter."""
    command.add_argument("--data", type=Path, metavar="PATH", help="folder that holds a folder for each data set")
    command.add_argument("--out", type=Path, default=out, metavar="DIR", help=f"folder for results (default {out})")
    tasks = f"scenes, digits, flights, bearings, patches, which needs no data{more}"
    command.add_argument("--tasks", nargs="+", default=(), metavar="NAME", help=tasks)


def run(arguments: argparse.Namespace) -> None:
    """Run the chosen experiment, or draw the figures of the first one again."""
    data, out, names = arguments.data, arguments.out, arguments.tasks
    if arguments.page is not None:
        from .page import fill_page

        print(f"Without results: {', '.join(fill_page(arguments.page, out)) or 'none'}.")
        return
    needs_data = not (arguments.models or arguments.redraw or (names and set(names) <= NEED_NO_DATA))
    if needs_data and data is None:
        raise ResultsError("The data sets are needed. Got no --data. Give their folder, or --tasks patches.")
    if arguments.models:
        from .models import run_models

        run_models(out, names)
    elif arguments.real:
        from .real import run_real

        run_real(data, out, names)
    elif arguments.loops:
        from .loops import run_loops

        run_loops(data, out, names)
    elif arguments.certificates:
        from .certificates import run_certificates

        run_certificates(data, out, names)
    else:
        _replay(arguments)


def _replay(arguments: argparse.Namespace) -> None:
    from .earlier import Earlier
    from .experiment import draw_deadlines, run_deadlines, run_drift

    if importlib.util.find_spec("matplotlib") is None:
        raise ResultsError("Figures need matplotlib. It is not installed. Run pip install 'polydom-builder[demo]'.")
    if arguments.redraw:
        draw_deadlines(arguments.out)
    elif arguments.drift:
        run_drift(arguments.data, arguments.out, arguments.tasks)
    else:
        earlier = Earlier.read(arguments.deadlines) if arguments.deadlines else None
        run_deadlines(arguments.data, arguments.out, arguments.tasks, quick=arguments.quick, earlier=earlier)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command` for its exit code."""
    return run_command(lambda words: parser(), argv, "Start it again.")


if __name__ == "__main__":
    sys.exit(main())
