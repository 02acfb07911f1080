"""Answers of models in numpy against those of onnxruntime, on very many rows: random ones, and ones near thresholds."""

import numpy as np
from numpy.typing import NDArray

from polydom_builder.training.onnx import OnnxModel
from polydom_runtime.bundles.engines import InputRow
from polydom_runtime.kernels.graph import Graph
from polydom_runtime.kernels.kernel import Kernel
from tests.builder.training.estimator_zoo import CLASSIFIERS, REGRESSORS, WIDTH, exported, items

from .ratios import note

N_ROWS = 100_000
Rows = NDArray[np.float32]


def main() -> None:
    """Print how many answers differ, and by how much numbers of regressors differ at most."""
    print(f"{'of 100,000 rows each':40}{'random':>12}{'near':>12}")
    for name, n_classes in [*((n, k) for n in CLASSIFIERS for k in (2, 3)), *((n, 0) for n in REGRESSORS)]:
        data = exported(name, n_classes)
        found = [difference(data, rows, n_classes) for rows in (random_rows(), near_rows(data, n_classes))]
        kind = f"{n_classes} classes" if n_classes else "regression"
        print(f"{f'{name}, {kind}':40}" + "".join(f"{value:>12.3g}" for value in found), flush=True)
        for value, where in zip(found, ("random rows", "rows near thresholds"), strict=True):
            note(f"{name}, {kind}: difference on {where}", value, "<= 1e-5" if n_classes == 0 else "0")


def difference(data: bytes, rows: Rows, n_classes: int) -> float:
    """Return the number of different labels, or the largest difference of numbers as a share of the largest one."""
    row, ours = InputRow(WIDTH), np.empty(len(rows))
    kernel, values = Kernel(data, row, WIDTH, n_classes), row.values
    for k, numbers in enumerate(rows):
        values[:] = numbers
        ours[k] = kernel()
    theirs = OnnxModel(data, n_classes > 0).predict(rows)
    if n_classes:
        return float((ours != theirs).sum())
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def random_rows() -> Rows:
    """Return rows that are spread more widely than those of the training."""
    return 2.0 * np.random.default_rng(7).normal(size=(N_ROWS, WIDTH)).astype(np.float32)


def near_rows(data: bytes, n_classes: int) -> Rows:
    """Return rows with one number on a threshold of a tree or right beside it; of other models, between two rows."""
    rng, rows = np.random.default_rng(8), items(n_classes)[0]
    one, other = (rows[rng.integers(len(rows), size=N_ROWS)] for _ in range(2))
    nodes = [node.attributes for node in Graph.read(data).nodes if "nodes_values" in node.attributes]
    if not nodes:
        share = rng.random((N_ROWS, 1))
        return (share * one + (1.0 - share) * other).astype(np.float32)
    columns, limits = (
        np.concatenate([np.asarray(n[part]) for n in nodes]) for part in ("nodes_featureids", "nodes_values")
    )
    chosen = rng.integers(len(columns), size=N_ROWS)
    towards = rng.choice(np.array([-np.inf, 0.0, np.inf], dtype=np.float32), N_ROWS)
    limit = limits[chosen].astype(np.float32)
    beside = np.where(towards == 0.0, limit, np.nextafter(limit, towards))
    one[np.arange(N_ROWS), columns[chosen]] = beside
    return one


if __name__ == "__main__":
    main()
