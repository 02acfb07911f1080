"""The bundle that the options of a command name."""

import argparse

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.device.tune import tuned
from polydom_runtime.device.tune_file import load_tune


def bundle_of(arguments: argparse.Namespace) -> Bundle:
    """Read the bundle of a command; with the times of its tune file, if one is given.

    Raises
    ------
    BundleFormatError
        If the bundle or the tune file is not sound.
    BundleMismatchError
        If the tune file is of another bundle or machine.
    """
    bundle = load_bundle(arguments.bundle)
    return bundle if arguments.tune is None else tuned(bundle, load_tune(arguments.tune, bundle))
