"""Nodes of trees, checked to be trees: then every way ends at a leaf, and no column is read that does not exist."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .graph import Typed
from .proto import MODES, Array
from .wire import unsound

MAX_DEPTH = 512
"""onnxruntime reads trees by calls inside calls: those of a tree that is 20,000 deep take more memory than it has."""


class TreeNodes(NamedTuple):
    """The places of nodes of trees in their attributes: arrays of shape ``(n_nodes,)`` if not said otherwise."""

    roots: Array
    """Shape (n_trees,)."""
    leaves: Array
    children: Array
    """Shape (n_nodes, 2). Where to go if a comparison is false, and if it is true. A leaf leads to itself."""
    depth: int
    """The most comparisons on a way to a leaf."""
    keys: Array
    order: Array
    """`keys`, `order`: the numbers of tree and node as one number, rising, and the place of each node."""

    @classmethod
    def of(cls, given: Typed, width: int) -> "TreeNodes":
        """Read the attributes of trees, in which each node but the first has one parent. O(n log n) for n nodes."""
        leaves = _leaves(given)
        count = len(leaves)
        key, no, yes = keys_of(given, "nodes", ["nodeids", "falsenodeids", "truenodeids"], count)
        order = np.argsort(key, kind="stable")
        starts = np.concatenate([[True], key[1:] >> 32 != key[:-1] >> 32])  # where onnxruntime sees the root of a tree
        children = np.tile(np.arange(count)[:, None], (1, 2))
        found = cls(np.flatnonzero(starts), leaves, children, 0, key[order], order)
        if (found.keys[1:] == found.keys[:-1]).any():
            raise unsound("different nodes in a tree", "the same twice")
        for side, wanted in enumerate((no, yes)):
            children[~leaves, side] = found.places(wanted[~leaves])
        features = _integers(given, "nodes_featureids", count)
        if features.min() < 0 or features[~leaves].max(initial=0) >= width:
            raise unsound(f"columns below {width}", str(features.max()))
        parents = np.bincount(children[~leaves].reshape(-1), minlength=count)
        if (parents != ~starts).any():
            raise unsound("nodes side by side with one parent, and none for the first of each tree", "two ways to one")
        return cls(found.roots, leaves, children, found.measured(), found.keys, order)

    def places(self, keys: Array) -> Array:
        """Return the places of some nodes; BundleFormatError if there is no such node."""
        found = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        if (self.keys[found] != keys).any():
            raise unsound("children in the same tree, and weights of nodes", "a node that does not exist")
        return self.order[found]

    def measured(self) -> int:
        """Return the depth of trees whose nodes have one parent each, and do not lead to each other alone."""
        level, seen, depth = self.roots, len(self.roots), 0
        while len(level := level[~self.leaves[level]]) and depth <= MAX_DEPTH:
            level, depth = self.children[level].reshape(-1), depth + 1
            seen += len(level)
        if depth > MAX_DEPTH or seen != len(self.leaves):
            raise unsound(f"trees of depth {MAX_DEPTH} at most, with a way to each node", "others")
        return depth


def check_trees(given: Typed, kind: str, results: int, width: int) -> int:
    """Check trees with the weights of their leaves, of `results` classes or targets; return the number of nodes."""
    nodes = TreeNodes.of(given, width)
    count = len(nodes.leaves)
    given.reals("nodes_values", count, compared=True)  # one that sends all others aside may be infinite
    weights = len(given.reals(f"{kind}_weights"))
    for name in ("nodes_hitrates", "nodes_missing_value_tracks_true"):
        if len(given.attributes.get(name, ())) not in (0, count):
            raise unsound(f"{count} numbers as {name}", "others")
    places = nodes.places(*keys_of(given, kind, ["nodeids"], weights))
    columns = _integers(given, f"{kind}_ids", weights)
    if (np.bincount(places, minlength=count).astype(bool) != nodes.leaves).any() or columns.max() >= results:
        raise unsound(f"weights of all leaves and of nothing else, and results below {results}", "others")
    pairs = np.sort(places * results + columns)
    if (pairs[1:] == pairs[:-1]).any():
        raise unsound("a leaf and a column for each weight", "two of the same")
    if len(given.reals("base_values")) not in (0, results, *[1] * (results == 2)):
        raise unsound(f"{results} base_values or none", f"{len(given.reals('base_values'))}")
    return count


def _leaves(given: Typed) -> Array:
    modes = given.attributes.get("nodes_modes") or []
    if not isinstance(modes, list) or not modes or not {*modes} <= {*MODES}:
        raise unsound("comparisons of numbers as nodes_modes", str(modes)[:80])
    if any(name.endswith("_as_tensor") for name in given.attributes):
        raise unsound("trees of float32 numbers", "of float64")
    return np.array([mode == "LEAF" for mode in modes])


def keys_of(given: Typed, kind: str, names: Sequence[str], count: int) -> list[Array]:
    """Return the numbers of a tree and of a node as one number, for some attributes that are numbers of nodes."""
    trees = _integers(given, f"{kind}_treeids", count) << 32
    return [trees | _integers(given, f"{kind}_{name}", count) for name in names]


def _integers(given: Typed, name: str, count: int) -> Array:
    """Return integers from 0 to 2^31; 64 bits also where the usual ones have 32."""
    found = given.integer_array(name, count)
    if not count or found.min() < 0 or found.max() >= 1 << 31:
        raise unsound(f"numbers from 0 to 2^31 as {name}", str(found.max(initial=0)))
    return found
