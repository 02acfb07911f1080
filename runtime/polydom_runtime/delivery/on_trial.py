"""The releases that have not proved themselves yet, in the file ``trials`` of a folder of releases.

A release is on trial from its install on, unless it is the first one, until a node has kept it. The file outlives the
node, so that a release that ends the process, or lets a watchdog end it, does not become the one to stay.
"""

import fcntl
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from polydom_runtime.exceptions import UpdateError
from polydom_runtime.files import open_kept, replace_file

from .releases import (
    CURRENT,
    TRIALS,
    current_digest,
    current_release,
    is_digest,
    locked,
    release_path,
    up_to_current,
    words_of_lines,
)

MOST_STARTS = 3
"""How often a release may be begun with; one whose trial has not ended by then has ended, or hung, the process."""

NOT_KEPT = "the trial of the new bundle begins anew with each process, since its start cannot be written"

Counts = tuple[int, ...]
"""Answers: all, late ones, and those with failures."""


class OnTrial(NamedTuple):
    """What is known of a release on trial, over all processes."""

    starts: tuple[int, ...] = ()
    """How many processes began with it and did not come to a good end, or still run; by `place`."""
    answers: Counts = (0, 0, 0)
    """Those of processes that came to a good end."""
    before: Counts = (0, 0, 0)
    """The answers of the bundle before it."""

    @property
    def failure(self) -> str:
        """Why the trial has failed before it ended; empty if it has not."""
        if max(self.starts, default=0) <= MOST_STARTS:
            return ""
        return f"{MOST_STARTS} processes began with it, and each one crashed, was killed or lost its power in the trial"


def on_trial(root: Path) -> dict[str, OnTrial]:
    """Return the releases on trial by digest. Of a line that is damaged, only the digest counts."""
    try:
        lines = words_of_lines(root / TRIALS)
    except OSError as e:
        raise UpdateError(f"{root / TRIALS} must be a file that this user may read. Got: {e}. Correct that.") from e
    found = {}
    for digest, *words in lines:
        numbers = [int(word) for word in words if word.isdecimal() and len(word) < 16]
        if is_digest(digest):
            counts = tuple(numbers) if len(numbers) == len(words) >= 6 else (0,) * 6
            found[digest] = OnTrial(counts[6:], counts[:3], counts[3:6])
    return found


NEW = OnTrial()


def put_on_trial(root: Path, digest: str, state: OnTrial | None = NEW) -> None:
    """Write what is known of a release; None takes it off the list. The caller has the lock."""
    known: Mapping[str, OnTrial | None] = {**on_trial(root), digest: state}
    lines = (
        " ".join(map(str, (name, *found.answers, *found.before, *found.starts)))
        for name, found in known.items()
        if found is not None and (name == digest or release_path(root, name).exists())
    )
    replace_file(root / TRIALS, "".join(f"{line}\n" for line in lines).encode())


def root_of(folder: str | os.PathLike[str]) -> Path | None:
    """Return the folder of releases of which this is the current one; None for any other folder."""
    path = Path(folder)
    return path.parent if path.name == CURRENT and current_digest(path.parent) is not None else None


def proved_before(root: Path) -> str | None:
    """Return the release to go back to from the current one: the last before it that proved itself, or None."""
    known = on_trial(root)
    earlier = (d for d in reversed(up_to_current(root)[:-1]) if d not in known and release_path(root, d).exists())
    return next(earlier, None)


def begin(root: Path, before: Counts = (0, 0, 0)) -> tuple[str, OnTrial | None]:
    """Count a start of the current release, and return its digest and what is known of it; None if it proved itself.

    `before`: the answers of the bundle that answers until then; of several processes the most count. The start is on
    the disk before anything of the release can end the process; `UpdateError` if that cannot be done.
    """
    if (digest := current_release(root).digest) not in on_trial(root):
        return digest, None
    with locked(root, wait=True):
        digest = current_release(root).digest
        known = on_trial(root).get(digest)
        if known is not None:
            known = known._replace(starts=_counted(known.starts, place(root), 1), before=max(known.before, before))
            if not known.failure:
                put_on_trial(root, digest, known)
        return digest, known


def take_back(root: Path, digest: str, begun: OnTrial, answers: Counts) -> None:
    """Take back, if possible, that a start was counted, since it came to a good end, and keep the answers so far."""
    with suppress(UpdateError):
        if digest in on_trial(root):
            with locked(root, wait=True):
                if (now := on_trial(root).get(digest)) is not None:  # other nodes may have changed it since
                    total = tuple(a + b - c for a, b, c in zip(now.answers, answers, begun.answers, strict=True))
                    starts = _counted(now.starts, place(root), -1)
                    put_on_trial(root, digest, now._replace(starts=starts, answers=total))


def _counted(starts: tuple[int, ...], number: int, more: int) -> tuple[int, ...]:
    padded = (*starts, *(0,) * (number + 1 - len(starts)))
    return *padded[:number], max(padded[number] + more, 0), *padded[number + 1 :]


_held: list[int] = []


def _let_go() -> None:
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_let_go)  # what a feature forks may outlive the node


@cache
def place(root: Path) -> int:
    """Return the lowest number that no other living process has in this folder; this one keeps it until it ends.

    Each node of several counts its own starts: nodes that run side by side are no crashes, and one power cut for all of
    them is one for each. The caller has the lock.
    """
    number = 0
    while True:
        descriptor = open_kept(root / f"node.{number}", os.O_RDONLY | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _held.append(descriptor)
            return number
        except BlockingIOError:
            number += 1
            os.close(descriptor)


def note(root: Path, digest: str, state: OnTrial | None) -> None:
    """Write what is known of a release by now, if it is still on trial; None if it proved itself."""
    if on_trial(root).get(digest, state) != state:
        with locked(root, wait=True):
            put_on_trial(root, digest, state)
