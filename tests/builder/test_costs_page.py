"""The code of docs/costs-of-errors.md runs, and gives what the page says."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from polydom_builder.training.least_cost import LeastCostModel, decision_costs
from tests.builder import task

PAGE = (Path(__file__).parents[2] / "docs" / "costs-of-errors.md").read_text()


def test_code_runs_and_the_limit_is_an_eleventh() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    signals, kinds = task.items(90)
    labels = ["fault" if kind == "loud" else "ok" for kind in kinds]
    names: dict[str, Any] = {"space": task.space, "items": signals, "labels": labels}
    exec(code.replace("fit(items, labels)", "fit(items, labels, costs=costs)"), names | {"costs": task.costs}, names)

    class Known:
        classes_ = np.array(["fault", "ok"])

        def predict_proba(self, rows: Any) -> Any:
            return rows

    model = LeastCostModel(Known(), decision_costs(names["search"].trainer_.errors))
    assert model.predict(np.array([[0.2, 0.8], [1 / 10.9, 1 - 1 / 10.9], [1 / 11.1, 1 - 1 / 11.1]])).tolist() == [
        "fault",
        "fault",
        "ok",
    ]
