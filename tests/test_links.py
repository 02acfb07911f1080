"""Links of the pages lead to files and headings that exist."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", ".github/*.md", "docs/**/*.md", "runtime/*.md", "builder/*.md", "examples/**/*.md")
    for page in ROOT.glob(pattern)
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(page))

    assert [target for target in targets if "://" not in target and not leads(page, target)] == []


def leads(page: Path, target: str) -> bool:
    path, _, heading = target.partition("#")
    file = page.parent / path if path else page
    return file.exists() and (not heading or heading in headings(file))


@cache
def headings(page: Path) -> set[str]:
    """Return the headings as in links: without marks, in lower case, with hyphens for spaces."""
    lines = re.findall(r"^#+ (.*)$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def without_code(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
