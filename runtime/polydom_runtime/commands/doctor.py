"""``polydom-node doctor``: look for causes of late answers on this machine."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.device.board import Board
from polydom_runtime.diagnosis.doctor import examine
from polydom_runtime.diagnosis.machine_findings import check_access
from polydom_runtime.diagnosis.software_findings import check_features, check_item
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError, ItemError, SignatureError
from polydom_runtime.findings import as_text, exit_code, finding
from polydom_runtime.items.sources import bare_items, iterate, space_of
from polydom_runtime.trust import VARIABLE

from .bundle_options import TRUST, trust_of
from .options import Needed, Option
from .outcome import Outcome

OPTIONS = (
    Option("--bundle BUNDLE", "a bundle folder; each of its models is run once"),
    Option(
        "--space MODULE:SPACE",
        "with --bundle: its features, to compare with those of the build",
        needs=Needed("--bundle", "which says what the features gave", BundleMismatchError),
    ),
    Option(
        "--items ITEMS",
        "with --space: items as of run; the first one is compared with those of the build",
        needs=Needed("--space", "which has the features of an item", ItemError),
    ),
    TRUST,
)


def run(arguments: Namespace) -> Outcome:
    """Print the findings; return 1 if one of them is a problem, else 0."""
    space = space_of(arguments.space) if arguments.space else None
    bundle, findings = arguments.bundle, [check_access(paths)] if (paths := [*paths_of(arguments)]) else []
    try:
        trust = trust_of(arguments)
    except SignatureError as e:
        findings.append(finding("keys", "problem", str(e), "no bundle can be checked or used", "correct the file"))
        trust = bundle = space = None
    findings += examine(Board(), bundle=bundle, trust=trust)
    if space is not None:
        with suppress(BundleFormatError):  # which is a finding already
            findings.append(check_features(loaded := load_bundle(bundle, trust), space))
            if arguments.items:
                findings += [
                    check_item(loaded, space, item) for item in islice(bare_items(iterate(arguments.items)), 1)
                ]
    print(as_text(findings))
    return Outcome({"findings": findings}, exit_code(findings))


def paths_of(arguments: Namespace) -> Iterator[Path]:
    """Yield what a run with these arguments would read: the bundle, the keys, and the code of the features."""
    if arguments.bundle:
        yield (bundle := Path(arguments.bundle))
        yield from bundle.rglob("*")
    named = os.environ.get(VARIABLE, "").split(os.pathsep) if arguments.trust is None else arguments.trust
    yield from (Path(file) for file in named if file)
    if arguments.space:
        yield Path.cwd()  # where modules are looked for first
        if code := getattr(sys.modules[arguments.space.rpartition(":")[0]], "__file__", None):
            yield from (Path(code), Path(code).parent)
