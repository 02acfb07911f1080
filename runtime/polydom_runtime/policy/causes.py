"""Why a feature, a model or a source failed: in words, and reported while the program runs."""

import sys
from contextlib import suppress

from polydom_runtime.where import raised

MAX_CHARS = 200
"""The longest text of an error."""

MAX_REPORT = 500


def error_text(error: BaseException | str) -> str:
    """Return an exception in one line, at most `MAX_CHARS` long; a text as it is.

    >>> error_text(ValueError("no sound"))
    'ValueError: no sound'
    """
    if isinstance(error, str):
        return error
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # of the exception's own code
        text = type(error).__name__
    return " ".join(text[:MAX_CHARS].split())


def report(text: str) -> None:
    """Log a warning of ``polydom_runtime``; to standard error in a program that does not use `logging`.

    To import `logging` would take longer than some deadlines, and what it does without settings is the same.
    """
    with suppress(OSError, ValueError):  # closed, or full
        if logging := sys.modules.get("logging"):
            logging.getLogger("polydom_runtime").warning("%s", text)
        elif sys.stderr is not None:
            print(f"polydom: {text}", file=sys.stderr, flush=True)


class Causes:
    """Counts the failures of each part, and reports the first one, the tenth, the hundredth and so on.

    Attributes
    ----------
    counts : dict of str to int
        Failures by part.
    muted : bool
        Whether failures are neither counted nor reported, as in a rehearsal.
    """

    __slots__ = ("counts", "muted")

    def __init__(self, *, muted: bool = False) -> None:
        self.counts: dict[str, int] = {}
        self.muted = muted

    def add(self, part: str, error: BaseException | str) -> None:
        """Count a failure, and report it if its turn has come."""
        if self.muted:
            return
        n = self.counts[part] = self.counts.get(part, 0) + 1
        if str(n).strip("0") != "1":
            return
        with suppress(Exception):  # of the exception's own code
            why = error if isinstance(error, str) else raised(error)
            report(f"{part} failed{f' for the {n}th time' if n > 1 else ''}. {' '.join(why.split())[:MAX_REPORT]}")
