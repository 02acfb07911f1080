"""A hash of code and of the values that it was made with: equal on host and node if the features are equal.

Seen are the modules of the code and all modules that these import; all arguments of a `functools.partial`; and of what
else a function holds (defaults, closures, globals that it reads, attributes of its object) the numbers, texts, tuples
and functions. Comments and empty lines do not count. Not seen are lists, dictionaries and arrays that a function holds,
since they may be its memory for work, and files that it reads, such as a table: after a change of these, measure and
build again with a new cache. Of installed packages only the names count.

An attribute of an object does not count either if work changes it: if its name begins with an underscore, or one of the
methods of the object, a function that holds it, or a function that these call by name stores to that name. An attribute
that other code sets counts, and must be the same in each build.
"""

import ast
import dis
import hashlib
import io
import sys
import sysconfig
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache, cached_property, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from polydom_runtime.features import FeatureSpace

PYTHON_FOLDERS = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
OUR_PACKAGE = __name__.partition(".")[0]
MAKERS = ("__init__", "__new__", "__post_init__", "__setstate__")
PLAIN_TYPES = (bool, int, float, complex, str, bytes, type(None))

FINGERPRINT_VERSION = "2:"
"""Stands in front of a fingerprint. Fingerprints of another version cannot be compared."""

Feed = Callable[[bytes], object]


def source_fingerprint(space: FeatureSpace) -> str:
    """Return a hash of a space, of its source code and of the values in it, so that edited features are noticed."""
    functions = [space.size, *(f.extract for f in space.features), *(s.compute for s in space.steps)]
    return code_fingerprint([(space.names, space.widths), *functions])


def code_fingerprint(values: Iterable[Any]) -> str:
    """Return a hash of functions, objects with methods and plain values, and of the code behind them."""
    digest, modules, seen = hashlib.sha256(), dict[str, Path](), set[str]()
    waiting: list[ModuleType] = []
    for value in values:
        _feed_value(digest.update, value, waiting, {})
    while waiting:
        module = waiting.pop()
        if module.__name__ in seen:
            continue
        seen.add(module.__name__)
        file = getattr(module, "__file__", None)
        if file is None or _is_installed(module):
            continue
        modules[module.__name__] = Path(file)
        # A package also has its modules as attributes, whoever imported them.
        parts = f"{module.__name__}."
        used = [found for value in vars(module).values() if (found := module_of(value))]
        waiting += [found for found in used if not found.__name__.startswith(parts)]
        waiting += _imported(module, Path(file))
    for _, file in sorted(modules.items()):
        digest.update(_without_comments(file.read_bytes()))
    return FINGERPRINT_VERSION + digest.hexdigest()


def module_of(value: object) -> ModuleType | None:
    """Return the value itself if it is a module, else the module that defines it; None if that is unknown."""
    return value if isinstance(value, ModuleType) else sys.modules.get(str(getattr(value, "__module__", None)))


def _feed_value(
    feed: Feed, value: Any, modules: list[ModuleType], seen: dict[int, Any], holders: tuple[Any, ...] = ()
) -> None:
    """Feed a value into a digest, and list the modules of its code; `holders` are the functions that work with it."""
    if id(value) in seen:
        return
    if not isinstance(value, PLAIN_TYPES):
        seen[id(value)] = value  # which keeps it, so that no other one gets its number
    if (module := module_of(value)) is not None:
        modules.append(module)
    inner: Iterable[Any] = ()
    if isinstance(value, PLAIN_TYPES):
        feed(repr(value).encode())
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        feed(repr((value.dtype.str, value.shape)).encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, FunctionType):
        feed(value.__qualname__.encode())
        inner = () if module and _is_installed(module) else _parts_of(feed, value)
        holders = (*holders, value)
    elif isinstance(value, partial):
        inner = (value.func, value.args, value.keywords)
        holders = (*holders, value.func)
    elif isinstance(value, MethodType):
        inner = (value.__func__, value.__self__)
    elif isinstance(value, Mapping):
        inner = [part for pair in value.items() for part in pair]
    elif isinstance(value, list | tuple):
        inner = value
    elif isinstance(value, set | frozenset):
        inner = sorted(value, key=repr)
    elif isinstance(value, type) and module and not _is_installed(module):
        feed(value.__qualname__.encode())
        inner = [part for part in vars(value).values() if isinstance(part, FunctionType)]
    elif isinstance(value, np.generic | np.dtype | Enum):
        feed(repr(value).encode())
    elif module and not _is_installed(module):
        holders = (*holders, *_methods(type(value)))
        inner = (type(value), *_attributes(value, holders))
    else:
        feed(str(getattr(value, "__qualname__", "")).encode())
    feed(f"{type(value).__qualname__}(".encode())
    for part in inner:
        _feed_value(feed, part, modules, seen, holders)
    feed(b")")


def _parts_of(feed: Feed, function: FunctionType) -> Iterator[Any]:
    """Feed the code of a function that has no file; yield the values that it works with."""
    codes = [*_codes(function.__code__)]
    if not Path(function.__code__.co_filename).is_file():
        for code in codes:
            feed(code.co_code)
            yield tuple(constant for constant in code.co_consts if not isinstance(constant, CodeType))
    held = [*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]
    written = _written("STORE_DEREF", codes)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    held += [_content(cell) for name, cell in cells if name not in written]
    for name in sorted({name for code in codes for name in code.co_names} - _written("STORE_GLOBAL", codes)):
        value = function.__globals__.get(name)
        held += [(name, value)] if value is not None and isinstance(value, (*PLAIN_TYPES, tuple)) else []
    yield from filter(_is_fixed, held)


def _attributes(value: object, holders: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object that no function that works with it changes, as far as they are fixed."""
    kinds = _own_kinds(type(value))
    names = {*getattr(value, "__dict__", ()), *(n for kind in kinds for n in getattr(kind, "__slots__", ()))}
    computed = {n for kind in kinds for n, part in vars(kind).items() if isinstance(part, cached_property)}
    for name in sorted(names - computed - _changed(_reached(holders))):
        if name[:1] != "_" and _is_fixed(held := getattr(value, name, None)):
            yield name, held


def _own_kinds(kind: type) -> list[type]:
    """Return a class and its bases without those of installed packages."""
    return [base for base in kind.__mro__ if (module := module_of(base)) and not _is_installed(module)]


def _methods(kind: type) -> Iterator[FunctionType]:
    """Yield the functions of a class that run after an object is made, also those in properties and decorators."""
    for base in _own_kinds(kind):
        for part in (part for name, part in vars(base).items() if name not in MAKERS):
            inner = (getattr(part, name, None) for name in ("fget", "func", "__wrapped__"))
            yield from (function for function in (part, *inner) if isinstance(function, FunctionType))


def _reached(functions: Iterable[Any]) -> list[CodeType]:
    """Return the code of functions, and of those of the user's modules that they call by name."""
    waiting, found = [f for f in functions if isinstance(f, FunctionType)], dict[FunctionType, list[CodeType]]()
    while waiting:
        function = waiting.pop()
        if function in found or ((module := module_of(function)) and _is_installed(module)):
            continue
        found[function] = codes = [*_codes(function.__code__)]
        names = {name for code in codes for name in code.co_names}
        read = [function.__globals__[name] for name in names & function.__globals__.keys()]
        read += [part for held in read if isinstance(held, ModuleType) for n, part in vars(held).items() if n in names]
        waiting += [part for part in read if isinstance(part, FunctionType)]
    return [code for codes in found.values() for code in codes]


def _changed(codes: Iterable[CodeType]) -> set[str]:
    """Return the names of the attributes that some code stores to, also by ``setattr``, ``vars`` or ``__dict__``."""
    names = _written("STORE_ATTR", codes)
    for code in codes:
        if not {"setattr", "__setattr__", "vars", "__dict__"}.isdisjoint(code.co_names):
            constants = [c for const in code.co_consts for c in (const if isinstance(const, tuple) else [const])]
            names |= {constant for constant in constants if isinstance(constant, str)}
    return names


def _written(operation: str, codes: Iterable[CodeType]) -> set[str]:
    """Return the names that some code stores to: what is there changes with time."""
    return {i.argval for code in codes for i in dis.get_instructions(code) if i.opname == operation}


def _is_fixed(value: object) -> bool:
    return not isinstance(value, list | dict | set | bytearray | np.ndarray)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _imported(module: ModuleType, file: Path) -> Iterator[ModuleType]:
    """Yield the modules that the source of a module imports, as far as they are loaded, and their packages."""
    names = _names_imported(file.read_bytes(), module.__package__ or "") if file.suffix == ".py" else ()
    for name in (module.__name__, *names):
        parts = name.split(".")
        for k in range(1, len(parts) + 1):
            if (found := sys.modules.get(".".join(parts[:k]))) is not None:
                yield found


@cache
def _names_imported(source: bytes, package: str) -> tuple[str, ...]:
    """Return the names that a source imports; cached, since a build asks for each module several times."""
    names, inside = list[str](), package.split(".")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = inside[: len(inside) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(names)


@cache
def _without_comments(source: bytes) -> bytes:
    """Return Python source without comments, empty lines and spaces at the ends of lines; other files as they are."""
    try:
        lines = io.StringIO(source.decode()).readlines()
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column] + "\n"
    except (UnicodeDecodeError, SyntaxError, tokenize.TokenError):
        return source
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()


def _is_installed(module: ModuleType) -> bool:
    """Tell whether a module is part of Python, of this package, or of another installed package."""
    name, file = module.__name__, getattr(module, "__file__", None)
    top = name.partition(".")[0]
    if top == OUR_PACKAGE or top in sys.stdlib_module_names or file is None:
        return top != "__main__"
    depth = name.count(".") + (Path(file).name == "__init__.py")
    return _holds_installed_packages(Path(file).parents[depth])


@cache
def _holds_installed_packages(folder: Path) -> bool:
    return folder in PYTHON_FOLDERS or any(folder.glob("*.dist-info"))
