"""Why a feature, a model or a source failed: in words, and reported while the program runs."""

import os
import sys
from contextlib import suppress

OURS = frozenset(["polydom_runtime", "polydom_builder", "site-packages", "dist-packages"])
STANDARD = (os.path.dirname(os.__file__), "<")

MAX_CHARS = 200
"""The longest text of an error."""

MAX_REPORT = 500

LONGEST_SHOWN = 100


def shown(value: object) -> str:
    """Return a value for a message: on one line, and cut if it is long.

    >>> shown("ms"), shown([[1],
    ...                     [2]])
    ("'ms'", '[[1], [2]]')
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def raised(error: BaseException) -> str:
    """Return a sentence about an exception of a user's code, with the file and the line that it came from.

    Examples
    --------
    >>> raised(ValueError("no sound"))
    "It raised ValueError('no sound')."
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"It raised {error!r} ({error.filename}, line {error.lineno})."
    where, step = "", error.__traceback__
    while step is not None:  # not by the module `traceback`, which takes milliseconds to import
        file = step.tb_frame.f_code.co_filename
        if not file.startswith(STANDARD) and OURS.isdisjoint(file.split(os.sep)):
            where = f" ({file}, line {step.tb_lineno})"
        step = step.tb_next
    return f"It raised {error!r}{where}."


def error_text(error: BaseException | str) -> str:
    """Return an exception in one line of printable characters, at most `MAX_CHARS` long; a text as it is.

    >>> error_text(ValueError("no sound"))
    'ValueError: no sound'
    """
    if isinstance(error, str):
        return error
    try:
        text = f"{type(error).__name__}: {error}"[: 2 * MAX_CHARS]
    except Exception:  # of the exception's own code
        text = type(error).__name__
    return printable(text)[:MAX_CHARS]


def printable(text: str) -> str:
    """Return a text in one line, with a question mark for each character that cannot be printed."""
    return uncontrolled(" ".join(text.split()))


def uncontrolled(text: str) -> str:
    """Return a text with a question mark for each character that cannot be printed."""
    return "".join(c if c.isprintable() else "?" for c in text)


def report(text: str) -> None:
    """Log a warning of ``polydom_runtime``; to standard error in a program that does not use `logging`.

    To import `logging` would take longer than some deadlines, and what it does without settings is the same.
    """
    text = printable(text)
    with suppress(OSError, ValueError):  # closed, or full
        if logging := sys.modules.get("logging"):
            logging.getLogger("polydom_runtime").warning("%s", text)
        elif sys.stderr is not None:
            print(f"polydom: {text}", file=sys.stderr, flush=True)


def report_failure(part: str, n: int, error: BaseException | str) -> None:
    """Report the n-th failure of a part, if n is 1, 10, 100 and so on."""
    if str(n).strip("0") != "1":
        return
    with suppress(Exception):  # of the exception's own code
        why = error if isinstance(error, str) else raised(error)
        report(f"{part} failed{f' for the {n}th time' if n > 1 else ''}. {why[:MAX_REPORT]}")


class Causes:
    """Counts the failures of each part, and reports the first one, the tenth, the hundredth and so on.

    `counts`: failures by part. `muted`: whether failures are neither counted nor reported, as in a rehearsal.
    """

    __slots__ = ("counts", "muted")

    def __init__(self, *, muted: bool = False) -> None:
        self.counts: dict[str, int] = {}
        self.muted = muted

    def add(self, part: str, error: BaseException | str) -> None:
        """Count a failure, and report it if its turn has come."""
        if not self.muted:
            n = self.counts[part] = self.counts.get(part, 0) + 1
            report_failure(part, n, error)
