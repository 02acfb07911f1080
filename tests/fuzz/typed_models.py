"""Models made up at random that are right in their types: they ask what an engine does, not whether a file is sound."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"

TRANSFORMS = ("NONE", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
BRANCHES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
OPSETS = (9, 11, 12, 13, 15, 17, 17, 17, 18, 21)

ONE_ARRAY = ("Abs", "Exp", "Identity", "Log", "Neg", "Relu", "Sigmoid", "Sqrt", "Tanh", "Erf", "Floor", "Round", "Sign")
REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceL1", "ReduceSumSquare")

Numbers = NDArray[np.float32]


class Draft:
    """A graph that grows by one operator after another; `row` and `width` are of the last numbers."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.numpy = rng, np.random.default_rng(rng.getrandbits(64))
        self.opset, self.width = rng.choice(OPSETS), rng.choice((1, 2, 3, 4, 6))
        self.inputs, self.row, self.rank = self.width, "X", 1
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def often(self, share: float) -> bool:
        """Return True with some probability."""
        return self.rng.random() < share

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Add an operator and return the name of its last output."""
        domain = ML if kind in ML_KINDS else "com.microsoft" if kind == "CDist" else ""
        names = [f"{kind.lower()}{len(self.nodes)}_{k}" for k in range(outputs)]
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **given))
        return names[-1]

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a constant and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def numbers(self, *shape: int) -> Numbers:
        """Return numbers as a model has them: mostly tame, some round, few wild."""
        found = self.numpy.normal(size=shape)
        kind = self.rng.random()
        if kind < 0.25:
            found = np.round(2.0 * found) / 2.0
        elif kind < 0.33:
            found *= 10.0 ** self.numpy.integers(-30, 30)
        elif kind < 0.40:
            found = np.abs(found)
        elif kind < 0.44:
            found = -np.abs(found)
        elif kind < 0.48:
            found = np.full(shape, self.rng.choice((0.0, 0.5, 1.0, -1.0)))
        return np.asarray(found, dtype=np.float32)

    def floats(self, *shape: int) -> list[float]:
        """Return `numbers` as an attribute."""
        return [float(x) for x in self.numbers(*shape).reshape(-1)]

    def shaped(self) -> str:
        """Return a constant that can be added to the row."""
        return self.constant(self.numbers(*self.rng.choice(((1, self.width), (self.width,), (1,), (), (1, 1)))))

    def axes(self, kind: str, *axes: int) -> tuple[list[str], dict[str, Any]]:
        """Return axes as the input or the attribute that the version wants."""
        since = 13 if kind in ("ReduceSum", "Squeeze", "Unsqueeze") else 18
        if self.opset >= since:
            return [self.constant(list(axes), np.int64)], {}
        return [], {"axes": list(axes)}

    def labels(self, n: int) -> dict[str, Any]:
        """Return labels of `n` classes: mostly their numbers."""
        kind, numbers = self.rng.random(), list(range(n))
        if kind < 0.08:
            self.rng.shuffle(numbers)
        elif kind < 0.14:
            numbers = sorted(self.rng.sample(range(n + 1), n))
        elif kind < 0.16:
            return {"strings": [f"label {k}" for k in numbers]}
        return {"ints": numbers}


ML_KINDS = frozenset(
    {
        *("ArrayFeatureExtractor", "Binarizer", "FeatureVectorizer", "Imputer", "LabelEncoder", "LinearClassifier"),
        *("LinearRegressor", "Normalizer", "SVMClassifier", "SVMRegressor", "Scaler"),
        *("TreeEnsembleClassifier", "TreeEnsembleRegressor"),
    }
)


def _scaler(d: Draft) -> None:
    sizes = d.rng.choice(((d.width, d.width),) * 8 + ((1, 1), (1, d.width)))
    d.row = d.add("Scaler", d.row, offset=d.floats(sizes[0]), scale=d.floats(sizes[1]))


def _normalizer(d: Draft) -> None:
    d.row = d.add("Normalizer", d.row, norm=d.rng.choice(("L1", "L2", "MAX")))


def _imputer(d: Draft) -> None:
    count = d.rng.choice((1, d.width))
    d.row = d.add("Imputer", d.row, imputed_value_floats=d.floats(count), replaced_value_float=d.rng.choice((0.0, 1.0)))


def _binarizer(d: Draft) -> None:
    d.row = d.add("Binarizer", d.row, threshold=d.floats(1)[0])


def _vectorizer(d: Draft) -> None:
    d.row = d.add("FeatureVectorizer", d.row, d.row, inputdimensions=[d.width, d.width])
    d.width *= 2


def _extractor(d: Draft) -> None:
    places = [d.rng.randrange(-1 if d.often(0.02) else 0, d.width) for _ in range(d.rng.choice((1, 2, 3)))]
    d.row = d.add("ArrayFeatureExtractor", d.row, d.constant(places, np.int64))
    d.width = len(places)


def _arithmetic(d: Draft) -> None:
    kind, other = d.rng.choice(("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min")), d.shaped()
    if kind == "Pow":
        other = d.constant(d.rng.choice((2.0, 2.0, 3.0, 0.5, -1.0)))
    elif d.often(0.2):
        other = d.row
    inputs = (other, d.row) if d.often(0.3) and kind != "Pow" else (d.row, other)
    d.row = d.add(kind, *inputs)


def _elementwise(d: Draft) -> None:
    d.row = d.add(d.rng.choice(ONE_ARRAY), d.row)


def _sum(d: Draft) -> None:
    d.row = d.add("Sum", *[d.rng.choice((d.row, d.shaped())) for _ in range(2)], d.row)


def _chosen(d: Draft) -> None:
    kind = d.rng.choice(("Less", "Greater", "LessOrEqual", "GreaterOrEqual") if d.opset >= 12 else ("Less", "Greater"))
    is_so = d.add(kind, d.row, d.shaped())
    if d.often(0.3):
        is_so = d.add("Not", is_so)
    d.row = d.add("Where", is_so, d.row, d.shaped()) if d.often(0.6) else d.add("Cast", is_so, to=TensorProto.FLOAT)


def _as_type(d: Draft) -> None:
    kind = d.rng.choice((TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL))
    d.row = d.add("Cast", d.add("Cast", d.row, to=kind), to=TensorProto.FLOAT)


def _reshaped(d: Draft) -> None:
    way = d.rng.randrange(4)
    if way == 0:
        d.row = d.add("Reshape", d.row, d.constant(d.rng.choice(([1, -1], [0, -1], [1, d.width])), np.int64))
    elif way == 1:
        d.row = d.add("Flatten", d.row, axis=1)
    elif way == 2:
        column = d.add("Reshape", d.row, d.constant([-1, 1], np.int64))
        d.row = d.add("Transpose", column, perm=d.rng.choice(([1, 0], None)))
    else:
        inputs, attributes = d.axes("Unsqueeze", 1)
        deep = d.add("Unsqueeze", d.row, *inputs, **attributes)
        inputs, attributes = d.axes("Squeeze", 1)
        d.row = d.add("Squeeze", deep, *inputs, **attributes)


def _joined(d: Draft) -> None:
    other = d.rng.choice((d.row, d.constant(d.numbers(1, d.width))))
    d.row = d.add("Concat", d.row, other, axis=d.rng.choice((1, -1)))
    d.width *= 2


def _cut(d: Draft) -> None:
    way = d.rng.randrange(3)
    if way == 0 and d.opset >= 10:
        start, end = sorted(d.rng.sample(range(d.width + 1), 2))
        given = (d.constant([value], np.int64) for value in (start, end, 1))
        d.row, d.width = d.add("Slice", d.row, *given), end - start
    elif way == 1 and d.width % 2 == 0 and d.opset < 18:
        d.row, d.width = d.add("Split", d.row, outputs=2, axis=1), d.width // 2
    else:
        places = [d.rng.randrange(-d.width, d.width) for _ in range(d.rng.choice((1, 2, 3)))]
        d.row, d.width = d.add("Gather", d.row, d.constant(places, np.int64), axis=1), len(places)


def _layer(d: Draft, n: int | None = None) -> None:
    n = n or d.rng.choice((1, 2, 3))
    if d.often(0.6):
        d.row = d.add("MatMul", d.row, d.constant(d.numbers(d.width, n)))
        d.width = n
        if d.often(0.7):
            d.row = d.add("Add", d.row, d.shaped())
        return
    turned = d.often(0.5)
    inputs = [d.row, d.constant(d.numbers(n, d.width) if turned else d.numbers(d.width, n))]
    if d.opset < 11 or d.often(0.8):
        inputs.append(d.constant(d.numbers(*d.rng.choice(((n,), (1, n), (1,), (), (1, 1))))))
    factors: dict[str, Any] = {name: float(d.rng.choice((1.0, 1.0, 0.5, -1.0, 0.0))) for name in ("alpha", "beta")}
    d.row, d.width = d.add("Gemm", *inputs, transB=int(turned), **factors), n


def _reduced(d: Draft) -> None:
    kind, keeps = d.rng.choice(REDUCTIONS), d.rng.choice((0, 1))
    inputs, attributes = d.axes(kind, d.rng.choice((1, -1)))
    d.row = d.add(kind, d.row, *inputs, keepdims=keeps, **attributes)
    if not keeps:
        d.row = d.add("Reshape", d.row, d.constant([1, 1], np.int64))
    d.width = 1


def _top(d: Draft, k: int, **given: Any) -> str:
    """Return the places of the best `k` numbers of the row."""
    given = given if d.opset >= 11 else {"axis": 1}
    if d.opset < 10:
        return d.add("TopK", d.row, outputs=2, k=k, **given)
    return d.add("TopK", d.row, d.constant([k], np.int64), outputs=2, **given)


def _best(d: Draft) -> None:
    k = d.rng.randint(1, d.width)
    given = {"axis": d.rng.choice((1, -1)), "largest": d.rng.choice((0, 1)), "sorted": 1}
    places = _top(d, k, **given)
    values = f"{places[:-1]}0"
    d.row, d.width = values if d.often(0.5) else d.add("Cast", places, to=TensorProto.FLOAT), k


def _normed(d: Draft) -> None:
    d.row = d.add(d.rng.choice(("Softmax", "Softmax", "LogSoftmax")), d.row, axis=d.rng.choice((1, -1, 0, None)))


def _distances(d: Draft) -> None:
    n = d.rng.choice((2, 3, 5))
    metric = d.rng.choice(("euclidean", "sqeuclidean"))
    d.row, d.width = d.add("CDist", d.row, d.constant(d.numbers(n, d.width)), metric=metric), n


STEPS: Sequence[Callable[[Draft], None]] = (
    *(_scaler, _scaler, _normalizer, _imputer, _binarizer, _vectorizer, _extractor, _arithmetic, _arithmetic),
    *(_elementwise, _elementwise, _sum, _chosen, _as_type, _reshaped, _reshaped, _joined, _cut, _layer, _layer),
    *(_reduced, _best, _normed, _distances),
)


def _trees(d: Draft, kind: str, results: int) -> dict[str, Any]:
    """Return the attributes of random trees whose leaves give weights to results."""
    nodes: dict[str, list[Any]] = {name: [] for name in NODES}
    of_leaves: list[tuple[int, int]] = []
    limits = d.floats(16)
    modes = BRANCHES if d.often(0.1) else BRANCHES[:1]
    for tree in range(count := d.rng.choice((1, 1, 2, 3, 8))):
        depth, waiting, number = d.rng.choice((1, 2, 3)), [(0, 0)], 1
        while waiting:
            at, level = waiting.pop(0)
            is_leaf = level == depth or (level > 0 and d.often(0.3))
            children = (0, 0) if is_leaf else (number, number + 1)
            mode, limit = ("LEAF", 0.0) if is_leaf else (d.rng.choice(modes), d.rng.choice(limits))
            values = tree, at, 0 if is_leaf else d.rng.randrange(d.width), limit, mode, *children
            for name, value in zip(NODES, values, strict=True):
                nodes[name].append(value)
            if is_leaf:
                of_leaves.append((tree, at))
            else:
                waiting += [(number, level + 1), (number + 1, level + 1)]
                number += 2
    way, weights = d.rng.choice(WAYS), list[tuple[int, int, int]]()
    for tree, at in of_leaves:
        some = {
            "all": range(results),
            "one": [d.rng.randrange(results)],
            "by tree": [tree % results],
            "some": [k for k in range(results) if d.often(0.5)] or [0],
            "first": [0],
            "last": [results - 1],
            "nothing": [] if weights else [0],
        }[way]
        weights += [(tree, at, k) for k in some]
    found: dict[str, Any] = {f"nodes_{name}": values for name, values in nodes.items()}
    found |= dict(
        zip([f"{kind}_{name}" for name in ("treeids", "nodeids", "ids")], zip(*weights, strict=True), strict=True)
    )
    found[f"{kind}_weights"] = [x / count if d.often(0.5) else x for x in d.floats(len(weights))]
    if d.often(0.4):
        found["base_values"] = d.floats(d.rng.choice((results, results, 1)))
    if d.often(0.1):
        found["nodes_missing_value_tracks_true"] = [int(d.often(0.5)) for _ in nodes["modes"]]
    if d.often(0.05):
        found["nodes_hitrates"] = [1.0 for _ in nodes["modes"]]
    return found


WAYS = (*("all", "one", "by tree", "first") * 6, *("some", "last") * 4, "nothing")
"""To which results a leaf gives weights."""

NODES = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")


def _tree_classifier(d: Draft, n: int) -> tuple[str, str]:
    labels = {f"classlabels_{'int64s' if key == 'ints' else key}": value for key, value in d.labels(n).items()}
    transform = d.rng.choice(TRANSFORMS)
    return _both(d, "TreeEnsembleClassifier", **_trees(d, "class", n), **labels, post_transform=transform)


def _both(d: Draft, kind: str, **attributes: Any) -> tuple[str, str]:
    scores = d.add(kind, d.row, outputs=2, **attributes)
    return f"{scores[:-1]}0", scores


def _linear_classifier(d: Draft, n: int) -> tuple[str, str]:
    rows = 1 if n == 2 and d.often(0.3) else n
    labels = {f"classlabels_{key}": value for key, value in d.labels(n).items()}
    coefficients, bias = d.numbers(rows, d.width), d.numbers(rows)
    if n == rows == 2 and d.often(0.5):
        coefficients[0], bias[0] = -coefficients[1], -bias[1]
    given = {"coefficients": [*map(float, coefficients.reshape(-1))], "intercepts": [*map(float, bias)]}
    if d.often(0.05):
        del given["intercepts"]
    more: dict[str, Any] = {"multi_class": d.rng.choice((0, 1)), "post_transform": d.rng.choice(TRANSFORMS)}
    return _both(d, "LinearClassifier", **given, **labels, **more)


def _vector_classifier(d: Draft, n: int) -> tuple[str, str]:
    sizes = [d.rng.choice((0, 1, 1, 2, 3)) for _ in range(n)]
    sizes[0] += not sum(sizes)
    labels = {f"classlabels_{key}": value for key, value in d.labels(n).items()}
    attributes = _vectors(d, sum(sizes), n - 1) | {
        "vectors_per_class": sizes,
        "rho": d.floats(max(n * (n - 1) // 2, 1)),
    }
    if d.often(0.2):
        attributes |= {name: d.floats(len(attributes["rho"])) for name in ("prob_a", "prob_b")}
    return _both(d, "SVMClassifier", **attributes, **labels, post_transform=d.rng.choice(TRANSFORMS))


def _vectors(d: Draft, count: int, of_each: int) -> dict[str, Any]:
    degree = float(d.rng.choice((1, 2, 3, 4, 5, 0.5)))
    return {
        "kernel_type": d.rng.choice(("LINEAR", "POLY", "RBF", "SIGMOID")),
        "kernel_params": [abs(d.floats(1)[0]), d.floats(1)[0], degree],
        "support_vectors": d.floats(count, d.width),
        "coefficients": d.floats(count, max(of_each, 1)),
    }


def _of_scores(d: Draft, n: int) -> tuple[str, str]:
    """Scores of a layer, and the place of the best one."""
    if d.often(0.25) and n == 2:
        score = _single(d)
        if d.often(0.5):
            score = d.add("Sigmoid", score)
            first = d.add("Sub", d.constant(1.0), score)
        else:
            first = d.add("Mul", score, d.constant(-1.0))
        d.row, d.width = d.add("Concat", first, score, axis=1), 2
    elif d.width != n or d.often(0.5):
        _layer(d, n)
    if d.often(0.4):
        _normed(d)
    if d.often(0.1):
        _elementwise(d)
    given = {"axis": d.rng.choice((1, -1)), "keepdims": d.rng.choice((0, 1))}
    if d.often(0.1) and d.opset >= 12:
        given["select_last_index"] = 1
    d.rank = 1 + given["keepdims"]
    return d.add("ArgMin" if d.often(0.15) else "ArgMax", d.row, **given), d.row


def _single(d: Draft) -> str:
    _layer(d, 1)
    return d.row


def _of_neighbours(d: Draft, n: int) -> tuple[str, str]:
    """The label of the nearest of some items."""
    _distances(d)
    places = _top(d, 1, axis=1, largest=0)
    table = d.constant([d.rng.randrange(n) for _ in range(d.width + d.rng.choice((0, 0, 0, -1)))], np.int64)
    return _looked_up(d, table, d.add("Reshape", places, d.constant([-1], np.int64))), d.row


def _looked_up(d: Draft, table: str, places: str) -> str:
    kind, d.rank = d.rng.choice(("ArrayFeatureExtractor", "Gather", "GatherElements" if d.opset >= 11 else "Gather")), 1
    return d.add("Reshape", d.add(kind, table, places), d.constant([-1], np.int64))


CLASSIFIERS = (
    *(_tree_classifier, _tree_classifier, _tree_classifier, _linear_classifier, _linear_classifier),
    *(_vector_classifier, _of_scores, _of_scores, _of_scores, _of_neighbours),
)


def _more_of(d: Draft, label: str, n: int) -> str:
    """Return a label after something was done with it, mostly nothing."""
    way = d.rng.randrange(12)
    if way == 0:
        flat = d.add("Reshape", label, d.constant([-1], np.int64))
        size = n + d.rng.choice((0, 0, 1, -1))
        return _looked_up(d, d.constant([d.rng.randrange(n) for _ in range(max(size, 1))], np.int64), flat)
    if way == 1:
        return d.add("Cast", d.add("Cast", label, to=d.rng.choice((TensorProto.INT32, TensorProto.FLOAT))), to=7)
    if way == 2:
        return d.add(d.rng.choice(("Add", "Sub", "Mul")), label, d.constant(d.rng.choice((0, 1, 2)), np.int64))
    if way == 3:
        is_one = d.add("Equal", label, d.constant(1, np.int64)) if d.opset >= 11 else d.add("Cast", label, to=9)
        return d.add("Where", is_one, d.constant(d.rng.randrange(n), np.int64), label)
    if way == 4 and d.often(0.3):
        return d.add("LabelEncoder", label, keys_int64s=[0, 1], values_int64s=[1, 0], default_int64=0)
    if way == 5:
        numbers = d.add("Cast", d.row, to=TensorProto.INT64)  # of any size, so most are no places
        place = d.add("Reshape", d.add("ReduceMax", numbers, keepdims=0), d.constant([-1], np.int64))
        return _looked_up(d, d.constant(range(n), np.int64), place) if d.often(0.2) else label
    return label


def _tree_regressor(d: Draft) -> str:
    how = d.rng.choice(("SUM", "SUM", "AVERAGE", "MIN", "MAX", None))
    targets = 2 if d.often(0.03) else 1
    more: dict[str, Any] = {"n_targets": targets, "aggregate_function": how, "post_transform": _regressing(d)}
    return d.add("TreeEnsembleRegressor", d.row, **_trees(d, "target", targets), **more)


def _regressing(d: Draft) -> str:
    return d.rng.choice(TRANSFORMS) if d.often(0.2) else "NONE"


def _linear_regressor(d: Draft) -> str:
    given: dict[str, Any] = {"coefficients": d.floats(d.width), "intercepts": d.floats(1), "targets": 1}
    if d.often(0.1):
        del given["intercepts"]
    return d.add("LinearRegressor", d.row, **given, post_transform=_regressing(d))


def _vector_regressor(d: Draft) -> str:
    count = d.rng.choice((1, 2, 4))
    given = _vectors(d, count, 1) | {"rho": d.floats(1), "n_supports": count}
    return d.add("SVMRegressor", d.row, **given, one_class=1 if d.often(0.1) else None, post_transform=_regressing(d))


REGRESSORS = (_tree_regressor, _tree_regressor, _linear_regressor, _vector_regressor, _single)


def typed_model(rng: Random) -> bytes:
    """Return a model behind two bytes: the number of its classes, 0 for a regressor, and the width of its input."""
    d = Draft(rng)
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 3))):
        rng.choice(STEPS)(d)
    n = 0 if rng.random() < 0.25 else rng.choice((2, 2, 3, 4))
    if n:
        label, scores = rng.choice(CLASSIFIERS)(d, 1 if d.often(0.01) else n)
        outputs = {_more_of(d, label, n): TensorProto.INT64, scores: TensorProto.FLOAT}
    else:
        outputs = {rng.choice(REGRESSORS)(d): TensorProto.FLOAT}
    wide = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [rng.choice((1, None)), d.inputs])]
    ranks = (d.rank if n else 2, 2)
    stated = [
        helper.make_tensor_value_info(name, dtype, [None] * rank)
        for (name, dtype), rank in zip(outputs.items(), ranks, strict=False)
    ]
    graph = helper.make_graph(d.nodes, "typed", wide, stated, d.constants)
    versions = [helper.make_opsetid("", d.opset), helper.make_opsetid(ML, rng.choice((1, 2, 3, 3, 3, 4)))]
    if any(node.domain == "com.microsoft" for node in d.nodes):
        versions.append(helper.make_opsetid("com.microsoft", 1))
    model = helper.make_model(graph, opset_imports=versions, ir_version=8)
    return bytes([n, d.inputs]) + bytes(model.SerializeToString())
