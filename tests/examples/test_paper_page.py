"""The pages on the experiments have the words that the commands print; only the figures are those of long runs."""

import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from examples.deadlines import drift
from examples.paper import scene_table, synthetic_promises, synthetic_table
from examples.paper.results import Row
from examples.paper.synthetic_world import Scale

DOCS = Path(__file__).parents[2] / "docs"
CLAIMS = "| what | the paper | here | remark |"
FACTS = {"python": "3", "numpy": "2", "processor": "any", "seconds": {}}


def section(title: str) -> str:
    """Return the section of the page on the paper with this title."""
    found = re.search(rf"^## {title}\n.*?(?=^## |\Z)", (DOCS / "paper.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found
    return found.group()


def report(module: Any, tables: dict[str, list[Row]], facts: dict[str, Any], patch: pytest.MonkeyPatch) -> str:
    """Return the report without figures, with headings one level deeper, as on the page."""
    patch.setattr(module, "CLAIMS", [replace(claim, here=lambda *_: "–") for claim in module.CLAIMS])
    text = module.as_markdown(tables, FACTS | facts, []).partition("## Figures")[0]
    return re.sub("^#", "##", text, flags=re.MULTILINE)


def words(text: str) -> Iterator[str]:
    """Yield headings, paragraphs, heads of tables and names of rows; of claims, also the paper's result and remark."""
    for block in text.strip().split("\n\n"):
        if block.startswith("| "):
            head, _, *rows = block.splitlines()
            yield head
            for row in rows:
                name, *cells = row[2:-2].split(" | ")
                yield from (name, cells[0], cells[-1]) if head == CLAIMS else (name,)
        elif not block.startswith(("![", "<picture>", "Python ")):
            yield " ".join(block.split())


def test_the_page_has_the_words_of_the_synthetic_report(monkeypatch: pytest.MonkeyPatch) -> None:
    promises = synthetic_promises.measure(Scale(seeds=1, table_features=3, queries=10))
    tables = {"promises": promises, "trainings": [], "index_sizes": [], "lookup_times": [], "accuracy": []}

    printed = report(synthetic_table, tables, {"scale": asdict(Scale())}, monkeypatch)

    assert list(words(section("Synthetic experiments"))) == list(words(printed))


def test_the_page_has_the_words_of_the_report_on_photographs(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {"rounds": 141, "stopped": "time was up after 141 rounds"}
    facts = {"features": range(13), "quantile": 0.99, "measured": measured, "deadline": 0.031}

    printed = report(scene_table, {}, facts, monkeypatch)

    *shown, origin = words(section("Experiments on photographs"))
    assert shown == list(words(printed))
    assert origin.startswith("The photographs are")


def test_the_page_has_the_head_of_the_table_of_slower_devices() -> None:
    assert drift.drift_table([]) in (DOCS / "anytime.md").read_text("utf-8")
