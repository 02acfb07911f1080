"""``polydom sign``: sign a bundle, so that a node can tell whose it is."""

from argparse import Namespace

from polydom_builder.signing.sign import add_signature, sign_folder
from polydom_builder.signing.signing_key import SigningKey
from polydom_runtime.commands.bundle_options import BUNDLE
from polydom_runtime.commands.options import Option, values_of
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show
from polydom_runtime.exceptions import SignatureError

from .arguments import day

OPTIONS = (
    BUNDLE,
    Option("--key NAME.key", "the private key, from `polydom keygen`", required=True),
    Option(
        "--name NAME",
        "the name to sign under, the same for all releases that follow each other (default: that of the bundle)",
    ),
    Option(
        "--release N",
        "the number of the release, above that of the one before: then nodes install no older one over it (default: "
        "none)",
        int,
    ),
    Option(
        "--device PATTERN",
        "the devices that it may be installed on, by a pattern of the board, the architecture or the host name, such "
        "as 'Raspberry Pi 5*'; may be given several times (default: all)",
        action="append",
    ),
    Option(
        "--expires DATE",
        "the last day on which nodes load the bundle, such as 2027-06-01, in UTC; they then need a clock that is right "
        "(default: no end)",
        day,
    ),
    Option(
        "--add", "keep the signatures of other keys and what they sign, and add one, while the keys of the nodes change"
    ),
)


def run(arguments: Namespace) -> Outcome:
    """Sign a bundle, and print the names of the key and of the signed bundle."""
    given = values_of(arguments, "name", "release", "expires") | {"devices": arguments.device}
    if arguments.add and any(value is not None for value in given.values()):
        raise SignatureError(
            "--add must be without --name, --release, --device and --expires: it signs the same again. Leave one out."
        )
    key = SigningKey.from_file(arguments.key)
    if arguments.add:
        stated = add_signature(arguments.bundle, key)
    else:
        stated = sign_folder(arguments.bundle, key, **given | {"devices": arguments.device or ()})
    until = f" until {stated.expires}" if stated.expires else ""
    number = f" {stated.release}" if stated.release is not None else ""
    show(f"{arguments.bundle}: {key.name} signed {len(stated.files)} files as {stated.name}{number}{until}.")
    expires = str(stated.expires) if stated.expires else None
    told = {"name": stated.name, "release": stated.release, "devices": stated.devices, "expires": expires}
    return Outcome({"bundle": arguments.bundle, "key": key.name, **told})
