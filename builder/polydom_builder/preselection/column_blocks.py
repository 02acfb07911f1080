"""Features as blocks of columns: checks of the blocks, their costs and their values before a selection."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import TrainingError
from polydom_runtime.arrays import Floats

from .block_pursuit import Columns


def checked_blocks(blocks: Sequence[slice | Sequence[int]] | None, n_columns: int) -> list[Columns]:
    """Return the columns of each block; every column by itself if no blocks are given.

    Raises `TrainingError` if there is no block, or one is empty, is out of range, or shares a column with another.

    Examples
    --------
    >>> checked_blocks([slice(0, 2), [3]], n_columns=4)
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


def checked_costs(costs: Sequence[float] | None, n_blocks: int) -> Floats:
    """Return the cost of each block, shape ``(n_blocks,)``; all 1 if no costs are given.

    Raises `TrainingError` if there is not one cost for each block, or a cost is negative or not finite.
    """
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


def check_finite(rows: Floats, blocks: Sequence[Columns]) -> None:
    """Check that all values of the blocks are finite.

    Raises `TrainingError` if a value is NaN or infinite; the message names its block, row and column.
    """
    for number, columns in enumerate(blocks):
        finite = np.isfinite(rows[:, columns])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise TrainingError(
                f"Every value must be finite, without NaN or inf. Got {rows[row, columns[column]]} in block {number} "
                f"(row {row}, column {columns[column]}). Leave the feature out, or impute its values."
            )
