"""``polydom sign``: sign a bundle, so that a node can tell whose it is."""

import argparse

from polydom_builder.signing.sign import add_signature, sign_folder
from polydom_builder.signing.signing_key import SigningKey
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show
from polydom_runtime.exceptions import SignatureError

from .arguments import day


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom sign``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    command.add_argument("--key", metavar="NAME.key", required=True, help="the private key, from `polydom keygen`")
    command.add_argument("--name", metavar="NAME", help="the name to sign under (default: that of the bundle)")
    command.add_argument(
        "--expires",
        type=day,
        metavar="DATE",
        help="the last day on which nodes load the bundle, such as 2027-06-01, in UTC; they then need a clock that is "
        "right (default: no end)",
    )
    command.add_argument(
        "--add",
        action="store_true",
        help="keep the signatures of other keys and what they sign, and add one, while the keys of the nodes change",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Sign, and say what was signed.

    Raises `SignatureError` if the bundle cannot be signed, or the options do not go together.
    """
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
