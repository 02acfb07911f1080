"""``polydom costs``: report on a costs file."""

import argparse
from dataclasses import asdict
from pathlib import Path

from polydom_builder.costs.cost_report import plot_costs, report_costs
from polydom_builder.drawing.extra import check_extra
from polydom_runtime.commands.arguments import share
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show
from polydom_runtime.measuring.costs_file import load_costs

from .cost_tables import print_costs


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom costs``."""
    command.add_argument("file", metavar="NAME.costs", help="the costs file")
    command.add_argument(
        "--quantile", type=share, default=0.999, help="the quantile of the times that is the worst case (default 0.999)"
    )
    command.add_argument(
        "--plots", metavar="FOLDER", help="the folder for a picture of each unit's samples and fits (needs matplotlib)"
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Report on a file of measured costs.

    Raises `FitError` if pictures are asked for and matplotlib is not installed. Raises `MeasurementError` if the file
    is not a sound costs file.
    """
    samples = load_costs(arguments.file)
    rows = report_costs(samples, arguments.quantile)
    print_costs(samples, rows, arguments.quantile)
    if arguments.plots:
        check_extra("matplotlib")
        plot_costs(samples, rows, arguments.quantile, Path(arguments.plots))
        show(f"{arguments.plots}: a picture of each unit.")
    units = [{**asdict(row), "fit": {"typical": str(row.fit.typical), "worst": str(row.fit.worst)}} for row in rows]
    return Outcome({"machine": samples.machine, "quantile": arguments.quantile, "units": units})
