"""``polydom-node install``: check a bundle and make it the current release."""

import sys
from argparse import Namespace
from dataclasses import asdict

from polydom_runtime.bundles.index_file import demanded
from polydom_runtime.delivery.fitness import check_fitness
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.packed import unpacked
from polydom_runtime.device.board import Board
from polydom_runtime.device.probe import probe
from polydom_runtime.findings import as_text
from polydom_runtime.items.sources import space_of

from .bundle_options import TRUST, loader_of, trust_of
from .options import Option, values_of
from .outcome import Outcome
from .terminal import show

OPTIONS = (
    Option("bundle BUNDLE", "the bundle folder, or a .tar file from `polydom pack`"),
    Option("--into ROOT", "the folder of releases; made if it is missing", required=True),
    Option("--space MODULE:SPACE", "the feature space, to compare its numbers with those of the build"),
    Option("--keep RELEASES", "the number of releases that stay (default 3)", int, 3),
    Option(
        "--allow-downgrade",
        "install also a bundle that is signed under another name than the current one, or has no higher release number",
    ),
    TRUST,
)


def run(arguments: Namespace) -> Outcome:
    """Check the bundle on this machine, install it, and say what changed."""
    space = space_of(arguments.space) if arguments.space else None
    load = loader_of(arguments)
    with unpacked(arguments.bundle, demanded(trust_of(arguments))) as folder:
        bundle = load(folder)
        if warnings := check_fitness(bundle, Board(), probe(), space):
            print(as_text(warnings), file=sys.stderr)
        options = values_of(arguments, "keep", "allow_downgrade")
        done = install(bundle, arguments.into, load=load, **options)
    show(f"{arguments.into}: {done.digest} {_how(done.copied, done.digest == done.before)}")
    if done.before not in (None, done.digest):
        keys = "".join(f" --trust {file}" for file in arguments.trust or ())
        show(f"before: {done.before}; back to it: polydom-node rollback --into {arguments.into}{keys}")
    for digest in done.removed:
        show(f"removed: {digest}")
    return Outcome({"root": arguments.into, **asdict(done), "warnings": warnings})


def _how(copied: bool, was_current: bool) -> str:
    if was_current:
        repaired = "is the current release, and was damaged or signed anew: it is repaired"
        return repaired if copied else "is the current release already"
    return "is the current release now" + ", and was already there" * (not copied)
