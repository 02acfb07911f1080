"""The figures of ``docs/anytime.md``: the page has marked places, each for the results of one experiment."""

import re
from pathlib import Path

from examples.paper.results import ResultsError

IN_FULL = "## The scores in full"

FILES = {
    "in short": "deadlines.md",
    "in full": "deadlines.md",
    "drift": "drift.md",
    "real": "real.md",
    "loops": "loops.md",
    "certificates": "certificates.md",
    "models": "models.md",
}
"""The file of results for each place; places are marked by ``<!-- begin NAME -->`` and ``<!-- end NAME -->``."""


def fill_page(page: Path, out: Path) -> list[str]:
    """Put the results in a folder into their places on a page; return the names of places without results."""
    text, without = page.read_text(encoding="utf-8"), []
    for name, file in FILES.items():
        if not (out / file).exists():
            without.append(name)
            continue
        text = filled(text, name, _part((out / file).read_text(encoding="utf-8"), name))
    page.write_text(text, encoding="utf-8")
    return without


def _part(results: str, name: str) -> str:
    """Return the part of a file of results that belongs into a place."""
    if name not in ("in short", "in full"):
        return results.strip()
    short, _, full = results.partition("\n" + IN_FULL)
    return short.partition("\n")[2].strip() if name == "in short" else (IN_FULL + full).strip()


def filled(text: str, name: str, part: str) -> str:
    """Return the text of a page with a part in one of its places."""
    place = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not place.search(text):
        raise ResultsError(f"The page must have the place {name!r}. It has none. Mark it with <!-- begin {name} -->.")
    return place.sub(lambda found: f"{found[1]}\n{part}\n\n{found[2]}", text)
