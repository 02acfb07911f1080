"""What a score depends on besides data and parameters: the code of estimator and scorer, and versions of libraries."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from polydom_runtime.measuring.fingerprint import code_fingerprint, module_of

LIBRARIES = ("sklearn", "numpy", "scipy", "skl2onnx")


def training_code(estimator: Any, scoring: Any) -> tuple[str, tuple[str, ...]]:
    """Return a hash of the user's code in an estimator and a scorer, and the versions of the libraries that they use.

    Seen are the classes of all steps and the functions among their parameters, with all modules that these import.
    """
    parts = [*_parts(estimator), *_parts(scoring)]
    modules = {module.__name__.partition(".")[0] for part in parts if (module := module_of(part))}
    named = sorted({*LIBRARIES, *modules} - {"builtins", "__main__"})
    versions = ((name, getattr(sys.modules.get(name), "__version__", None)) for name in named)
    return code_fingerprint(parts), tuple(f"{name} {version}" for name, version in versions if version)


def _parts(value: Any) -> Iterator[Any]:
    """Yield the classes and functions of a value: of an estimator, of its parameters, of a scorer."""
    waiting, seen = [value], dict[int, Any]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, type) or (callable(part) and hasattr(part, "__code__")):
            yield part
        elif hasattr(part, "__dict__"):
            yield type(part)
            waiting += vars(part).values()
