"""``polydom pack``: write a bundle as one file, to deliver it."""

from argparse import Namespace
from pathlib import Path

from polydom_builder.bundling.packing import pack
from polydom_runtime.commands.bundle_options import BUNDLE
from polydom_runtime.commands.options import Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show
from polydom_runtime.trust import SIGNATURE_FILE

OPTIONS = BUNDLE, Option("--out NAME.tar", "the file to write", required=True)


def run(arguments: Namespace) -> Outcome:
    """Pack a bundle, and print its hash and whether it is signed."""
    packed = pack(arguments.bundle, arguments.out)
    is_signed = (Path(arguments.bundle) / SIGNATURE_FILE).exists()
    show(f"{arguments.out}: the bundle {packed.sha256}{'' if is_signed else ', not signed'}")
    return Outcome({"file": arguments.out, "sha256": packed.sha256, "signed": is_signed})
