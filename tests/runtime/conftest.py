"""A small bundle that needs no training: hand-made linear models over two features and a shared step."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime import CostFunction, Feature, FeatureSpace, Step
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Interval
from polydom_runtime.bundles.index_file import DIGEST_FILE, INDEX_FILE, digest_line, encode
from polydom_runtime.bundles.model_entry import MODEL_FOLDER, ModelEntry, model_file
from polydom_runtime.bundles.unit_times import StepTime
from polydom_runtime.device.tiny_models import constant_classifier as constant_model
from polydom_runtime.supervision import hand_over
from polydom_runtime.testing import ManualClock
from tests.bundle_parts import bundle_of

US = 1e-6


class World:
    """A space whose extractors take the time that a test tells them to, on a clock that only they move."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.seconds = {"half": 2 * US, "mean": 10 * US, "spread": 20 * US, "ends": 50 * US}
        self.calls: list[str] = []
        self.results: dict[str, Any] = {}
        half = Step("half", self._timed("half", lambda x: x[: max(len(x) // 2, 1)]))
        self.space = FeatureSpace(
            [
                Feature("mean", self._timed("mean", lambda x: [x.mean()]), step=half),
                Feature("spread", self._timed("spread", lambda x: [x.min(), x.max()]), width=2, step=half),
                Feature("ends", self._timed("ends", lambda x: [x[0], x[-1], len(x)]), width=3),
            ],
            size=len,
        )

    def _timed(self, name: str, compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            self.calls.append(name)
            self.clock.advance(seconds=self.seconds[name])
            result = self.results.get(name, compute)
            if isinstance(result, Exception):
                raise result
            return result(x) if callable(result) else result

        return run


@pytest.fixture(scope="session", autouse=True)
def short_hand_overs() -> Iterator[None]:
    """Sleep shortly where the hand-over to a worker is measured: no test says how long one takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hand_over, "ASLEEP_S", 1e-4)
        yield


@pytest.fixture
def world() -> World:
    return World()


ORDERS = {(0,): (0.7, 1), (0, 1): (0.8, 0), (0, 1, 2): (0.9, 1)}
"""Each model's accuracy and constant answer."""


def make_bundle() -> tuple[Bundle, list[bytes]]:
    widths = (1, 2, 3)
    data = [constant_model(sum(widths[i] for i in order), answer) for order, (_, answer) in ORDERS.items()]
    models = tuple(
        ModelEntry(order, accuracy, 5 * US, len(d), hashlib.sha256(d).digest())
        for (order, (accuracy, _)), d in zip(ORDERS.items(), data, strict=True)
    )
    # Costs at size n: mean 10, spread 20 + n/10, ends 50 + n; with the step 2, a model 5 and dispatch 1 µs.
    bundle = bundle_of(
        names=("mean", "spread", "ends"),
        widths=widths,
        classes=("no", "yes"),
        sizes=(1.0, 1000.0),
        budgets=(100 * US, 200 * US),
        costs=(
            CostFunction.of(10 * US),
            CostFunction.of(20 * US, linear=0.1 * US),
            CostFunction.of(50 * US, linear=1 * US),
        ),
        steps=(StepTime("half", 0b011, CostFunction.of(2 * US)),),
        dispatch=CostFunction.of(1 * US),
        prior=(0, 0.5),
        models=models,
        shipped=(0, 1, 2),
        intervals=(Interval(1, 1.0, 1000.0), Interval(2, 1.0, 1000.0), Interval(3, 1.0, 1000.0)),
    )
    return bundle, data


def write(folder: Path, bundle: Bundle, models: list[bytes]) -> Path:
    (folder / MODEL_FOLDER).mkdir(parents=True)
    for number, data in enumerate(models):
        (folder / MODEL_FOLDER / model_file(number)).write_bytes(data)
    index = encode(bundle)
    (folder / INDEX_FILE).write_bytes(index)
    (folder / DIGEST_FILE).write_bytes(digest_line(index))
    return folder


@pytest.fixture
def bundle_folder(tmp_path: Path) -> Path:
    return write(tmp_path / "small.bundle", *make_bundle())
