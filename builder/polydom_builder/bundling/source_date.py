"""The time that stands in what is built: https://reproducible-builds.org/docs/source-date-epoch/."""

import os

from polydom_builder.exceptions import ExportError
from polydom_runtime.causes import shown

EPOCH = "SOURCE_DATE_EPOCH"
"""The environment variable that states it. Without it, nothing that is built holds a time."""

MAX_DIGITS = 11
"""Of the seconds: they last to the year 5138."""


def source_date() -> int | None:
    """Return the seconds since 1970 that ``SOURCE_DATE_EPOCH`` holds, or None without it.

    Raises `ExportError` if the variable holds anything else.
    """
    seconds = os.environ.get(EPOCH)
    if not seconds:
        return None
    if not (seconds.isascii() and seconds.isdecimal() and len(seconds) <= MAX_DIGITS):
        raise ExportError(f"{EPOCH} must be whole seconds since 1970. Got {shown(seconds)}. Set it right, or unset it.")
    return int(seconds)
