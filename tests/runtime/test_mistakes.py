"""Mistakes of a newcomer on the node: each message says what must hold, what was got, and what to do."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import (
    CostFunction,
    DeviceProfile,
    Feature,
    FeatureSpace,
    PolyDomError,
    Predictor,
    Seams,
    Step,
    SupervisedPredictor,
    UnitTimes,
    load_bundle,
    load_costs,
    measure,
    write_packed,
)
from polydom_runtime.__main__ import main
from tests.runtime.conftest import make_bundle, write
from tests.runtime.node_space import space

SPACE = "tests.runtime.node_space:space"
ITEM = np.arange(5.0)
BUNDLE, _ = make_bundle()


def extract(returned: object, width: int = 1) -> object:
    return FeatureSpace([Feature("a", lambda item: returned, width=width)], size=len).extract_all(ITEM)


def feature(*arguments: Any, **options: Any) -> FeatureSpace:
    return FeatureSpace([Feature(*arguments, **options)], size=len)


WRONG: Any = {  # what is of another type than the annotation says
    "path": "node.bundle",
    "space": "tests.runtime.node_space:space",
}
CODE: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "a function for a Feature": (
        lambda: FeatureSpace([np.mean], size=len),  # type: ignore[list-item]
        ("must be a list of Feature objects", "Got <function mean", "Write, for example, FeatureSpace([Feature("),
    ),
    "a dict of functions": (
        lambda: FeatureSpace({"mean": np.mean}, size=len),  # type: ignore[arg-type]
        ("must be a list of Feature objects", "Got 'mean'", "Write"),
    ),
    "one Feature without a list": (
        lambda: FeatureSpace(Feature("mean", np.mean), size=len),  # type: ignore[arg-type]
        ("must be a list of Feature objects", "Got Feature(name='mean'", "Write"),
    ),
    "no features": (lambda: FeatureSpace([], size=len), ("must have 1 to", "Got 0")),
    "function and name swapped": (
        lambda: feature(np.mean, "mean"),
        ("must have a function", "Got Feature(name=<function mean", "Write Feature('name', function"),
    ),
    "a function that was called": (
        lambda: feature("mean", np.mean([1.0])),
        ("must have a function", "extract=", "Write Feature('name', function"),
    ),
    "a function for a Step": (
        lambda: feature("mean", np.mean, step=np.diff),
        ("a Step with a function or none", "step=<function diff", "step=Step('name', function)"),
    ),
    "a Step without a function": (
        lambda: feature("mean", np.mean, step=Step("diff", None)),  # type: ignore[arg-type]
        ("a Step with a function or none", "compute=None", "step=Step('name', function)"),
    ),
    "two features of one name": (
        lambda: FeatureSpace([Feature("a", np.mean), Feature("a", np.std)], size=len),
        ("different names of printable", "Got ['a', 'a']"),
    ),
    "a width of 0": (lambda: feature("a", np.mean, width=0), ("must be a positive integer", "Got 0")),
    "a number for the size": (
        lambda: FeatureSpace([Feature("a", np.mean)], size=100),  # type: ignore[arg-type]
        ("must be a function of an item", "such as len", "Got 100"),
    ),
    "a size of two numbers": (
        lambda: measure(FeatureSpace([Feature("a", np.mean)], size=np.shape), [ITEM]),
        ("must return one number", "Got (5,)"),
    ),
    "a feature of another width": (
        lambda: extract([1.0, 2.0]),
        ("must return 1 real numbers", "Got [1.0, 2.0]", "Correct what it returns, or its width"),
    ),
    "a feature without return": (
        lambda: extract(None),
        ("'a' must return 1 real numbers", "Got None", "Correct what it returns"),
    ),
    "a feature that returns a text": (
        lambda: extract("high"),
        ("'a' must return 1 real numbers", "Got 'high'", "Correct what it returns"),
    ),
    "a feature that returns a dict": (
        lambda: extract({"mean": 1.0}),
        ("must return 1 real numbers", "Got {'mean': 1.0}", "Correct what it returns"),
    ),
    "a feature that returns NaN": (
        lambda: extract(float("nan")),
        ("must return 1 finite numbers", "Got nan", "return a finite number"),
    ),
    "a feature that needs two arguments": (
        lambda: feature("a", lambda item, rate: [1.0]).extract_all(ITEM),
        ("must work on every item", "missing 1 required positional argument: 'rate'"),
    ),
    "a feature that sorts the item": (
        lambda: feature("a", lambda item: item.sort()).extract_all(ITEM),
        ("must work on every item", "read-only"),
    ),
    "a misspelt feature": (
        lambda: space.mask_of(["maen"]),
        ("must be one of mean, spread, ends", "Got maen", "Did you mean mean?"),
    ),
    "Predictor of a path": (
        lambda: Predictor(WRONG["path"], space),
        ("The bundle must be a loaded one", "Got 'node.bundle'", "Write Predictor.load(folder, space)"),
    ),
    "Predictor with swapped arguments": (
        lambda: Predictor(space, BUNDLE),  # type: ignore[arg-type]
        ("must be a FeatureSpace", "Got <Bundle of 3 features", "Import the module"),
    ),
    "load with swapped arguments": (
        lambda: Predictor.load(space, WRONG["path"]),  # type: ignore[arg-type]
        (
            "must be given by the path of its folder",
            "Got <FeatureSpace of 3 features",
            "The space comes after",
        ),
    ),
    "load of a loaded bundle": (
        lambda: load_bundle(BUNDLE),  # type: ignore[arg-type]
        ("must be given by the path of its folder", "Got <Bundle of 3 features"),
    ),
    "Predictor with the name of a space": (
        lambda: Predictor(BUNDLE, WRONG["space"]),
        ("must be a FeatureSpace", f"Got '{SPACE}'", "Import the module"),
    ),
    "load of no folder": (
        lambda: Predictor.load("no.bundle", space),
        ("must be a bundle folder", "Got no such folder", "Give the path of the folder"),
    ),
    "a deadline of a text": (
        lambda: Predictor(BUNDLE, space, deadline="2ms"),  # type: ignore[arg-type]
        ("must be a positive number of seconds", "Got '2ms'"),
    ),
    "an engine of another kind": (
        lambda: Predictor(BUNDLE, space, seams=Seams(engine="torch")),  # type: ignore[arg-type]
        ("must be one of onnxruntime, numpy", "Got torch"),
    ),
    "a deadline of 0": (lambda: Predictor(BUNDLE, space, deadline=0), ("must be a positive number", "Got 0")),
    "a deadline that is too short": (
        lambda: Predictor(BUNDLE, space, deadline=2e-9),
        ("must be at least 1 µs", "Got 2 ns", "Choose a longer one"),
    ),
    "a misspelt policy": (
        lambda: Predictor(BUNDLE, space, policy="anytim"),  # type: ignore[arg-type]
        ("must be one of anytime, strict", "Got anytim", "Did you mean anytime?"),
    ),
    "early stops without a bundle for it": (
        lambda: Predictor(BUNDLE, space, early_stop=True),
        ("must be built with early_stop", "built without"),
    ),
    "a supervised predictor of a space": (
        lambda: SupervisedPredictor("node.bundle", space),  # type: ignore[arg-type]
        ("must be a text MODULE:NAME", "Got <FeatureSpace of 3 features"),
    ),
    "measure a list of features": (
        lambda: measure(list(space.features), [ITEM]),  # type: ignore[arg-type]
        ("The space must be a FeatureSpace", "Got [Feature(", "Import the module"),
    ),
    "measure one item": (
        lambda: measure(space, ITEM),  # type: ignore[arg-type]
        ("must be a list of items", "Got one array of shape (5,)", "Put a single item into a list"),
    ),
    "measure without items": (lambda: measure(space, []), ("at least one item", "Got none")),
    "measure with a quantile in percent": (
        lambda: measure(space, [ITEM], quantile=99.9),
        ("the quantile above 0 and at most 1", "99.9"),
    ),
    "measure on no processor": (
        lambda: measure(space, [ITEM] * 9, cpu=4096),
        ("The processor must be one of", "Got 4096", "--cpuset-cpus"),
    ),
    "times that are numbers": (
        lambda: UnitTimes.given({"mean": 1e-6}),  # type: ignore[dict-item]
        ("must be a CostFunction", "Got 1e-06", "Write, for example, CostFunction.of"),
    ),
    "a negative time": (lambda: CostFunction.of(-1.0), ("non-negative", "Got (-1.0,")),
    "costs of a profile": (
        lambda: load_costs("raspberry_pi_4b"),
        ("must be a readable costs file", "No such file", "Run `polydom-node measure`"),
    ),
    "a misspelt profile": (
        lambda: DeviceProfile.named("rasberry_pi_4b"),
        ("must be one of", "raspberry_pi_4b", "Got rasberry_pi_4b", "Did you mean raspberry_pi_4b"),
    ),
    "items that are lists": (
        lambda: write_packed("items.npz", [[1.0, 2.0]]),  # type: ignore[list-item]
        ("must be numpy arrays", "Got list", "np.asarray"),
    ),
    "no items to write": (lambda: write_packed("items.npz", []), ("at least one", "Got none")),
    "labels of other items": (
        lambda: write_packed("items.npz", [ITEM], ["a", "b"]),
        ("one label for each item", "Got 2 for 1 items"),
    ),
}

COMMANDS: dict[str, tuple[str, ...]] = {
    "run no.bundle SPACE --items items.npz": ("must be a bundle folder", "Got no such folder", "Give the path"),
    "run items.npz SPACE --items items.npz": ("must be a bundle folder", "Got a file", "Give the path of the folder"),
    "run empty SPACE --items items.npz": ("must be a bundle folder", "no file index.msgpack", "copy it whole"),
    "run half.bundle SPACE --items items.npz": ("0000.onnx must be a readable file", "Copy the whole bundle folder"),
    "run SPACE node.bundle --items items.npz": (f"{SPACE} must be a bundle folder", "Got no such folder"),
    "run node.bundle tests.runtime.node_space:other --items items.npz": (
        "must have the feature names",
        "Got mean, spread.",
        "Use the module that the bundle was built with",
    ),
    "run node.bundle examples/x.py:space --items items.npz": (
        "must be MODULE:NAME, and no path",
        "Got examples/x.py:space",
        "Write x:space and start the command in the folder examples.",
    ),
    "run node.bundle package/x:space --items items.npz": ("no path", "Write x:space", "in the folder package."),
    "run node.bundle ../x:space --items items.npz": ("no path", "Write x:space", "in the folder ...\n"),
    "run node.bundle /a/b/x.py:space --items items.npz": ("no path", "Write x:space", "in the folder /a/b."),
    "run node.bundle C:\\a\\x.py:space --items items.npz": ("no path", "Write x:space", "in the folder C:/a."),
    "run node.bundle .x:space --items items.npz": ("must be MODULE:NAME", "Got .x:space", "Write x:space.\n"),
    "run node.bundle x.py:space --items items.npz": ("must be MODULE:NAME", "Write x:space.\n"),
    "run node.bundle x.py --items items.npz": ("must be MODULE:NAME", "Write, for example, x:NAME.\n"),
    "run node.bundle x.space --items items.npz": ("must be MODULE:NAME", "Write, for example, x:space.\n"),
    "run node.bundle space --items items.npz": ("must be MODULE:NAME", "Got space", "my_module:space"),
    "run node.bundle x:space() --items items.npz": ("must be MODULE:NAME", "Got x:space()", "Write x:space.\n"),
    "run node.bundle no_module:space --items items.npz": (
        "There must be a module no_module in",
        "Start the command in the folder of the module",
    ),
    "run node.bundle tests.runtime.node_space:spaec --items items.npz": (
        "must have the name spaec",
        "Did you mean space?",
    ),
    "run node.bundle tests.runtime.node_space:half --items items.npz": (
        "must be a feature space",
        "Got a Step",
    ),
    "run node.bundle SPACE --items items.npy": ("must be a packed .npz file", "It is not", "write_packed"),
    "run node.bundle SPACE --items items.csv": ("must be a packed .npz file", "It is not", "MODULE:FUNCTION"),
    "run node.bundle SPACE --items items.pickle": ("must be a packed .npz file", "It is not", "write_packed"),
    "run node.bundle SPACE --items raw.npz": ("must have the arrays", "Got X, y.", "write_packed"),
    "run node.bundle SPACE --items no.npz": ("must be a readable file, or MODULE:FUNCTION", "No such file"),
    "run node.bundle SPACE --items os.path:join": ("must be a function without arguments", "missing 1 required"),
    "run node.bundle SPACE --items os:getcwd": ("must return an iterable of items", "Got a text"),
    "run node.bundle SPACE --items os:sep": ("must be a function that returns items", "Got a text"),
    "run node.bundle SPACE --items items.npz --deadline 5": ("a time with a unit", "such as 2ms", "Got 5"),
    "run node.bundle SPACE --items items.npz --deadline 5sec": ("a time with a unit", "such as 2ms", "Got 5sec"),
    "run node.bundle SPACE --items items.npz --period 100us --deadline 200us": (
        "must not be longer than the period of 100 µs",
        "Got 200 µs",
        "Give a shorter deadline or a longer period",
    ),
    "run node.bundle SPACE --items items.npz --cpu 0": ("--cpu must come with --period", "--period is missing"),
    "run node.bundle SPACE --items items.npz --lock-memory": (
        "--lock-memory must come with --period",
        "--period is missing",
    ),
    "certify node.bundle SPACE --items items.npz --guard 200us": ("must be shorter than the deadline", "Got 200 µs"),
    "certify node.bundle SPACE --items items.npz --period 100us": (
        "must not be longer than the period of 100 µs",
        "Got 200 µs",
        "Give a shorter deadline or a longer period",
    ),
    "certify node.bundle SPACE --items items.npz --miss-rate 0.1%": ("a number above 0, at most 1", "Got 0.1%"),
    "measure SPACE --items items.npz --out times.txt": ("must end in .costs", "times.txt"),
    "measure SPACE --items items.npz --out no/such.costs": ("must exist and be writable", "It is not"),
    "measure SPACE --items items.npz --out new.costs --profile-out no/such.toml": ("no/such.toml must exist",),
    "tune node.bundle SPACE --items items.npz --out no/such.learned": ("no/such.learned must exist",),
    "measure SPACE --items items.npz --out new.costs --seconds 30s": ("must be a positive, finite number", "Got 30s"),
    "info items.npz": ("must be a bundle folder", "Got a file", "Give the path of the folder"),
    "info node.tar": ("must be a bundle folder", "Got a file, which `tar -xf` unpacks."),
    "info root": ("must be a bundle folder", "no file index.msgpack there, but releases: add /current to the path."),
    "flight items.npz": ("must be a flight recording", "Copy it again"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a bundle, half a bundle, and files of many kinds."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "node.bundle", *make_bundle())
    half = write(tmp_path / "half.bundle", *make_bundle())
    (half / "models" / "0000.onnx").unlink()
    (tmp_path / "empty").mkdir()
    (tmp_path / "root" / "current").mkdir(parents=True)
    (tmp_path / "node.tar").write_bytes(b"")
    write_packed("items.npz", [ITEM, ITEM])
    np.save("items.npy", np.ones((3, 5)))
    np.savez("raw.npz", X=np.ones((3, 5)), y=np.ones(3))
    (tmp_path / "items.csv").write_text("1,2,3\n")
    (tmp_path / "items.pickle").write_bytes(pickle.dumps([ITEM]))
    return tmp_path


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("does", "parts"), CODE.values(), ids=CODE.keys())
def test_mistake_in_code_is_told_with_its_cure(does: Callable[[], object], parts: tuple[str, ...]) -> None:
    with pytest.raises(PolyDomError) as caught:
        does()

    assert [part for part in parts if part not in str(caught.value)] == []


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("line", "parts"), COMMANDS.items(), ids=COMMANDS.keys())
def test_mistake_on_the_command_line_is_told_with_its_cure(
    line: str, parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, after the usage if an argument cannot be read."""
    try:
        code: object = main([SPACE if word == "SPACE" else word for word in line.split()])
    except SystemExit as e:
        code = e.code

    *usage, message = capsys.readouterr().err.splitlines(keepends=True)
    assert code == 2
    assert [part for part in parts if part not in message] == []
    assert usage == [] or usage[0].startswith("usage: ")


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_a_batch_is_answered_by_the_prior_and_its_reason() -> None:
    """An answer comes in any case: the reason says which feature failed."""
    bundle, _ = make_bundle()
    answer = Predictor(bundle, space, deadline=100.0, seams=Seams(run_of=lambda model: lambda: 1)).predict_one(
        [ITEM, ITEM]
    )

    assert answer.label == "no"
    assert answer.reason.endswith(" failed")
