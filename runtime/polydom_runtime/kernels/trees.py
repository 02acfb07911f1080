"""Trees and sums of trees."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import ne

import numpy as np

from .arithmetic import Operator
from .graph import Array
from .linear import transform
from .tensors import Step, UnknownModel
from .wire import unsound

FEW_VISITS = 48
"""So many nodes are visited one by one in less time than numpy takes to visit all trees level by level."""

MAX_DEPTH = 512


@dataclass(frozen=True, slots=True)
class Trees:
    """Nodes of all trees side by side.

    Attributes
    ----------
    roots : int array of shape (n_trees,)
    depth : int
        The most comparisons on a way to a leaf.
    features : int array of shape (n_nodes,)
        The column that a node compares; 0 at leaves.
    thresholds : float32 array of shape (n_nodes,)
    children : int array of shape (n_nodes, 2)
        Where to go if the column is above the threshold, and if it is not. A leaf leads to itself.
    """

    roots: Array
    depth: int
    features: Array
    thresholds: Array
    children: Array

    @classmethod
    def of(cls, step: Step, width: int) -> tuple["Trees", Mapping[tuple[int, int], int]]:
        """Read the trees of a node; also return the place of each (tree, node).

        Raises
        ------
        UnknownModel
            If a comparison is not ``<=``, a threshold has float64, or the nodes of a tree are not side by side.
        BundleFormatError
            If they are no trees, or read a column that does not exist.
        """
        if "nodes_values_as_tensor" in step.attributes:
            raise UnknownModel("trees of float64 numbers")
        trees = step.integers("nodes_treeids")
        count = len(trees)
        nodes = step.integers("nodes_nodeids", count)
        features = np.array(step.integers("nodes_featureids", count), dtype=np.intp)
        thresholds = step.reals("nodes_values", count)
        modes = step.attributes.get("nodes_modes", [])
        yes, no = (step.integers(f"nodes_{side}nodeids", count) for side in ("true", "false"))
        places = {key: k for k, key in enumerate(zip(trees, nodes, strict=True))}
        if not count or len(places) != count or not isinstance(modes, list) or len(modes) != count:
            raise unsound("different nodes with a mode each", "others")
        leaves = np.array([mode == "LEAF" for mode in modes])
        if not all(mode in ("LEAF", "BRANCH_LEQ") for mode in modes):
            raise UnknownModel("trees with other comparisons")
        if ((features < 0) | (features >= width))[~leaves].any():
            raise unsound(f"columns below {width}", str(features.max()))
        children = np.tile(np.arange(count)[:, None], (1, 2))
        for k in np.flatnonzero(~leaves).tolist():
            for side, following in enumerate((no[k], yes[k])):
                place = places.get((trees[k], following))
                if place is None:
                    raise unsound("children in the same tree", f"node {following}")
                children[k, side] = place
        first = _first_of_each(trees, nodes)
        if len(first) != 1 + sum(map(ne, trees, trees[1:])):
            raise UnknownModel("trees whose nodes are mixed")  # to onnxruntime, they are more trees
        roots = np.array([places[key] for key in first], dtype=np.intp)
        depth = _depth(roots, children, leaves)
        features[leaves] = 0
        return cls(roots, depth, features, np.ascontiguousarray(thresholds), children), places

    @property
    def n_leaves(self) -> int:
        """The number of leaves of all trees."""
        return int((self.children[:, 0] == np.arange(len(self.children))).sum())

    def leaves_of(self, row: Array) -> Callable[[], Array]:
        """Return what finds the leaf of each tree for the numbers that a row holds then."""
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


def _first_of_each(trees: list[int], nodes: list[int]) -> list[tuple[int, int]]:
    """Return the first node of each tree: its root."""
    first: dict[int, int] = {}
    for tree, node in zip(trees, nodes, strict=True):
        first.setdefault(tree, node)
    return list(first.items())


def _depth(roots: Array, children: Array, leaves: Array) -> int:
    """Return the depth of the deepest tree.

    Raises
    ------
    BundleFormatError
        If a node is reached twice, or the trees are too deep: then they are no trees.
    """
    seen = np.zeros(len(children), dtype=bool)
    level, depth = roots, 0
    while True:
        if seen[level].any() or len(np.unique(level)) != len(level) or depth > MAX_DEPTH:
            raise unsound(f"trees of depth {MAX_DEPTH} at most", "nodes with two ways to them")
        seen[level] = True
        level = children[level[~leaves[level]]].reshape(-1)
        if not len(level):
            return depth
        depth += 1


def _leaf_values(
    step: Step, kind: str, count: int, places: Mapping[tuple[int, int], int], n_nodes: int
) -> tuple[Array, list[int]]:
    """Return what each node adds to each class or target, shape ``(n_nodes, count)``, and the columns that are used."""
    trees = step.integers(f"{kind}_treeids")
    nodes = step.integers(f"{kind}_nodeids", len(trees))
    columns, weights = step.integers(f"{kind}_ids", len(trees)), step.reals(f"{kind}_weights", len(trees))
    values = step.new((n_nodes, count))
    filled = set()
    for tree, node, column, weight in zip(trees, nodes, columns, weights.tolist(), strict=True):
        place = places.get((tree, node))
        if place is None or not 0 <= column < count or (place, column) in filled:
            raise unsound("a leaf and a column for each weight", f"node {node}, column {column}")
        filled.add((place, column))
        values[place, column] = weight
    return values, sorted(set(columns))


def _summed(step: Step, trees: Trees, values: Array) -> Callable[[], Array]:
    """Return what sums the values of the leaves of a row, in the order of the trees."""
    find = trees.leaves_of(step.array(0).reshape(-1))
    if len(trees.roots) == 1:
        return lambda: np.asarray(values[find()[0]])
    return lambda: np.asarray(np.add.accumulate(values.take(find(), 0, None, "clip"), 0)[-1])


def _regressor(step: Step) -> list[Array]:
    a, count = step.array(0), step.integer("n_targets", 1)
    if count != 1 or step.option("post_transform", "NONE") != "NONE":
        raise UnknownModel("trees of several targets")
    trees, places = Trees.of(step, a.size)
    values, _ = _leaf_values(step, "target", count, places, len(trees.features))
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


def _classifier(step: Step) -> list[Array]:
    a, labels = step.array(0), step.integers("classlabels_int64s")
    count = len(labels)
    if count < 2 or "classlabels_strings" in step.attributes:
        raise UnknownModel("trees without two labels that are integers")
    trees, places = Trees.of(step, a.size)
    values, columns = _leaf_values(step, "class", count, places, len(trees.features))
    base = step.reals("base_values")
    out, label = step.new((1, count)), step.new((1,), np.int64)
    scores, summed = out.reshape(-1), _summed(step, trees, values)
    if count == 2 and len(columns) == 1:
        if len(base) > 1:
            raise UnknownModel("two classes with one score and two base values")
        _of_two(step, summed, label, scores, labels, columns[0], base)
    else:
        if len(base) not in (0, count):
            raise UnknownModel("base values for some classes")
        if count == 2 and len(step.integers("class_ids")) != 2 * trees.n_leaves:
            raise UnknownModel("leaves that know one of two classes only")  # onnxruntime decides them by other rules
        more = base if len(base) else np.zeros(count, np.float32)
        step.run(lambda: np.add(summed(), more, scores))
        if count == 2:
            step.run(lambda: label.fill(labels[bool(scores[1] > scores[0])]))
        else:
            step.run(lambda: label.fill(labels[scores.argmax()]))
        if step.wanted[1]:
            transform(step, out, step.option("post_transform", "NONE"))
    return [label, out]


def _of_two(
    step: Step,
    summed: Callable[[], Array],
    label: Array,
    scores: Array,
    labels: list[int],
    column: int,
    base: Array,
) -> None:
    """Two classes that share one score: of the second class, or minus that of the first one."""
    weights = step.reals("class_weights")
    is_share = bool((weights >= 0.0).all())
    limit, more = (0.5 if is_share else 0.0), float(base[0]) if len(base) else 0.0
    kind = step.option("post_transform", "NONE")

    def compute() -> None:
        score = summed()[column] + np.float32(more)
        label.fill(labels[bool(score > limit)])
        scores[1] = score
        scores[0] = np.float32(1.0) - score if is_share else -score

    step.run(compute)
    if step.wanted[1]:
        if kind == "LOGISTIC" and is_share:
            raise UnknownModel("a logistic transform of shares")
        transform(step, scores, kind)


TREES: Mapping[str, Operator] = {
    "ai.onnx.ml.TreeEnsembleRegressor": _regressor,
    "ai.onnx.ml.TreeEnsembleClassifier": _classifier,
}
"""The operators by their names."""
