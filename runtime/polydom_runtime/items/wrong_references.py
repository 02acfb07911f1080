"""What is wrong with a reference MODULE:NAME, and what was meant; imported only where an error is made."""

import os
import pkgutil
import sys
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from polydom_runtime.causes import raised, shown
from polydom_runtime.codec.near_names import did_you_mean
from polydom_runtime.features import FeatureSpace


def malformed(reference: object) -> str:
    """Return the message about what is no reference; for a path, a call or a dot it has the right form."""
    if not isinstance(reference, str):
        return f"A reference must be a text MODULE:NAME. Got {shown(reference)}."
    module, colon, name = reference.rpartition(":")
    if not colon:
        is_path = "/" in reference or reference.endswith(".py")
        module, name = (reference, "NAME") if is_path else reference.rpartition(".")[::2]
    folder, _, file = module.replace("\\", "/").rpartition("/")
    plain = file.removesuffix(".py").lstrip("."), name.removesuffix("()")
    written = f"Write{'' if colon else ', for example,'} {':'.join(plain) if all(plain) else 'my_module:space'}"
    where = f" and start the command in the folder {folder}" if folder not in ("", ".") else ""
    return f"A reference must be MODULE:NAME, and no path. Got {reference}. {written}{where}."


def not_importable(module: str, name: str, error: BaseException) -> str:
    """Return the message about a module that cannot be imported, or has no such name."""
    if isinstance(error, ModuleNotFoundError) and (absent := error.name or module) and module.startswith(absent):
        near = did_you_mean(absent, _modules_beside(absent)) or (
            " Start the command in the folder of the module, or install it."
        )
        return f"There must be a module {absent} in {os.getcwd()}, or an installed one. There is none.{near}"
    if isinstance(error, AttributeError) and (loaded := sys.modules.get(module)) is not None:
        names = [one for one in dir(loaded) if not one.startswith("_")]
        near = did_you_mean(name, names) or " Correct the name, or the module."
        return f"The module {module} must have the name {name}. It does not have it.{near}"
    return f"The module {module} must be one that can be imported. {raised(error)}"


def _modules_beside(absent: str) -> list[str]:
    """Return the modules of the package that was to have a module; of the current folder if it was to be there."""
    package, dot, _ = absent.rpartition(".")
    folders = getattr(sys.modules.get(package), "__path__", []) if dot else [os.getcwd()]
    return [f"{package}{dot}{found.name}" for found in pkgutil.iter_modules(folders)]


def no_space(reference: str, found: Any) -> str:
    """Return the message about something that is no feature space, with those that the module has."""
    module = reference.rpartition(":")[0]
    spaces = [name for name, value in vars(sys.modules[module]).items() if isinstance(value, FeatureSpace)]
    there = f" Did you mean {' or '.join(f'{module}:{name}' for name in spaces[:3])}?" if spaces else ""
    return f"{reference} must be a feature space, a FeatureSpace of features. Got {kind_of(found)}.{there}"


def kind_of(value: object) -> str:
    """Return in words what kind of thing a value is.

    >>> kind_of(len), kind_of(None), kind_of({}), kind_of(0.5)
    ('a function', 'nothing', 'a dictionary', 'a number')
    """
    if value is None:
        return "nothing"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kinds = {
        FunctionType | type(len): "a function",
        ModuleType: "a module",
        str: "a text",
        bytes: "bytes",
        bool | int | float: "a number",
        Mapping: "a dictionary",
    }
    words = next((words for kind, words in kinds.items() if isinstance(value, kind)), type(value).__name__)
    return words if " " in words else f"a {words}"
