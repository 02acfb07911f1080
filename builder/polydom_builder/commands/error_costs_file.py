"""The costs of errors of the command line: a CSV file with the columns true, said and cost."""

import csv
import os
from collections.abc import Iterable
from typing import Any

from polydom_builder.exceptions import TrainingError
from polydom_builder.training.labels import plain
from polydom_runtime.causes import shown

COLUMNS = ["true", "said", "cost"]


def read_error_costs(file: str | os.PathLike[str], labels: Iterable[Any]) -> dict[tuple[Any, Any], float]:
    """Read the costs of errors, for `costs_of_errors` of a search.

    Where nothing is said, it is the cost of no answer, unless the items have a label without characters. `labels`: the
    labels of the items; the file has them as texts.
    """
    known = {str(label): label for label in map(plain, labels)}
    costs: dict[tuple[Any, Any], float] = {}
    try:
        with open(file, newline="", encoding="utf-8-sig") as stream:
            header, *rows = [row for row in csv.reader(stream, strict=True) if row] or [[]]
    except (OSError, ValueError, csv.Error) as e:
        raise TrainingError(f"{file} must be a CSV file. {e}.") from e
    if header != COLUMNS:
        raise TrainingError(f"The first line of {file} must be {','.join(COLUMNS)}. Got {shown(','.join(header))}.")
    for row in rows:
        try:
            true, said, number = row
            cost = float(number)
        except ValueError as e:
            raise TrainingError(
                f"A line of {file} must have two labels and a number, such as 'fault,ok,5'. Got {shown(','.join(row))}."
            ) from e
        pair = known.get(true, true), known.get(said, said or None)
        if pair in costs:
            raise TrainingError(f"{file} must have each pair of labels once. Got {shown(','.join(row[:2]))} twice.")
        costs[pair] = cost
    return costs
