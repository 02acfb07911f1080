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

BASE = "base"
"""The node for the rooms that all others rest on; arrows to it are not drawn one by one."""

Arrows = set[tuple[str, str]]

pictured = pytest.mark.parametrize("package", PICTURES, ids=lambda package: package.name)


def test_every_path_on_the_pages_exists() -> None:
    text = TEXT + (ROOT / "docs" / "decisions.md").read_text()
    named = set(re.findall(r"`([\w./-]+(?:\.py|\.md|/))`", text))

    assert len(named) > 20
    assert {path for path in named if not any((home / path).exists() for home in (ROOT, RUNTIME, BUILDER))} == set()


def test_every_room_has_its_words() -> None:
    told = {bold or room for bold, room in re.findall(r"\*\*(\w+)\*\*|`(\w+)/`", TEXT)}
    rooms = {room for package in ROOMS for room in ROOMS[package] if (package / room).is_dir()}

    assert rooms - told == set()


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
