"""The identity of a new bundle: what the user gives it, and what the builder knows of the build."""

import time

import numpy as np
import skl2onnx
import sklearn

from polydom_builder import __version__
from polydom_builder.exceptions import ExportError
from polydom_runtime.bundles.identity import MAX_CHARS, Identity, is_word
from polydom_runtime.bundles.models import onnxruntime_version
from polydom_runtime.causes import shown

from .source_date import source_date


def given_identity(name: str, version: str, built_by: str) -> Identity:
    """Return the identity that a user gives to a bundle, and the time of ``SOURCE_DATE_EPOCH``, if it is set.

    Raises `ExportError` if a text is too long or not printable, or the time is not valid.
    """
    for parameter, text in {"name": name, "version": version, "built_by": built_by}.items():
        if not is_word(text):
            must = f"be a text of at most {MAX_CHARS} printable characters"
            raise ExportError(f"The {parameter} of a bundle must {must}. Got {shown(text)}.")
    seconds = source_date()
    built = "" if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    return Identity(name, version, built, built_by, libraries=_libraries())


def _libraries() -> dict[str, str]:
    versions = {
        "polydom-builder": __version__,
        "scikit-learn": sklearn.__version__,
        "skl2onnx": skl2onnx.__version__,
        "numpy": np.__version__,
        "onnxruntime": onnxruntime_version(),
    }
    return {name: version for name, version in versions.items() if version}
