"""Mistakes of a newcomer on the host: each message says what must hold, what was got, and what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from polydom_builder import GreedySearch, PolyDomSearch
from polydom_builder.__main__ import main
from polydom_runtime import CostFunction, PolyDomError, UnitTimes, write_packed
from tests.builder import task
from tests.builder.searches import LOGISTIC, search

SPACE = "tests.builder.task:space"
ITEMS, LABELS = task.items(60)
OTHER = UnitTimes.given({"a": CostFunction.of(1e-6)}, model=1e-6)


def fit(items: Any = ITEMS, labels: Any = LABELS, groups: Any = None, costs: Any = task.costs, **changes: Any) -> Any:
    return search(**changes).fit(items, labels, groups, costs)


CODE: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "a deadline of a text": (lambda: fit(deadline="2ms"), ("positive seconds", "such as 0.002", "Got '2ms'")),
    "a deadline of 0": (lambda: fit(deadline=0), ("positive seconds", "Got 0.")),
    "a falling range of deadlines": (lambda: fit(deadline=(0.4, 0.1)), ("a range (low, high)", "Got (0.4, 0.1)")),
    "a deadline that is too short": (
        lambda: fit(deadline=2e-9),
        ("must be at least", "Got 2 ns", "Choose a longer one"),
    ),
    "one item for the items": (
        lambda: fit(items=ITEMS[0]),
        ("must be a list of items", "Got one array of shape (269,)", "Put a single item into a list"),
    ),
    "a dict of items": (lambda: fit(items=dict(enumerate(ITEMS))), ("must be a list of items", "Got a dictionary")),
    "no items": (lambda: fit(items=None), ("must be a list of items", "Got nothing")),
    "an empty list": (lambda: fit(items=[], labels=[]), ("There must be items", "Got none")),
    "an empty item": (
        lambda: fit(items=[*ITEMS[1:], np.zeros(0)]),
        ("Item 59", "must be a positive, finite number", "Got 0.0", "Drop empty items"),
    ),
    "an item with NaN": (
        lambda: fit(items=[*ITEMS[1:], np.full(9, np.nan)]),
        ("Item 59: Feature 'level'", "1 finite numbers", "Got [nan]", "leave such items out"),
    ),
    "items and labels swapped": (
        lambda: fit(items=LABELS, labels=ITEMS),
        ("must be integers, strings or booleans", "Got array([", "for item 0", "name the classes"),
    ),
    "a label too few": (lambda: fit(labels=LABELS[1:]), ("one label for each item", "60 items and 59 labels")),
    "no labels": (lambda: fit(labels=None), ("must be a sequence", "Got None")),
    "labels of one class": (lambda: fit(labels=["a"] * 60), ("at least two classes", "Got ['a']")),
    "labels in columns": (
        lambda: fit(labels=np.eye(60)[:, :3]),
        ("one for each item", "Got array([1., 0., 0.])", "name the classes by integers or strings"),
    ),
    "numbers for a classifier": (
        lambda: fit(labels=np.linspace(0.0, 1.0, 60)),
        ("must be integers, strings or booleans", "Got 0.0", "To predict numbers, give a regressor"),
    ),
    "classes for a regressor": (
        lambda: fit(estimator=Ridge()),
        ("must be finite numbers", "Got 'calm' for item 0", "For classes give a classifier"),
    ),
    "groups of other items": (lambda: fit(groups=[1, 2]), ("one group for each item", "Got 2 for 60")),
    "a class for an estimator": (
        lambda: fit(estimator=LogisticRegression),
        ("classifier or regressor object", "Got <class 'sklearn", "LogisticRegression() with its brackets"),
    ),
    "a name for an estimator": (
        lambda: fit(estimator="LogisticRegression"),
        ("classifier or regressor object", "Got 'LogisticRegression'", "Give an object"),
    ),
    "a scaler for an estimator": (
        lambda: fit(estimator=StandardScaler()),
        ("classifier or regressor object", "Got StandardScaler()", "Give an object"),
    ),
    "no estimators": (lambda: fit(estimator={}), ("must have 1 to 20", "Got 0", "Write {'lines'")),
    "a scaler among estimators": (
        lambda: fit(estimator={"lines": LOGISTIC, "scaled": StandardScaler()}),
        ("The estimator 'scaled' must be a scikit-learn classifier", "Got StandardScaler()", "Give an object"),
    ),
    "a number for the name of an estimator": (
        lambda: fit(estimator={1: LOGISTIC}),
        ("1 to 40 printable characters", "Got 1", "Choose another name"),
    ),
    "a long name of an estimator": (
        lambda: fit(estimator={"x" * 41: LOGISTIC}),
        ("1 to 40 printable characters", "Got 'xxx", "Choose another name"),
    ),
    "a name of an estimator that clears the screen": (
        lambda: fit(estimator={"\x1b[2J": LOGISTIC}),
        ("1 to 40 printable characters", "Got '\\x1b[2J'", "Choose another name"),
    ),
    "a name of an estimator that cannot be a part of a parameter": (
        lambda: fit(estimator={"a__b": LOGISTIC}),
        ("no '__'", "Got 'a__b'", "Choose another name"),
    ),
    "a classifier and a regressor": (
        lambda: fit(estimator={"lines": LOGISTIC, "ridge": Ridge()}),
        ("all classifiers or all regressors", "classifier 'lines' and the regressor 'ridge'", "Leave one kind out"),
    ),
    "an estimator among others that is not converted": (
        lambda: fit(estimator={"lines": LOGISTIC, "gauss": GaussianProcessClassifier(optimizer=None)}),
        ("Estimator 'gauss': ",),
    ),
    "early_stop by an estimator without scores": (
        lambda: fit(estimator={"lines": LOGISTIC, "votes": VotingClassifier([("a", LOGISTIC)])}, early_stop=0.01),
        ("Estimator 'votes': confidence and early_stop need an estimator with", "VotingClassifier has none"),
    ),
    "weights for an estimator that takes none": (
        lambda: search(estimator={"lines": LOGISTIC, "near": KNeighborsClassifier()}).fit(
            ITEMS, LABELS, costs=task.costs, sample_weight=[1.0] * 60
        ),
        ("Estimator 'near': With sample_weight", "Choose another estimator"),
    ),
    "several estimators for a greedy search": (
        lambda: GreedySearch({"lines": LOGISTIC}, task.space, deadline=1e-3).fit(ITEMS, LABELS, costs=task.costs),
        ("must have one estimator", "Got 1 by name", "use PolyDomSearch"),
    ),
    "estimator and space swapped": (
        lambda: PolyDomSearch(task.space, LOGISTIC).fit(ITEMS, LABELS),
        ("classifier or regressor object", "Got <FeatureSpace of"),
    ),
    "a list of features for a space": (
        lambda: fit(space=list(task.space.features)),
        ("must be a FeatureSpace", "Got [Feature(name='level'", "Import the module"),
    ),
    "a name for a space": (lambda: fit(space=SPACE), ("must be a FeatureSpace", f"Got '{SPACE}'", "Import")),
    "a misspelt scoring": (
        lambda: fit(scoring="acuracy"),
        ("must be the name of a scorer", "Got acuracy. Did you mean accuracy?"),
    ),
    "a metric for a scoring": (
        lambda: fit(scoring=accuracy_score),
        ("must be a scorer of scikit-learn", "<function accuracy_score", "make_scorer"),
    ),
    "cv=1": (lambda: fit(cv=1), ("from 2 to the number of items in the smallest class (20)", "Got 1")),
    "cv above the smallest class": (lambda: fit(cv=21), ("from 2 to the number of items in the smallest", "Got 21")),
    "cv of a text": (lambda: fit(cv="five"), ("must be splittable", "cv='five'", "an integer")),
    "an alpha below 1": (lambda: fit(alpha=0.98), ("alpha must be a number from 1", "Got 0.98")),
    "several alphas": (lambda: fit(alpha=[1.1, 1.0]), ("must be max_trainings or max_seconds", "Got neither")),
    "a misspelt tolerance": (lambda: fit(tolerance="Auto"), ("a number from 0 to inf, or 'auto'", "Got 'Auto'")),
    "a quantile in percent": (lambda: fit(quantile=99.9), ("from 1e-09 to 1", "Got 99.9")),
    "no workers": (lambda: fit(n_jobs=0), ("a number of workers, or -1 for all cores", "Got 0")),
    "workers of a text": (lambda: fit(n_jobs="all"), ("a number of workers, or -1", "Got 'all'")),
    "half workers": (lambda: fit(n_jobs=1.5), ("a number of workers, or -1", "Got 1.5")),
    "one size for a range": (lambda: fit(size_range=100), ("must be a pair (low, high)", "Got 100")),
    "a falling range of sizes": (lambda: fit(size_range=(9, 8)), ("low <= high", "Got (9.0, 8.0)")),
    "a number for a record": (lambda: fit(limits=40), ("must be a SearchLimits. Got 40", "limits=SearchLimits(...)")),
    "no trainings": (lambda: fit(max_trainings=0), ("an integer of at least 1, or None", "Got 0")),
    "seconds of a text": (lambda: fit(max_seconds="1h"), ("max_seconds must be a number", "Got '1h'")),
    "early_stop=True": (lambda: fit(early_stop=True), ("a number from 0 to 1", "Got True")),
    "memory of a number": (lambda: fit(memory=5), ("must be writable", "not int", "Choose another, or None")),
    "a file of costs by its name": (
        lambda: fit(costs="pi.costs"),
        ("must be CostSamples, a DeviceProfile, or UnitTimes", "Got 'pi.costs'", "load_costs(file)"),
    ),
    "a profile by its name": (
        lambda: fit(costs="raspberry_pi_4b"),
        ("must be CostSamples", "Got 'raspberry_pi_4b'", "DeviceProfile.named(name)"),
    ),
    "costs of other features": (lambda: fit(costs=OTHER), ("must be of the features and steps", "Got ('a',)")),
    "one λ": (
        lambda: GreedySearch(LOGISTIC, task.space, deadline=1e-3, lambdas=0.1).fit(ITEMS, LABELS, costs=task.costs),  # type: ignore[arg-type]
        ("a sequence of numbers, such as (0.0, 0.1)", "Got 0.1"),
    ),
}

BUILD = {"space": SPACE, "--items": "items.npz", "--deadline": "1ms", "--out": "new.bundle"}
CHANGES: list[tuple[dict[str, str], tuple[str, ...]]] = [
    ({"space": "examples/x.py:space"}, ("no path", "Write x:space and start the command in the folder examples.")),
    ({"space": "package/module:space"}, ("no path", "Write module:space", "in the folder package.")),
    ({"space": ".module:space"}, ("must be MODULE:NAME", "Got .module:space", "Write module:space.")),
    ({"space": "tests.builder.task:spaec"}, ("must have the name spaec", "Did you mean space?")),
    (
        {"space": "tests.builder.task:costs"},
        ("must be a feature space", "Got a UnitTimes", "Did you mean tests.builder.task:space?"),
    ),
    ({"--items": "items.npy"}, ("must be a packed .npz file", "It is not", "write_packed")),
    ({"--items": "items.csv"}, ("must be a packed .npz file", "It is not", "MODULE:FUNCTION")),
    ({"--items": "bare.npz"}, ("must give a label for each item", "the array label")),
    ({"--items": "tests.builder.task:level"}, ("must be a function without arguments", "missing 1 required")),
    ({"--items": "tests.builder.task:items"}, ("one (item, label) after the other", "Got all items and all labels")),
    ({"--deadline": "5"}, ("a time with a unit", "such as 2ms", "Got 5")),
    ({"--deadline": "5sec"}, ("a time with a unit", "such as 2ms", "Got 5sec")),
    ({"--deadline": "1ms-4ms"}, ("a time with a unit", "Got 1ms-4ms")),
    ({"--deadline": "4ms:1ms"}, ("must be rising, from the shortest deadline", "Got 4ms:1ms. Write 1ms:4ms.")),
    ({"--profile": "raspbery_pi_4b"}, ("must be one of", "raspberry_pi_4b", "Got raspbery_pi_4b")),
    ({"--profile": "items.npz"}, ("must be one of", "Got items.npz", "Choose one")),
    ({"--profile": "no.costs"}, ("must be a readable costs file", "No such file", "Run `polydom-node measure`")),
    ({"--estimator": "LogisticRegression"}, ("must be MODULE:NAME", "Got LogisticRegression", "Write")),
    ({"--estimator": "sklearn.svm.SVC"}, ("must be MODULE:NAME", "Write, for example, sklearn.svm:SVC.")),
    ({"--estimator": "sklearn.svm:SVC"}, ("estimator with its settings", "Got the class SVC", "give MODULE:estimator")),
    ({"--estimator": "lines=LogisticRegression"}, ("must be MODULE:NAME", "Got LogisticRegression", "Write")),
    (
        {"--estimator": "=tests.builder.searches:LOGISTIC"},
        ("1 to 40 printable characters", "Got ''", "Choose another name"),
    ),
    ({"--tolerance": "Auto"}, ("must be a number, or auto", "Got Auto. Did you mean auto?")),
    ({"--alpha": "0.9"}, ("alpha must be a number from 1", "Got 0.9")),
    ({"--cv": "1"}, ("cv must be from 2", "Got 1")),
    ({"--jobs": "0"}, ("a number of workers", "Got 0")),
    ({"--sizes": "100-200"}, ("must be LOW:HIGH or one size", "Got 100-200")),
    ({"--quantile": "99.9"}, ("above 0, at most 1", "Got 99.9")),
    ({"--out": "items.npz"}, ("must be a new folder or an old bundle", "It is neither")),
]
LINES: list[tuple[str, tuple[str, ...]]] = [
    ("costs raspberry_pi_4b", ("must be a readable costs file", "No such file", "a device profile has no such times")),
    ("costs items.npz", ("must be a file of cost samples", "Got b'PK", "Measure again")),
    (
        "simulate FOLDER --costs raspberry_pi_4b",
        ("must be a readable costs file", "No such file", "Run `polydom-node measure`"),
    ),
    ("simulate FOLDER --costs COSTS --period 20ms", ("as they come, rehearsed", "They have none", "Measure again")),
    ("simulate COSTS --costs FOLDER", ("must be a bundle folder", "Got a file", "Give the path of the folder")),
    ("verify no.bundle", ("must be a bundle folder", "Got no such folder", "Give the path")),
    ("inspect items.npz", ("must be a bundle folder", "Got a file", "Give the path of the folder")),
    ("measure SPACE", ("COMMAND must be one of", "Got measure.")),
]
WRITTEN = [
    *((["build", *(w for pair in (BUILD | c).items() for w in pair if w != "space")], parts) for c, parts in CHANGES),
    *((line.split(), parts) for line, parts in LINES),
]


@pytest.mark.parametrize(("does", "parts"), CODE.values(), ids=CODE.keys())
def test_mistake_in_code_is_told_with_its_cure(does: Callable[[], object], parts: tuple[str, ...]) -> None:
    with pytest.raises(PolyDomError) as caught:
        does()

    assert [part for part in parts if part not in str(caught.value)] == []


@pytest.mark.parametrize(("words", "parts"), WRITTEN, ids=lambda value: " ".join(value)[:90])
def test_mistake_on_the_command_line_is_told_with_its_cure(
    words: list[str],
    parts: tuple[str, ...],
    folder: Path,
    board_costs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line, after the usage if an argument cannot be read."""
    monkeypatch.chdir(tmp_path)
    write_packed("items.npz", ITEMS, LABELS)
    write_packed("bare.npz", ITEMS)
    np.save("items.npy", np.ones((3, 5)))
    Path("items.csv").write_text("1,2,3\n")
    names = {"FOLDER": str(folder), "COSTS": str(board_costs)}
    try:
        code: object = main([names.get(word, word) for word in words])
    except SystemExit as e:
        code = e.code

    *usage, message = capsys.readouterr().err.splitlines()
    assert code == 2
    assert [part for part in parts if part not in message] == []
    assert usage == [] or usage[0].startswith("usage: ")


def test_a_deadline_in_milliseconds_is_warned_of() -> None:
    """It leaves nothing to choose, since everything fits."""
    with pytest.warns(UserWarning, match=r"Deadlines are in seconds: 0\.002 is 2 ms\. The deadline of 2 s is more"):
        fit(deadline=2, alpha=2.0)
