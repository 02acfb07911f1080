"""The bundle that the options of a command name."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle, loaded
from polydom_runtime.device.tune import tuned
from polydom_runtime.device.tune_file import load_tune

if TYPE_CHECKING:
    from polydom_runtime.trust.trust import Trust


def bundle_of(arguments: argparse.Namespace) -> Bundle:
    """Read the bundle of a command, unless it is loaded already; with the times of its tune file, if one is given.

    Raises `BundleFormatError` if the bundle or the tune file is not sound. Raises `BundleMismatchError` if the tune
    file is of another bundle or machine.
    """
    bundle = loaded(arguments.bundle, trust_of(arguments))
    return bundle if arguments.tune is None else tuned(bundle, load_tune(arguments.tune, bundle))


def trust_of(arguments: argparse.Namespace) -> "Trust | None":
    """Read the trusted keys of a command; None if it names no file of them.

    Raises `SignatureError` if a file is not sound.
    """
    if arguments.trust is None:
        return None
    from polydom_runtime.trust.trust import Trust  # only here, since most nodes demand no signature

    return Trust.from_files(arguments.trust)


def loader_of(arguments: argparse.Namespace) -> Callable[[Path], Bundle]:
    """Return what loads bundles as a command demands.

    Raises `SignatureError` as for `trust_of`.
    """
    return partial(load_bundle, trust=trust_of(arguments))
