"""Rooms, the folders and files at the top of a package, import only from rooms below them, and are parts of a house."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

RUNTIME = ROOT / "runtime" / "polydom_runtime"
BUILDER = ROOT / "builder" / "polydom_builder"

ROOMS = {
    RUNTIME: (
        *("exceptions", "turn", "causes", "clock", "arrays", "files", "frames", "binomial", "tables"),
        *("codec", "findings", "costs", "features", "testing", "stages", "histogram"),
        *("items", "kernels", "trust", "bundles", "device", "policy", "describing", "prediction"),
        *(
            "explaining",
            "learning",
            "predictor",
            "publishing",
            "measuring",
            "diagnosis",
            "records",
            "loop",
            "supervision",
        ),
        *("certification", "boards", "delivery", "commands"),
        *("__main__", "__init__"),
    ),
    BUILDER: (
        *("exceptions", "drawing", "signing", "preselection", "training", "costs", "sets", "lattice", "families"),
        *("index", "simulation", "comparison"),
        *("verification", "bundling", "preparation", "exploration"),
        *("displays", "host_answers", "bundle_search", "search", "greedy_search", "evaluation", "reporting"),
        *("commands", "__main__", "__init__"),
    ),
}
"""The rooms of each package from low to high."""

FILES_AT_THE_TOP = {RUNTIME: 20, BUILDER: 9}

MOST_FLOORS = 12
"""A room stands one floor above the highest one that it imports from."""


@pytest.mark.parametrize("package", ROOMS, ids=lambda package: package.name)
def test_rooms_import_only_downwards(package: Path) -> None:
    height = {room: i for i, room in enumerate(ROOMS[package])}
    upwards = [
        f"{file.relative_to(ROOT)}:{line} imports {target}"
        for file in package.rglob("*.py")
        for line, target in imported_rooms(ast.parse(file.read_text()), file, package)
        if height[target] > height[room_of(file, package)]
    ]

    assert not upwards, "\n".join(upwards)


@pytest.mark.parametrize("package", ROOMS, ids=lambda package: package.name)
def test_every_room_has_its_place_in_the_order(package: Path) -> None:
    assert set(ROOMS[package]) == {room_of(file, package) for file in package.rglob("*.py")}


@pytest.mark.parametrize("package", ROOMS, ids=lambda package: package.name)
def test_rooms_stand_side_by_side_on_few_floors(package: Path) -> None:
    below: dict[str, set[str]] = defaultdict(set)
    for file in package.rglob("*.py"):
        room = room_of(file, package)
        below[room] |= {target for _, target in imported_rooms(ast.parse(file.read_text()), file, package)} - {room}
    floors: dict[str, int] = {}
    for room in TopologicalSorter(below).static_order():
        floors[room] = 1 + max((floors[lower] for lower in below[room]), default=0)

    assert max(floors.values()) <= MOST_FLOORS, sorted(floors, key=floors.__getitem__)


@pytest.mark.parametrize("package", ROOMS, ids=lambda package: package.name)
def test_no_room_has_a_circle(package: Path) -> None:
    """Imports inside functions and for type checkers count too."""
    for room in sorted(entry for entry in package.iterdir() if entry.is_dir()):
        files = list(room.glob("*.py"))
        TopologicalSorter({file.stem: neighbours(file, package) for file in files}).prepare()


def test_no_public_class_has_the_name_of_another_one() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for package in ROOMS:
        for file in package.rglob("*.py"):
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(str(file.relative_to(ROOT)))

    assert not {name: files for name, files in homes.items() if len(files) > 1}


@pytest.mark.parametrize("package", FILES_AT_THE_TOP, ids=lambda package: package.name)
def test_few_files_stand_at_the_top(package: Path) -> None:
    files = [entry.name for entry in package.iterdir() if entry.is_file()]

    assert len(files) <= FILES_AT_THE_TOP[package], files


def test_every_kind_of_import_is_seen() -> None:
    code = """
from . import __version__, bundle
from ..loop import monitor
from ..costs import ZERO
from .. import predictor
import polydom_runtime.items.sources, numpy
from polydom_runtime import Predictor, __version__
import polydom_runtime
if TYPE_CHECKING:
    from polydom_runtime.policy.plan import Plan
def late():
    from polydom_runtime.device import board
"""
    seen = imported_rooms(ast.parse(code), RUNTIME / "bundles" / "index.py", RUNTIME)

    targets = [target for _, target in sorted(seen)]
    top = "__init__"
    assert targets == ["bundles", "bundles", "loop", "costs", "predictor", "items", top, top, "policy", "device"]


def room_of(file: Path, package: Path) -> str:
    """Return the folder or the file at the top of the package that a file belongs to."""
    return file.relative_to(package).with_suffix("").parts[0]


def imported_rooms(tree: ast.Module, file: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Return the line and the room of every import from the same package, also of those inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{module_of(node, file, package)}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            top, _, rest = name.partition(".")
            room = rest.partition(".")[0]
            if top == package.name and room != "__version__":
                yield node.lineno, room if is_room(room, package) else "__init__"


def neighbours(file: Path, package: Path) -> set[str]:
    """Return the files of the same room that a file imports."""
    prefix, found = f"{package.name}.{file.parent.name}", set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            module = module_of(node, file, package)
            names = [f"{module}.{alias.name}" for alias in node.names]
            found |= {name.removeprefix(f"{prefix}.").partition(".")[0] for name in names if name.startswith(prefix)}
    return {name for name in found - {file.stem} if file.with_stem(name).is_file()}


def module_of(node: ast.ImportFrom, file: Path, package: Path) -> str:
    """Return the absolute name of the module that names are imported from."""
    if node.level == 0:
        return node.module or ""
    folder = file.parents[node.level - 1].relative_to(package.parent)
    return ".".join([*folder.parts, *([node.module] if node.module else [])])


def is_room(name: str, package: Path) -> bool:
    """Return whether the package has a folder or file of that name; else it is a name that `__init__` exports."""
    return (name != "" and (package / name).is_dir()) or (package / f"{name}.py").is_file()
