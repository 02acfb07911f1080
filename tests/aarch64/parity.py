"""Everything that bundles decide and answer, as JSON, to be compared between machines; needs what a node has.

Usage: python -m tests.aarch64.parity ITEMS.npz BUNDLE...
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polydom_runtime import Bundle, Predictor, Seams, load_bundle
from polydom_runtime.bundles.engines import InputRow, load_model
from polydom_runtime.items.packed import read_packed
from polydom_runtime.testing import ManualClock

from .signals import space

BUDGETS = [k / 100_000 for k in range(1, 61)]
DEADLINES = BUDGETS[4::5]


def choices(bundle: Bundle) -> Iterator[tuple[str, object]]:
    """Yield the index's choice for each (n, c): sizes inside and outside of its range, and all at which it changes."""
    ends = [n for interval in bundle.stored.intervals for n in (interval.start, interval.end)]
    for n in sorted({*ends, *map(float, range(1, 2400, 40))}):
        for c in BUDGETS:
            yield f"n={n!r} c={c!r}", bundle.index.best(n, c).features


def staircases(bundle: Bundle) -> Iterator[tuple[str, object]]:
    """Yield the steps of the staircase at each deadline.

    Their ends are compared to 12 digits, since the logarithm of the C libraries may differ in the last.
    """
    for c in DEADLINES:
        for k, (end, candidate) in enumerate(bundle.index.at_deadline(c).steps):
            yield f"deadline={c!r} step={k}", (f"{end:.12g}", candidate.features)


def labels(bundle: Bundle, items: Sequence[Any]) -> Iterator[tuple[str, object]]:
    """Yield the label of every model for every item, whatever it costs."""
    rows = [space.extract_all(item) for item in items]
    for number, entry in enumerate(bundle.models):
        columns = np.concatenate([np.arange(sum(space.widths))[space.column_slices()[i]] for i in entry.order])
        row = InputRow(len(columns))
        run = load_model(entry.engine, bundle.model_bytes(number), row, len(columns), len(bundle.space.classes))
        for k, values in enumerate(rows):
            row.values[:] = values[columns]
            yield f"model={entry.order} item={k}", bundle.space.classes[int(run())]


def answers(bundle: Bundle, items: Sequence[Any]) -> Iterator[tuple[str, object]]:
    """Yield what the predictor answers while time stands still, so that every answer is the planned one."""
    for c in DEADLINES:
        predictor = Predictor(bundle, space, deadline=c, seams=Seams(clock=ManualClock()))
        for k, item in enumerate(items):
            answer = predictor.predict_one(item)
            yield f"deadline={c!r} item={k}", (answer.label, answer.features, answer.reason)


def main(items_file: str, *folders: str) -> None:
    """Print {kind: {bundle and question: answer}}."""
    items = read_packed(items_file).items
    found: defaultdict[str, dict[str, object]] = defaultdict(dict)
    for folder in map(Path, folders):
        bundle = load_bundle(folder)
        for kind, pairs in (
            ("choices", choices(bundle)),
            ("staircase steps", staircases(bundle)),
            ("labels", labels(bundle, items)),
            ("answers", answers(bundle, items)),
        ):
            found[kind] |= {f"{folder.stem}: {question}": answer for question, answer in pairs}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
