"""The paper's synthetic experiments: raw results first, then the figures and the table that are drawn from them."""

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from . import synthetic_accuracy, synthetic_index, synthetic_promises, synthetic_trainings
from .figures import Draw, save_figures
from .results import Row, load_facts, load_rows, save_facts, save_rows
from .synthetic_table import as_markdown
from .synthetic_world import ALPHA, Scale

FACTS = "synthetic.json"
TABLE = "synthetic.md"

EXPERIMENTS: dict[str, Callable[[Scale], list[Row]]] = {
    "trainings": synthetic_trainings.measure,
    "index_sizes": synthetic_index.measure_sizes,
    "lookup_times": synthetic_index.measure_times,
    "accuracy": synthetic_accuracy.measure,
    "promises": synthetic_promises.measure,
}
"""The experiments by name; each writes a CSV file of its name."""

FIGURES: dict[str, tuple[str, Draw]] = {
    "trainings": ("trainings", partial(synthetic_trainings.draw, alpha=ALPHA)),
    "trainings_alpha_1": ("trainings", partial(synthetic_trainings.draw, alpha=1.0)),
    "index_sizes_all_trained": ("index_sizes", partial(synthetic_index.draw_sizes, selection="all trained")),
    "index_sizes": ("index_sizes", partial(synthetic_index.draw_sizes, selection="kept")),
    "lookup_times": ("lookup_times", partial(synthetic_index.draw_times, alpha=ALPHA)),
    "lookup_times_alpha_1": ("lookup_times", partial(synthetic_index.draw_times, alpha=1.0)),
    "accuracy": ("accuracy", synthetic_accuracy.draw),
    "promises": ("promises", synthetic_promises.draw),
}
"""For each figure the experiment it is drawn from, and how."""


def run_synthetic(out: Path, scale: Scale) -> None:
    """Run all experiments, write raw results, and draw.

    Parameters
    ----------
    out : Path
        Folder for the results, created if it does not exist; files of the same names are replaced.
    scale : Scale
    """
    out.mkdir(parents=True, exist_ok=True)
    seconds = {}
    for name, measure in EXPERIMENTS.items():
        start = time.process_time()
        save_rows(measure(scale), out / f"{name}.csv")
        seconds[name] = round(time.process_time() - start, 1)
        print(f"{name}: {seconds[name]:.0f} s of processor time", file=sys.stderr)
    save_facts({"scale": asdict(scale), "seconds": seconds}, out / FACTS)
    draw_synthetic(out)


def draw_synthetic(out: Path) -> None:
    """Draw figures and table from the raw results in `out`.

    Raises
    ------
    ResultsError
        If raw results are missing.
    """
    tables = {name: load_rows(out / f"{name}.csv") for name in EXPERIMENTS}
    facts = load_facts(out / FACTS)
    save_figures(FIGURES, tables, out)
    (out / TABLE).write_text(as_markdown(tables, facts, list(FIGURES)), encoding="utf-8")
    print(f"{out / TABLE}: the paper's figures beside these; {len(FIGURES)} pictures beside it.")
