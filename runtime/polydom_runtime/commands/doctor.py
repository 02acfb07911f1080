"""``polydom-node doctor``: look for causes of late answers on this machine."""

import argparse
import json
from dataclasses import asdict

from polydom_runtime.device.board import Board
from polydom_runtime.diagnosis.doctor import examine
from polydom_runtime.diagnosis.findings import as_text, exit_code


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node doctor``."""
    command.add_argument("--bundle", metavar="BUNDLE", help="a bundle folder; each of its models is run once")
    command.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; return 1 if one of them is a problem, else 0."""
    findings = examine(Board(), bundle=arguments.bundle)
    print(json.dumps([asdict(f) for f in findings], indent=2) if arguments.json else as_text(findings))
    return exit_code(findings)
