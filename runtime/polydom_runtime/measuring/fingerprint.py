"""A hash of the source code of features: equal on host and node if the features are equal."""

import hashlib
import sys
import sysconfig
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from polydom_runtime.features import FeatureSpace

STANDARD = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
OURS = __name__.partition(".")[0]


def source_fingerprint(space: FeatureSpace) -> str:
    """Return a hash of a space and of its source code, so that edited features are noticed.

    The source code is that of the modules of the features, and of all modules that these refer to, except installed
    ones. A function that was typed in interactively has no source file; only its name is in the hash.
    """
    digest = hashlib.sha256(repr((space.names, space.widths)).encode())
    functions = [space.size, *(f.extract for f in space.features), *(s.compute for s in space.steps)]
    for k, function in enumerate(functions):
        while isinstance(function, partial):
            digest.update(repr((function.args, function.keywords)).encode())
            functions[k] = function = function.func
        digest.update(getattr(function, "__qualname__", repr(type(function))).encode())
    waiting = [module_of(f) for f in functions]
    seen: dict[str, Path] = {}
    while waiting:
        module = waiting.pop()
        file = getattr(module, "__file__", None)
        if module is None or file is None or module.__name__ in seen or _is_installed(module.__name__, Path(file)):
            continue
        seen[module.__name__] = Path(file)
        waiting += [module_of(value) for value in vars(module).values()]
    for _, file in sorted(seen.items()):
        digest.update(file.read_bytes().replace(b"\r\n", b"\n"))  # git changes line ends on some systems
    return digest.hexdigest()


def module_of(value: object) -> ModuleType | None:
    """Return the value itself if it is a module, else the module that defines it; None if that is unknown."""
    return value if isinstance(value, ModuleType) else sys.modules.get(str(getattr(value, "__module__", None)))


def _is_installed(name: str, file: Path) -> bool:
    """Tell whether a module is part of Python, of this package, or of another installed package."""
    top, depth = name.partition(".")[0], name.count(".") + (file.name == "__init__.py")
    return top == OURS or top in sys.stdlib_module_names or _holds_installed_packages(file.parents[depth])


@cache
def _holds_installed_packages(folder: Path) -> bool:
    return folder in STANDARD or any(folder.glob("*.dist-info"))
