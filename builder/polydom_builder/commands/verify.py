"""``polydom verify``: check the proof of a bundle."""

import argparse
from dataclasses import asdict

from polydom_builder.verification import verify_bundle
from polydom_runtime.commands.exit_code import ExitCode
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom verify``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")


def run(arguments: argparse.Namespace) -> Outcome:
    """Check the proof of a bundle and its index, without the code that made them."""
    report = verify_bundle(arguments.bundle)
    show(report)
    return Outcome({"ok": report.ok, **asdict(report)}, ExitCode.DONE if report.ok else ExitCode.WRONG)
