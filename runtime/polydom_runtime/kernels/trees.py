"""Trees and sums of trees."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from polydom_runtime.arrays import distinct

from .linear import transform
from .proto import Array
from .tensors import KernelStep, Operator, UnknownModel
from .tree_nodes import TreeNodes, keys_of

FEW_VISITS = 48
"""Up to this number of nodes, visiting them one by one is quicker than numpy's visit to all trees level by level."""


class Trees(NamedTuple):
    """Nodes of all trees side by side, arrays of shape ``(n_nodes,)`` if not said otherwise."""

    roots: Array
    """Shape (n_trees,)."""
    depth: int
    """The most comparisons on a way to a leaf."""
    features: Array
    """The column that a node compares; 0 at leaves."""
    thresholds: Array
    children: Array
    """Shape (n_nodes, 2). Where to go if the column is above the threshold, and if it is not: from a leaf to itself."""

    @classmethod
    def of(cls, step: KernelStep, nodes: TreeNodes) -> "Trees":
        """Read the comparisons of nodes; UnknownModel if one of them is not ``<=``."""
        if not {"LEAF", "BRANCH_LEQ"}.issuperset(step.attributes["nodes_modes"]):
            raise UnknownModel("trees with other comparisons")
        features = step.integer_array("nodes_featureids").astype(np.intp)
        features[nodes.leaves] = 0
        thresholds = np.ascontiguousarray(step.reals("nodes_values", compared=True))
        return cls(nodes.roots, nodes.depth, features, thresholds, nodes.children)

    def leaves_of(self, row: Array) -> Callable[[], Array]:
        """Return a search for the leaf of each tree, by the numbers that a row holds then."""
        if len(self.roots) * self.depth <= FEW_VISITS:
            return self._one_by_one(row)
        roots, features, thresholds, depth = self.roots, self.features, self.thresholds, self.depth
        children, n = self.children.reshape(-1), len(self.roots)
        of_column, limit, value = np.zeros(n, np.intp), np.zeros(n, np.float32), np.zeros(n, np.float32)
        is_below, at = np.zeros(n, np.bool_), np.zeros(n, np.intp)

        def find() -> Array:
            np.copyto(at, roots)
            for _ in range(depth):
                features.take(at, None, of_column, "clip")
                thresholds.take(at, None, limit, "clip")
                row.take(of_column, None, value, "clip")
                np.less_equal(value, limit, is_below)
                np.add(at, at, at)
                np.add(at, is_below, at, casting="unsafe")
                at[:] = children.take(at, None, None, "clip")
            return at

        return find

    def _one_by_one(self, row: Array) -> Callable[[], Array]:
        roots, features, thresholds = self.roots.tolist(), self.features.tolist(), self.thresholds.tolist()
        children, at = self.children.tolist(), np.zeros(len(self.roots), np.intp)

        def find() -> Array:
            values = row.tolist()
            for k, node in enumerate(roots):
                while True:
                    following = children[node][values[features[node]] <= thresholds[node]]
                    if following == node:
                        break
                    node = following
                at[k] = node
            return at

        return find


def _leaf_values(step: KernelStep, kind: str, count: int, nodes: TreeNodes) -> tuple[Array, list[int]]:
    """Return the additions of each node to each class or target, ``(n_nodes, count)``, and the columns in use."""
    columns, weights = step.integer_array(f"{kind}_ids"), step.reals(f"{kind}_weights")
    places = nodes.places(*keys_of(step, kind, ["nodeids"], len(weights)))
    values = step.new((len(nodes.leaves), count))
    values[places, columns] = weights
    return values, distinct(columns).tolist()


def _summed(step: KernelStep, trees: Trees, values: Array) -> Callable[[], Array]:
    """Return the sum of the values of a row's leaves, in the order of the trees, as a function."""
    find = trees.leaves_of(step.array(0).reshape(-1))
    if len(trees.roots) == 1:
        return lambda: np.asarray(values[find()[0]])
    return lambda: np.asarray(np.add.accumulate(values.take(find(), 0, None, "clip"), 0)[-1])


def _regressor(step: KernelStep) -> list[Array]:
    a, count = step.array(0), step.integer("n_targets", 1)
    if count != 1 or step.option("post_transform", "NONE") != "NONE":
        raise UnknownModel("trees of several targets")
    nodes = TreeNodes.of(step, a.size)
    trees, (values, _) = Trees.of(step, nodes), _leaf_values(step, "target", count, nodes)
    base, how = step.reals("base_values"), step.option("aggregate_function", "SUM")
    if how not in ("SUM", "AVERAGE") or len(base) not in (0, count):
        raise UnknownModel(f"trees with {how}")
    summed, out = _summed(step, trees, values), step.new((1, count))
    row, by, more = out.reshape(-1), np.float32(len(trees.roots)), base[0] if len(base) else None

    def compute() -> None:
        sums = summed()
        if how == "AVERAGE":
            sums = sums / by
        row[:] = sums if more is None else sums + more

    step.run(compute)
    return [out]


def _classifier(step: KernelStep) -> list[Array]:
    a, labels = step.array(0), step.integers("classlabels_int64s")
    count = len(labels)
    if count < 2 or "classlabels_strings" in step.attributes:
        raise UnknownModel("trees without two labels that are integers")
    nodes = TreeNodes.of(step, a.size)
    trees, (values, columns) = Trees.of(step, nodes), _leaf_values(step, "class", count, nodes)
    base = step.reals("base_values")
    out, label = step.new((1, count)), step.new((1,), np.int64)
    scores, summed = out.reshape(-1), _summed(step, trees, values)
    if count == 2:
        # Of these, onnxruntime does not choose the one with the larger score.
        if columns != [0] or len(base) > 1:
            raise UnknownModel("weights or base values of the second of two classes")
        _of_two(step, summed, label, scores, labels, base)
        return [label, out]
    if len(base) not in (0, count):
        raise UnknownModel("base values for some classes")
    if not len(base) and not _scores_all(step, values, nodes):
        raise UnknownModel("leaves that give some classes no score")  # onnxruntime does not choose those
    more = base if len(base) else np.zeros(count, np.float32)
    step.run(lambda: np.add(summed(), more, scores))
    step.run(lambda: label.fill(labels[scores.argmax()]))
    if step.wanted[1]:
        transform(step, out, step.option("post_transform", "NONE"))
    return [label, out]


def _scores_all(step: KernelStep, values: Array, nodes: TreeNodes) -> bool:
    """Tell whether a class without a score never has the largest sum: all weights are above 0, or none is without."""
    weights = step.reals("class_weights")
    if (weights > 0.0).all():
        return True
    scored = np.zeros(values.shape, dtype=bool)
    scored[nodes.places(*keys_of(step, "class", ["nodeids"], len(weights))), step.integer_array("class_ids")] = True
    scored |= ~nodes.leaves[:, None]
    return bool(np.logical_and.reduceat(scored, nodes.roots).any(axis=0).all())


def _of_two(
    step: KernelStep,
    summed: Callable[[], Array],
    label: Array,
    scores: Array,
    labels: list[int],
    base: Array,
) -> None:
    """Two classes that share one score, which files give to the first one and which is of the second one."""
    weights = step.reals("class_weights")
    is_share = bool((weights >= 0.0).all())
    limit, more = (0.5 if is_share else 0.0), float(base[0]) if len(base) else 0.0
    kind = step.option("post_transform", "NONE")

    def compute() -> None:
        score = summed()[0] + np.float32(more)
        label.fill(labels[bool(score > limit)])
        scores[1] = score
        scores[0] = np.float32(1.0) - score if is_share else -score

    step.run(compute)
    if step.wanted[1]:
        if kind == "SOFTMAX" or (is_share and kind == "LOGISTIC"):
            raise UnknownModel(f"the transform {kind} of one score for two classes")
        transform(step, scores, kind)


OPERATORS: Mapping[str, Operator] = {
    "ai.onnx.ml.TreeEnsembleRegressor": _regressor,
    "ai.onnx.ml.TreeEnsembleClassifier": _classifier,
}
