"""The fingerprint of the source of features."""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Feature, FeatureSpace
from polydom_runtime.measuring.fingerprint import source_fingerprint


def test_edited_helper_of_a_feature_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edited_helper.py").write_text("SCALE = 1\n")
    (tmp_path / "edited_space.py").write_text(
        "import edited_helper\n"
        "from polydom_runtime import Feature, FeatureSpace\n"
        "space = FeatureSpace([Feature('scaled', lambda x: [edited_helper.SCALE * x[0]])], size=len)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    space = importlib.import_module("edited_space").space
    before = source_fingerprint(space)

    assert source_fingerprint(space) == before
    (tmp_path / "edited_helper.py").write_text("SCALE = 2\n")
    assert source_fingerprint(space) != before


def test_function_within_a_partial_is_noticed() -> None:
    def scaled(x: np.ndarray, factor: float) -> list[float]:
        return [factor * x[0]]

    def space(factor: float) -> FeatureSpace:
        return FeatureSpace([Feature("scaled", partial(scaled, factor=factor))], size=len)

    assert source_fingerprint(space(1.0)) == source_fingerprint(space(1.0)) != source_fingerprint(space(2.0))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Any]:
    """Writes and imports a module by its name and source; the second time it only writes."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def imported(name: str, source: str) -> Any:
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return imported


def test_constant_that_is_imported_by_its_name_is_noticed(module: Callable[[str, str], Any], tmp_path: Path) -> None:
    module("only_numbers", "SCALE = 1\n")
    source = "from only_numbers import SCALE\ndef scaled(x): return [SCALE * x[0]]\n"
    space = one_feature(module("by_name", source).scaled)
    before = source_fingerprint(space)

    (tmp_path / "only_numbers.py").write_text("SCALE = 1  # as it was\n\n\n")
    assert source_fingerprint(space) == before
    (tmp_path / "only_numbers.py").write_text("SCALE = 2\n")
    assert source_fingerprint(space) != before


def test_helper_of_a_helper_is_noticed(module: Callable[[str, str], Any], tmp_path: Path) -> None:
    module("deepest", "def twice(x): return 2 * x\n")
    module("deeper", "def scaled(x):\n    import deepest\n    return deepest.twice(x)\n")
    space = one_feature(module("deep", "import deeper\ndef scaled(x): return [deeper.scaled(x[0])]\n").scaled)
    before = source_fingerprint(space)

    (tmp_path / "deepest.py").write_text("def twice(x): return 3 * x\n")
    assert source_fingerprint(space) != before


def test_values_that_a_function_holds_are_noticed(module: Callable[[str, str], Any]) -> None:
    source = (
        "import numpy as np\n"
        "SCALE = 1\n"
        "def closed(k): return lambda x: [k * x[0]]\n"
        "def default(k):\n    def f(x, k=k): return [k * x[0]]\n    return f\n"
        "def read(x): return [SCALE * x[0]]\n"
        "class Scaled:\n"
        "    def __init__(self, k): self.k = k\n"
        "    def __call__(self, x): return [self.k * x[0]]\n"
        "    def method(self, x): return [self.k * x[0]]\n"
        "def weigh(x, weights): return [weights @ x]\n"
    )
    m = module("holding", source)
    weighed = lambda k: partial(m.weigh, weights=np.full(99, k))  # noqa: E731
    for maker in (m.closed, m.default, m.Scaled, lambda k: m.Scaled(k).method, weighed):
        ones = source_fingerprint(one_feature(maker(1)))
        assert source_fingerprint(one_feature(maker(1))) == ones
        assert source_fingerprint(one_feature(maker(2))) != ones
    before = source_fingerprint(one_feature(m.read))
    m.SCALE = 2
    assert source_fingerprint(one_feature(m.read)) != before


def test_memory_for_work_is_not_noticed(module: Callable[[str, str], Any]) -> None:
    source = (
        "import numpy as np\n"
        "COUNT, SPACE = 0, np.zeros(9)\n"
        "def counting(x, seen=[], known={}):\n"
        "    global COUNT\n"
        "    COUNT += 1\n"
        "    seen.append(x[0]); known[x[0]] = SPACE[0] = x[0]\n"
        "    return [x[0]]\n"
    )
    space = one_feature(module("working", source).counting)
    before = source_fingerprint(space)
    space.extract_all(np.ones(3))
    assert source_fingerprint(space) == before


COUNTING = """
from functools import cached_property, partial
class Count:
    def __init__(self, k): self.n, self.k = 0, k
def raised(count): count.n += 1
def by_default(k):
    def f(x, count=Count(k)):
        count.n += 1
        return [x[0]]
    return f
def by_closure(k):
    count = Count(k)
    def f(x):
        count.n += 1
        return [x[0]]
    return f
def counted(x, count):
    raised(count)
    return [x[0]]
def by_partial(k): return partial(counted, count=Count(k))
class Holder:
    def __init__(self, k): self.count, self.k = Count(k), k
class ByHolder(Holder):
    def __call__(self, x):
        self.count.n += 1
        return [x[0]]
class ByHelper(Holder):
    def extract(self, x):
        raised(self.count)
        return [x[0]]
def by_method(k): return ByHelper(k).extract
class Named(Count):
    def __call__(self, x):
        setattr(self, "n", self.n + 1)
        return [x[0]]
class InDictionary(Count):
    def __call__(self, x):
        vars(self).update(n=self.n + 1)
        return [x[0]]
class Computed(Count):
    @cached_property
    def table(self): return self.k + 1
    def __call__(self, x): return [self.table]
class ByProperty(Count):
    @property
    def next(self):
        self.n += 1
        return self.n
    def __call__(self, x): return [self.next]
"""


@pytest.mark.parametrize(
    "maker",
    [
        "by_default",
        "by_closure",
        "by_partial",
        "ByHolder",
        "by_method",
        "Named",
        "InDictionary",
        "Computed",
        "ByProperty",
    ],
)
def test_attribute_that_work_changes_is_not_noticed_and_others_are(
    maker: str, module: Callable[[str, str], Any]
) -> None:
    made = getattr(module("counting", COUNTING), maker)
    space, other = one_feature(made(1)), one_feature(made(2))
    before = source_fingerprint(space)
    space.extract_all(np.ones(3))

    assert source_fingerprint(space) == before
    assert source_fingerprint(one_feature(made(1))) == before
    assert source_fingerprint(other) != before


def test_attribute_that_is_set_from_outside_is_noticed(module: Callable[[str, str], Any]) -> None:
    feature = module("set_up", COUNTING).Named(1)
    before = source_fingerprint(one_feature(feature))
    feature.k = 2

    assert source_fingerprint(one_feature(feature)) != before


def one_feature(function: Any) -> FeatureSpace:
    return FeatureSpace([Feature("scaled", function)], size=len)
