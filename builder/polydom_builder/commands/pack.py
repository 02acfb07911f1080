"""``polydom pack``: write a bundle as one file, to deliver it."""

import argparse
from pathlib import Path

from polydom_builder.bundling.packing import pack
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show
from polydom_runtime.trust import SIGNATURE_FILE


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom pack``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    command.add_argument("--out", metavar="NAME.tar", required=True, help="the file to write")


def run(arguments: argparse.Namespace) -> Outcome:
    """Pack, and say what was packed.

    Raises `PolyDomError` if the bundle is not sound, or the file cannot be written.
    """
    packed = pack(arguments.bundle, arguments.out)
    is_signed = (Path(arguments.bundle) / SIGNATURE_FILE).exists()
    show(f"{arguments.out}: the bundle {packed.sha256}{'' if is_signed else ', not signed'}")
    return Outcome({"file": arguments.out, "sha256": packed.sha256, "signed": is_signed})
