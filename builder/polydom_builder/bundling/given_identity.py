"""The identity of a new bundle: what the user gives it, and what the builder knows of the build."""

import os
import time

import numpy as np
import skl2onnx
import sklearn

from polydom_builder import __version__
from polydom_builder.exceptions import ExportError
from polydom_runtime.bundles.engines import onnxruntime_version
from polydom_runtime.bundles.promise import MAX_WORD_CHARS, Identity, is_word
from polydom_runtime.causes import shown

EPOCH = "SOURCE_DATE_EPOCH"
"""The environment variable that states the time of a build. Without it, nothing that is built holds a time."""

EPOCH_DIGITS = 11
"""The most digits of SOURCE_DATE_EPOCH: enough until the year 5138."""


def given_identity(name: str, version: str, built_by: str) -> Identity:
    """Return the identity that a user gives to a bundle, with the time of ``SOURCE_DATE_EPOCH`` if it is set."""
    for parameter, text in {"name": name, "version": version, "built_by": built_by}.items():
        if not is_word(text):
            must = f"be a text of at most {MAX_WORD_CHARS} printable characters"
            raise ExportError(f"The {parameter} of a bundle must {must}. Got {shown(text)}.")
    seconds = source_date()
    built = "" if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    libraries = {"polydom-builder": __version__, "scikit-learn": sklearn.__version__, "skl2onnx": skl2onnx.__version__}
    libraries |= {"numpy": np.__version__, "onnxruntime": onnxruntime_version()}
    known = {library: found for library, found in libraries.items() if found}
    return Identity(name, version, built, built_by, libraries=known)


def source_date() -> int | None:
    """Return the seconds since 1970 that ``SOURCE_DATE_EPOCH`` holds; None without it.

    An empty one is refused: a script may have meant to set it, as by a call of git outside of a clone.
    """
    seconds = os.environ.get(EPOCH)
    if seconds is None:
        return None
    if not (seconds.isascii() and seconds.isdecimal() and len(seconds) <= EPOCH_DIGITS):
        raise ExportError(f"{EPOCH} must be whole seconds since 1970. Got {shown(seconds)}. Set it right, or unset it.")
    return int(seconds)
