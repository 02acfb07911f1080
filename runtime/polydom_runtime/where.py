"""Where in the user's code an error came from."""

import os
from pathlib import Path

OURS = frozenset(["polydom_runtime", "polydom_builder", "site-packages", "dist-packages"])
STANDARD = (os.path.dirname(os.__file__), "<")


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
        if not file.startswith(STANDARD) and OURS.isdisjoint(Path(file).parts):
            where = f" ({file}, line {step.tb_lineno})"
        step = step.tb_next
    return f"It raised {error!r}{where}."
