"""The way back to an earlier release."""

import os
from pathlib import Path
from typing import NamedTuple

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.exceptions import UpdateError

from .on_trial import on_trial, put_on_trial
from .releases import Loader, current_digest, digests, fault, history, locked, release_path, switch, up_to_current

SHORTEST = 4
"""The number of characters of a digest that may stand for the whole."""


class RolledBack(NamedTuple):
    """The digest of the current release now, and the faults of those that were passed over, by digest."""

    digest: str
    passed_over: dict[str, str]


def roll_back(
    root: str | os.PathLike[str], *, to: str | None = None, expected: str | None = None, load: Loader = load_bundle
) -> RolledBack:
    """Make an earlier release the current one: one further back at each call, in the order of installs.

    Damaged releases are passed over. `to`: the first characters of the digest of another release, which may be a later
    one. If the current release is not `expected`, such as the bundle that failed, nothing is changed. A release that
    has not proved itself begins its trial anew.
    """
    root = Path(root)
    with locked(root):
        current = current_digest(root)
        if expected is not None and current != expected:
            raise UpdateError(f"The current release must still be {expected}. It is {current or 'none'} now.")
        names = [_named(root, to)] if to is not None else [d for d in reversed(up_to_current(root)) if d != current]
        faults: dict[str, str] = {}
        for digest in names:
            if not (found := fault(release_path(root, digest), digest, load)):
                known = history(root)
                if digest in on_trial(root):
                    put_on_trial(root, digest)
                switch(root, digest, known if digest in known else [*up_to_current(root), digest])
                return RolledBack(digest, faults)
            faults[digest] = found
        if to is not None:
            raise UpdateError(f"The release {names[0]} must be sound. It is not: {faults[names[0]]}")
        there = f"Those there are not: {' '.join(faults.values())}" if faults else "There is none."
        raise UpdateError(
            f"There must be a sound release before {current or 'now'}. {there} "
            "Install a bundle, or name a later release with --to."
        )


def _named(root: Path, start: str) -> str:
    matches = [digest for digest in digests(root) if digest.startswith(start) and len(start) >= SHORTEST]
    if len(matches) != 1:
        raise UpdateError(
            f"--to must be the first {SHORTEST} or more characters of the digest of one release. Got {start!r}, which "
            f"{len(matches)} have. `polydom-node status` lists the releases."
        )
    return matches[0]
