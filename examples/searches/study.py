"""The whole study: every part on every task, tables and pictures."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from examples.deadlines.markdown import rows_as_table
from examples.deadlines.page import filled
from examples.deadlines.tasks import chosen_loaders
from examples.paper.results import Row, load_rows, save_rows, where
from polydom_builder.drawing.saving import save

from . import abstention, confidence, estimators, figures, memory, progress, stated, trainings
from .setting import Setting

PARTS: dict[str, ModuleType] = {
    "trainings": trainings,
    "progress": progress,
    "stated": stated,
    "confidence": confidence,
    "abstention": abstention,
    "estimators": estimators,
    "memory": memory,
}
FEW = {"estimators": ("bearings", "patches"), "memory": ("patches",)}
"""Parts that are made for some tasks only, unless tasks are named."""

PICTURES: dict[str, Callable[[list[Row]], Any]] = {
    "reliability": figures.draw_reliabilities,
    "risk": figures.draw_risk_curves,
}


def run_study(
    data: Path | None, out: Path, parts: Sequence[str] = (), names: Sequence[str] = (), *, quick: bool = False
) -> None:
    """Make each part for each task, write a CSV file for each part, and draw.

    `data`: holds one folder for each data set. `out`: folder for the results; it keeps times, features and scores too.
    Results in the CSV files are not made again. `parts`, `names`: names of parts and of tasks; all if empty. `quick`:
    use few items and short measurements, in the folder ``quick`` inside `out`.
    """
    out = out / "quick" if quick else out
    out.mkdir(parents=True, exist_ok=True)
    for load in chosen_loaders(names, quick):
        setting = Setting.of(load(data or Path()), out, quick)
        for part in parts or PARTS:
            file, task = out / f"{part}.csv", setting.task.name
            if where(_kept(file), task=task) or not (names or task in FEW.get(part, (task,))):
                continue
            rows = PARTS[part].rows(setting)
            save_rows(_kept(file) + rows, file)  # read again: other runs may have added rows meanwhile
            print(f"{setting.task.name}: {part} is done; see {file}", flush=True)
    if (out / "confidence.csv").exists():
        draw(out)


def _kept(file: Path) -> list[Row]:
    return load_rows(file) if file.exists() else []


def draw(out: Path) -> None:
    """Draw the pictures from the raw results in a folder."""
    rows = load_rows(out / "confidence.csv")
    for name, picture in PICTURES.items():
        save(partial(picture, rows), out / name)


def fill_page(page: Path, out: Path) -> None:
    """Put the words and the table of each part into its place on a page."""
    text = page.read_text(encoding="utf-8")
    for name, part in PARTS.items():
        rows = load_rows(out / f"{name}.csv")
        text = filled(text, name, f"{part.WORDS}\n\n{rows_as_table(getattr(part, 'in_short', list)(rows))}")
    page.write_text(text, encoding="utf-8")
