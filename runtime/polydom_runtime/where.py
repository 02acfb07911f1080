"""Where in the user's code an error came from."""

from pathlib import Path

OURS = frozenset(["polydom_runtime", "polydom_builder"])


def raised(error: BaseException) -> str:
    """Return a sentence about an exception of a user's code, with the file and the line that it came from.

    Examples
    --------
    >>> raised(ValueError("no sound"))
    "It raised ValueError('no sound')."
    """
    import sysconfig  # only here: most nodes never need it
    import traceback

    if isinstance(error, SyntaxError) and error.filename:
        return f"It raised {error!r} ({error.filename}, line {error.lineno})."
    others = (*(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib")), "<")
    theirs = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(others) and OURS.isdisjoint(Path(frame.filename).parts)
    ]
    where = f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
    return f"It raised {error!r}{where}."
