"""Models in numpy against onnxruntime: back to back, after other work, and after a sleep."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from polydom_builder.training.onnx import to_onnx
from polydom_runtime.bundles.engines import ENGINES, InputRow, load_model

from .ratios import note

WIDTH, N_CLASSES, ASLEEP = 12, 6, 0.005
ROUNDS: Mapping[str, int] = {"back to back": 1000, "after other work": 300, "after a sleep": 100}

MODELS: Mapping[str, tuple[Any, str]] = {
    "logistic regression": (make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)), "<= 0.3"),
    "network 64-64": (make_pipeline(StandardScaler(), MLPClassifier((64, 64), max_iter=100)), "<= 0.6"),
    "SVC": (make_pipeline(StandardScaler(), SVC()), "<= 0.6"),
    "neighbours": (KNeighborsClassifier(), ""),
    "naive Bayes": (GaussianNB(), ""),
    "tree": (DecisionTreeClassifier(max_depth=8), ""),
    "forest of 50": (RandomForestClassifier(50, max_depth=8), ""),
    "forest of 200": (RandomForestClassifier(200, max_depth=8), ""),
    "gradient boosting": (GradientBoostingClassifier(n_estimators=20), ""),
    "ridge regression": (make_pipeline(StandardScaler(), Ridge()), ""),
}


def main() -> None:
    """Print the medians and their ratios."""
    print(f"{'median µs in numpy / in onnxruntime':36}" + "".join(f"{way:>26}" for way in ROUNDS))
    for name, (model, target) in MODELS.items():
        cells = []
        for way, (ours, theirs) in timed(model).items():
            cells.append(f"{ours:8.1f} / {theirs:6.1f} = {ours / theirs:4.2f}")
            note(f"{name} {way}, numpy against onnxruntime", ours / theirs, target if way == "after other work" else "")
        print(f"{name:36}" + "".join(f"{cell:>26}" for cell in cells) + f"  {target and f'(after work {target})'}")


def timed(model: Any) -> dict[str, tuple[float, float]]:
    """Return the median microseconds of both engines in each way, taken in turns."""
    classifies = hasattr(model, "classes_") or not isinstance(getattr(model, "steps", [[0, model]])[-1][1], Ridge)
    if classifies:
        rows, targets = make_classification(1000, WIDTH, n_informative=8, n_classes=N_CLASSES, random_state=0)
    else:
        rows, targets = make_regression(1000, WIDTH, random_state=0)
    rows = rows.astype(np.float32)
    data, count = to_onnx(model.fit(rows, targets), WIDTH), N_CLASSES if classifies else 0
    inputs = [InputRow(WIDTH) for _ in ENGINES]
    runs = [load_model(engine, data, row, WIDTH, count) for engine, row in zip(ENGINES, inputs, strict=True)]
    other = np.random.default_rng(0).normal(size=1 << 19)
    before: dict[str, Callable[[], object]] = {
        "back to back": lambda: None,
        "after other work": lambda: np.sort(np.abs(np.fft.rfft(other[: 1 << 14]))).sum() + other.sum(),
        "after a sleep": lambda: time.sleep(ASLEEP),
    }
    found = {}
    for way, count_of in ROUNDS.items():
        times: list[list[int]] = [[], []]
        for k in range(count_of):
            for run, row, mine in zip(runs, inputs, times, strict=True):
                row.values[:] = rows[k % len(rows)]
                before[way]()
                if way == "back to back":
                    run()
                start = time.perf_counter_ns()
                run()
                mine.append(time.perf_counter_ns() - start)
        theirs, ours = (float(np.median(mine)) * 1e-3 for mine in times)
        found[way] = ours, theirs
    return found


if __name__ == "__main__":
    main()
