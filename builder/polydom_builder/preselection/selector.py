"""The choice of the few features for the lattice from hundreds, by cost-aware block matching pursuit."""

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import validate_data

from polydom_builder.exceptions import TrainingError
from polydom_runtime.arrays import Floats
from polydom_runtime.tables import percent

from .block_pursuit import BlockPursuit, Columns, Gain, standardised

Task = Literal["auto", "classification", "regression"]


class BlockSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select whole features, each a block of columns, by their gain in a linear model and their cost.

    The selector adds one block at a time, always the one with the largest gain / cost**cost_weight. The gain is the
    share of the target's variance that the block explains beyond the blocks selected so far, in a ridge regression of
    the class indicators (or of the numeric target) on standardised columns, less the share that as many columns of
    noise would explain. A block is significant only if noise would rarely explain as much. The selection ends when no
    block is significant, or when max_blocks are selected.

    The model is linear: a feature may be missed if it matters only together with another one, or only by its magnitude.
    Rows are assumed to be independent. For an unbiased score of a model, put the selector inside the cross-validation,
    as a step of a pipeline.

    Parameters
    ----------
    blocks : sequence of slices or of sequences of int, optional
        The columns of each feature, as from ``FeatureSpace.column_slices()``; if not given, every column is a block.
        Columns that are in no block are never selected.
    max_blocks : int, >= 1
        Select at most this number of features.
    costs : sequence of float, >= 0, optional
        Seconds of each feature at a typical item size; all equal if not given.
    cost_weight : float, >= 0
        0 ignores the costs; 1 ranks by gain per second.
    ridge : float, > 0
        Penalty, in units of the variance of one standardised column. It limits the effect of nearly redundant columns.
    level : float, in (0, 1)
        Approximate probability, in each round, of adding a block if all remaining blocks are noise (Bonferroni).
    task : {"auto", "classification", "regression"}
        Kind of the target. With "auto" its type decides, so integers are classes.

    Attributes
    ----------
    support_blocks_ : int array of shape (n_selected,)
        Numbers of the selected blocks, in the order in which they were added.
    gains_ : array of shape (n_selected,)
        The gain of each selected block beyond those before it: a share of the target's variance.
    dropped_ : dict of int to str
        The reason why each of the other blocks was not selected.
    blocks_ : list of int arrays
        The columns of each block.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    Block-orthogonal matching pursuit, O(n · p · (k + b·w)) for n rows, p columns, k of them selected in b blocks, and
    blocks of w columns or classes. The share that noise explains, and the probability that it explains more, are
    computed for random permutations of the rows by closed formulas, without drawing any.

    Examples
    --------
    Two features have the same information, and the cheaper one is selected. The third is noise:

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> means = y[:, None] + rng.normal(size=(400, 2))
    >>> rows = np.hstack([means, means @ [[1, 1], [1, -1]], rng.normal(size=(400, 2))])
    >>> selector = BlockSelector([slice(0, 2), slice(2, 4), slice(4, 6)], costs=[0.005, 0.002, 0.001]).fit(rows, y)
    >>> selector.support_blocks_
    array([1])
    >>> for number, reason in selector.dropped_.items():
    ...     print(number, reason)
    0 redundant: explains 31 % alone, no more than noise would beyond the selected blocks
    2 not informative: explains no more than noise would
    >>> selector.transform(rows).shape
    (400, 2)
    """

    def __init__(
        self,
        blocks: Sequence[slice | Sequence[int]] | None = None,
        max_blocks: int = 12,
        costs: Sequence[float] | None = None,
        cost_weight: float = 0.5,
        *,
        ridge: float = 1e-3,
        level: float = 0.01,
        task: Task = "auto",
    ) -> None:
        self.blocks = blocks
        self.max_blocks = max_blocks
        self.costs = costs
        self.cost_weight = cost_weight
        self.ridge = ridge
        self.level = level
        self.task = task

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Select the blocks.

        Parameters
        ----------
        X : array of shape (n_samples, n_columns)
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Classes, or numbers to predict.

        Raises
        ------
        TrainingError
            If a parameter is out of range, blocks overlap or lie outside of the columns, a value is not finite, rows
            and target differ in length, or the target has only one value.
        """
        _check_parameters(self)
        try:
            rows, target = validate_data(
                self, X, y, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2, multi_output=True
            )
        except ValueError as e:
            raise TrainingError(f"The rows and the target must fit together. {e}") from e
        self.blocks_ = _checked_blocks(self.blocks, rows.shape[1])
        prices = _checked_costs(self.costs, len(self.blocks_))
        _check_finite(rows, self.blocks_)
        rows = standardised(rows[:, np.concatenate(self.blocks_)])
        blocks = np.split(np.arange(rows.shape[1]), np.cumsum([len(b) for b in self.blocks_[:-1]]))
        constant = [b for b, columns in enumerate(blocks) if not rows[:, columns].any()]
        self._select(BlockPursuit(rows, _numeric_target(target, self.task), blocks, self.ridge), prices)
        self.dropped_ |= dict.fromkeys(constant, "constant")
        return self

    def _select(self, pursuit: BlockPursuit, prices: Floats) -> None:
        rest = list(range(len(self.blocks_)))
        alone = now = pursuit.assess(rest)
        gains: dict[int, float] = {}
        while len(gains) < self.max_blocks:
            promising = [b for b in rest if now[b].chance * len(rest) <= self.level]
            if not promising:
                break
            best = max(promising, key=lambda b: _worth(now[b], float(prices[b]), self.cost_weight))
            gains[best] = now[best].share
            pursuit.add(best)
            rest.remove(best)
            now = pursuit.assess(rest)
        self.support_blocks_ = np.array(list(gains), dtype=np.intp)
        self.gains_ = np.array(list(gains.values()))
        self.dropped_ = {b: _reason(alone[b], now[b], self.level / len(rest)) for b in rest}

    def _get_support_mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(self.n_features_in_, dtype=bool)
        for number in self.support_blocks_:
            mask[self.blocks_[number]] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _worth(gain: Gain, price: float, weight: float) -> tuple[float, float, float]:
    """Return the rank of a block by gain and cost; blocks that cost nothing come first; the lower cost breaks ties."""
    divisor = price**weight
    return gain.share / divisor if divisor > 0.0 else math.inf, -price, gain.share


def _reason(alone: Gain, now: Gain, threshold: float) -> str:
    if now.chance <= threshold:
        return f"max_blocks reached: would add {percent(now.share)}"
    if alone.chance <= threshold:
        return f"redundant: explains {percent(alone.share)} alone, no more than noise would beyond the selected blocks"
    return "not informative: explains no more than noise would"


def _numeric_target(target: NDArray[Any], task: str) -> Floats:
    """Return the centred indicators of the classes, or the standardised numbers; shape ``(n_rows, n_targets)``."""
    if task == "auto":
        task = "regression" if type_of_target(target).startswith("continuous") else "classification"
    if task == "classification":
        if target.ndim > 1:
            raise TrainingError(f"Classes must be one for each row. Got a target of shape {target.shape}.")
        classes, codes = np.unique(target, return_inverse=True)
        numbers = np.eye(len(classes))[codes] - np.bincount(codes) / len(codes)
    else:
        numbers = standardised(np.asarray(target, dtype=np.float64).reshape(len(target), -1))
    if not numbers.any():
        raise TrainingError("The target must have at least two different values. Got one only.")
    return numbers


def _check_parameters(selector: BlockSelector) -> None:
    rules = {
        "max_blocks": (isinstance(selector.max_blocks, Integral) and selector.max_blocks >= 1, "an integer >= 1"),
        "cost_weight": (0.0 <= selector.cost_weight < math.inf, "finite and >= 0"),
        "ridge": (0.0 < selector.ridge < math.inf, "finite and > 0"),
        "level": (0.0 < selector.level < 1.0, "between 0 and 1"),
        "task": (selector.task in get_args(Task), f"one of {get_args(Task)}"),
    }
    for name, (holds, rule) in rules.items():
        if not holds:
            raise TrainingError(
                f"The {name!r} parameter of BlockSelector must be {rule}. Got {getattr(selector, name)!r}."
            )


def _checked_blocks(blocks: Sequence[slice | Sequence[int]] | None, n_columns: int) -> list[Columns]:
    """Return the columns of each block, which share none; every column by itself if no blocks are given.

    >>> _checked_blocks([slice(0, 2), [3]], n_columns=4)
    [array([0, 1]), array([3])]
    """
    if blocks is None:
        return [np.array([column]) for column in range(n_columns)]
    if len(blocks) == 0:
        raise TrainingError("There must be at least one block. Got none.")
    owners: dict[int, int] = {}
    checked = []
    for number, block in enumerate(blocks):
        columns = _columns(block)
        if columns.ndim != 1 or len(columns) == 0 or columns.dtype.kind not in "iu":
            raise TrainingError(f"A block must be a slice or a list of columns, and not empty. Got {block!r}.")
        for column in columns.tolist():
            if not 0 <= column < n_columns:
                raise TrainingError(f"A block must be of columns 0 to {n_columns - 1}. Got {column} in block {number}.")
            if column in owners:
                raise TrainingError(
                    f"A column must be in one block only, and once. Got column {column} in block {owners[column]} "
                    f"and in block {number}."
                )
            owners[column] = number
        checked.append(columns.astype(np.intp))
    return checked


def _columns(block: slice | Sequence[int]) -> NDArray[Any]:
    if not isinstance(block, slice):
        return np.asarray(block)
    if block.stop is None:
        raise TrainingError(f"A block given as a slice must have an end. Got {block}.")
    return np.arange(block.start or 0, block.stop, block.step or 1)


def _checked_costs(costs: Sequence[float] | None, n_blocks: int) -> Floats:
    """Return the cost of each block; all 1 if no costs are given."""
    if costs is None:
        return np.ones(n_blocks)
    prices = np.asarray(costs, dtype=np.float64)
    if prices.shape != (n_blocks,):
        raise TrainingError(f"There must be one cost for each of {n_blocks} blocks. Got shape {prices.shape}.")
    wrong = ~((prices >= 0.0) & (prices < np.inf))
    if wrong.any():
        block = int(np.argmax(wrong))
        raise TrainingError(f"Every cost must be finite and >= 0. Got {prices[block]} for block {block}.")
    return prices


def _check_finite(rows: Floats, blocks: Sequence[Columns]) -> None:
    """Check that all values of the blocks are finite."""
    for number, columns in enumerate(blocks):
        finite = np.isfinite(rows[:, columns])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise TrainingError(
                f"Every value must be finite, without NaN or inf. Got {rows[row, columns[column]]} in block {number} "
                f"(row {row}, column {columns[column]}). Leave the feature out, or impute its values."
            )
