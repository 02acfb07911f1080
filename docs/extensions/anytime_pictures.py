"""The pictures of the any-time results, from the tables of their page.

``python -m docs.extensions.anytime_pictures`` draws them for light and for dark pages. Raw results are not kept in the
repository, so the pictures show the numbers of the tables, which are rounded to a tenth of a point.
"""

import re
from functools import partial
from pathlib import Path

from examples.deadlines.figure import draw
from examples.paper.results import Row
from polydom_builder.drawing.saving import save

DOCS = Path(__file__).parents[1]
TABLE = re.compile(r"^### (\w+), (.*): score (on the test items|as promised).*\n\n((?:\|.*\n)+)", re.MULTILINE)
REGIMES = {"back to back": "hot", "at a period, rehearsed": "rehearsed", "at a period, not rehearsed": "cold"}
KINDS = {"on the test items": "tested", "as promised": "estimated"}
UNITS = {"µs": 1e-6, "ms": 1e-3}
PICTURES = {
    "deadlines_tested": ("tested", "hot"),
    "deadlines_estimated": ("estimated", "hot"),
    "deadlines_estimated_rehearsed": ("estimated", "rehearsed"),
}
"""For each file its score and regime."""


def rows_of(page: str, kind: str, regime: str) -> list[Row]:
    """Return the scores of a kind and a regime, as shares, by task, system and deadline in seconds.

    Raises
    ------
    ValueError
        If the page has no such table.
    """
    rows: list[Row] = []
    for task, when, what, table in TABLE.findall(page):
        if (KINDS[what], REGIMES[when]) != (kind, regime):
            continue
        (_, *systems), _, *lines = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
        )
        for (number, unit), *scores in ((first.split(), *rest) for first, *rest in lines):
            deadline = float(number) * UNITS[unit]
            for system, score in zip(systems, scores, strict=True):
                rows.append({"task": task, "system": system, "deadline": deadline, kind: float(score.split()[0]) / 100})
    if not rows:
        raise ValueError(f"The page must have tables of scores, {kind} and {regime}. Found none. See `TABLE`.")
    return rows


def main() -> None:
    """Draw the pictures; pages show the SVG files."""
    page = (DOCS / "anytime.md").read_text(encoding="utf-8")
    for name, (kind, regime) in PICTURES.items():
        rows = rows_of(page, kind, regime)
        for file in save(partial(draw, rows, kind), DOCS / "anytime" / name):
            if file.suffix == ".png":
                file.unlink()


if __name__ == "__main__":
    main()
