"""``polydom verify``: check the proof of a bundle."""

from argparse import Namespace
from dataclasses import asdict

from polydom_builder.verification import verify_bundle
from polydom_runtime.commands.bundle_options import BUNDLE
from polydom_runtime.commands.outcome import ExitCode, Outcome
from polydom_runtime.commands.terminal import show

OPTIONS = (BUNDLE,)


def run(arguments: Namespace) -> Outcome:
    """Check the proof of a bundle and its index, without the code that made them."""
    report = verify_bundle(arguments.bundle)
    show(report)
    return Outcome({"ok": report.ok, **asdict(report)}, ExitCode.DONE if report.ok else ExitCode.WRONG)
