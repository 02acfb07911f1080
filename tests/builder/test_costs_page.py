"""The code of docs/costs-of-errors.md runs, and gives what the page says."""

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np

from polydom_builder.training.error_costs import checked_error_costs
from polydom_builder.training.labels import targets_of
from polydom_builder.training.least_cost import LeastCostModel, decision_costs
from tests.builder import task


class Known:
    classes_ = np.array(["fault", "ok"])

    def predict_proba(self, rows: Any) -> Any:
        return rows


PAGE = (Path(__file__).parents[2] / "docs" / "costs-of-errors.md").read_text()


def test_code_runs_and_the_limit_is_an_eleventh() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    signals, kinds = task.items(45)
    labels = ["fault" if kind == "loud" else "ok" for kind in kinds]
    names: dict[str, Any] = {"space": task.space, "items": signals, "labels": labels}
    exec(code.replace("fit(items, labels)", "fit(items, labels, costs=costs)"), names | {"costs": task.costs}, names)

    model = LeastCostModel(Known(), decision_costs(names["search"].trainer_.errors))
    assert model.predict(np.array([[0.2, 0.8], [1 / 10.9, 1 - 1 / 10.9], [1 / 11.1, 1 - 1 / 11.1]])).tolist() == [
        "fault",
        "fault",
        "ok",
    ]


def test_no_answer_is_given_between_the_limits_that_the_page_states() -> None:
    (costs,) = re.findall(r"```text\ncosts_of_errors=(.*?)\n```", PAGE)
    targets = targets_of(["fault", "ok", "ok"], 3)
    errors = checked_error_costs(ast.literal_eval(costs), targets)
    assert errors is not None

    share = np.array([0.0149, 0.0151, 0.699, 0.701])
    answers = LeastCostModel(Known(), decision_costs(errors)).predict(np.stack([share, 1.0 - share], axis=1))
    assert answers.tolist() == ["ok", None, None, "fault"]
    assert errors.constant == 0.3  # that of None, since a third is faulty
