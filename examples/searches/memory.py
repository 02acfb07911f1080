"""The score of a bundle with few models, for a device with little memory."""

from dataclasses import replace

from sklearn.ensemble import ExtraTreesClassifier

from examples.paper.results import Row

from .estimators import N_ITEMS, longer, some_items
from .setting import Setting

LIMITS = (1, 2, 4, 8, 16, None)

WORDS = (
    f"Forests of 50 trees, built on {N_ITEMS} items: the number of models in the bundle, the size of their files, the "
    "mean score that the bundle states for this number, and the score on test items in the mean over eight deadlines, "
    "in percent."
)


def rows(setting: Setting) -> list[Row]:
    """Return a row for each limit of the number of models."""
    setting = replace(setting, task=some_items(setting.task, N_ITEMS), deadlines=longer(setting.deadlines))
    forest = ExtraTreesClassifier(50, max_depth=12, random_state=0)
    found: list[Row] = []
    for limit in LIMITS:
        search = setting.fitted(estimator=forest, limits__max_models=limit)
        folder = setting.folder / f"{setting.task.name}-few.bundle"
        bundle = search.export(folder)
        n_bytes = sum(file.stat().st_size for file in folder.rglob("*.onnx"))
        found.append(
            {
                "task": setting.task.name,
                "models": len(bundle.models),
                "MB": round(n_bytes / 1e6, 2),
                "stated": round(100.0 * bundle.shipping.score, 2),
                "tested": round(100.0 * float((setting.right(search) @ setting.weights).mean()), 2),
            }
        )
    return found
