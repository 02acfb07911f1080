"""``polydom sign``: sign a bundle, so that a node can tell whose it is."""

from argparse import Namespace

from polydom_builder.signing.sign import add_signature, sign_folder
from polydom_builder.signing.signing_key import SigningKey
from polydom_runtime.commands.bundle_options import BUNDLE
from polydom_runtime.commands.options import Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show
from polydom_runtime.exceptions import SignatureError

from .arguments import day

OPTIONS = (
    BUNDLE,
    Option("--key NAME.key", "the private key, from `polydom keygen`", required=True),
    Option("--name NAME", "the name to sign under (default: that of the bundle)"),
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
    if arguments.add and (arguments.name or arguments.expires):
        raise SignatureError("--add must be without --name and --expires: it signs the same again. Leave one out.")
    key = SigningKey.from_file(arguments.key)
    if arguments.add:
        stated = add_signature(arguments.bundle, key)
    else:
        stated = sign_folder(arguments.bundle, key, name=arguments.name, expires=arguments.expires)
    until = f" until {stated.expires}" if stated.expires else ""
    show(f"{arguments.bundle}: {key.name} signed {len(stated.files)} files as {stated.name}{until}.")
    expires = str(stated.expires) if stated.expires else None
    return Outcome({"bundle": arguments.bundle, "key": key.name, "name": stated.name, "expires": expires})
