"""``polydom keygen``: make a pair of keys to sign bundles with."""

import os
from argparse import Namespace

from polydom_builder.signing.signing_key import PASSPHRASE, make_keys
from polydom_runtime.commands.options import Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show

OPTIONS = (
    Option("name NAME", "the files to write: NAME.key, which is encrypted if POLYDOM_PASSPHRASE is set, and NAME.pub"),
)


def run(arguments: Namespace) -> Outcome:
    """Make the keys, and say who needs which."""
    private, public = make_keys(arguments.name)
    how = f"encrypted; its passphrase is in {PASSPHRASE}" if os.environ.get(PASSPHRASE) else "not encrypted"
    show(f"{private}: the private key, {how}. Whoever has it can sign; keep it off the nodes.")
    show(f"{public}: the public key. Copy it to the nodes, and name it there with --trust or POLYDOM_TRUST.")
    return Outcome({"private": private, "public": public})
