"""The page about the architecture names what exists, and its pictures show the imports of the code."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.test_import_order import BUILDER, ROOMS, ROOT, RUNTIME, imported_rooms, room_of

PAGE = (ROOT / "docs" / "architecture.md").read_text()
TEXT = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
PICTURES = dict(zip((RUNTIME, BUILDER), re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL), strict=False))
HOMES = {"runtime": (RUNTIME,), "builder": (BUILDER,), "both": (RUNTIME, BUILDER)}

BASE = "base"
"""The node for the rooms that all others rest on; arrows to it are not drawn one by one."""

Arrows = set[tuple[str, str]]

pictured = pytest.mark.parametrize("package", PICTURES, ids=lambda package: package.name)


def test_every_path_on_the_page_exists() -> None:
    named = set(re.findall(r"`([\w./-]+(?:\.py|\.md|/))`", TEXT))

    assert len(named) > 50
    assert {path for path in named if not any((home / path).exists() for home in (ROOT, RUNTIME, BUILDER))} == set()


def test_every_row_of_the_table_names_files_of_its_package() -> None:
    rows = re.findall(r"^\| (.+) \| (runtime|builder|both) \| (.+) \|$", TEXT, re.MULTILINE)
    missing = [
        f"{what}: {file}"
        for what, package, where in rows
        for file in re.findall(r"`([\w/]+\.py)`", where)
        if not all((home / file).is_file() for home in HOMES[package])
    ]

    assert len(rows) > 30
    assert missing == []


def test_every_name_in_the_table_stands_in_the_file_before_it() -> None:
    rows = re.findall(r"`([\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", TEXT)
    named = [(file, name) for file, names in rows for name in re.findall(r"\w+", names)]

    assert len(named) > 5
    assert [(file, name) for file, name in named if not holds(file, name)] == []


@pictured
def test_every_arrow_of_a_picture_is_an_import(package: Path) -> None:
    drawn = drawn_arrows(package)

    assert len(drawn) > 10
    assert drawn - real_arrows(package) == set()


@pictured
def test_every_import_follows_from_the_arrows_of_a_picture(package: Path) -> None:
    shown = drawn_arrows(package)
    while more := {(a, d) for a, b in shown for c, d in shown if b == c} - shown:
        shown |= more

    assert real_arrows(package) - shown == set()


def holds(file: str, name: str) -> bool:
    """Return whether a file of one of the packages has a name in it."""
    files = [home / file for home in (RUNTIME, BUILDER) if (home / file).is_file()]
    return any(re.search(rf"\b{name}\b", file.read_text()) for file in files)


@cache
def node_of_room(package: Path) -> dict[str, str]:
    """Return the node that shows each room: the first line of its label names rooms, or else the other lines do."""
    nodes: dict[str, str] = {}
    for node, label in re.findall(r'(\w+)\[+"(.+?)"\]', PICTURES[package]):
        first, _, rest = label.partition("<br>")
        rooms = set(ROOMS[package])
        shown = rooms & set(re.findall(r"\w+", first)) or rooms & set(re.findall(r"\w+", rest))
        nodes |= dict.fromkeys(shown, node)
    return nodes


def drawn_arrows(package: Path) -> Arrows:
    nodes = set(node_of_room(package).values())
    arrows = {(a, b) for a, bs in re.findall(r"(\w+) -+> (.+)", PICTURES[package]) for b in bs.split(" & ")}
    return {(a, b) for a, b in arrows if {a, b} <= nodes and b != BASE}


@cache
def real_arrows(package: Path) -> Arrows:
    node = node_of_room(package)
    arrows = {
        (node[room_of(file, package)], node[target])
        for file in package.rglob("*.py")
        if room_of(file, package) in node
        for _, target in imported_rooms(ast.parse(file.read_text()), file, package)
        if target in node
    }
    return {(a, b) for a, b in arrows if a != b and b != BASE}
