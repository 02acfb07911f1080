"""Code of a feature space that tries to end the program, and signals that do."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Feature, FeatureError, FeatureSpace, ItemError, Predictor, Seams
from polydom_runtime.features import as_failure
from polydom_runtime.loop.stop import Stop, StopWaiting
from polydom_runtime.measuring.item_sizes import checked_size

from .conftest import World

ITEM = np.arange(10.0)
ALL = ("mean", "spread", "ends")


class Panic(BaseException):
    """As code in Rust raises it."""


def throw(error: BaseException) -> Callable[..., Any]:
    def leave(*_: object) -> None:
        raise error

    return leave


LEAVING: dict[str, Callable[..., Any]] = {
    "sys.exit": lambda _: sys.exit("no sound"),
    "quit": throw(SystemExit(0)),
    "GeneratorExit": throw(GeneratorExit()),
    "cancelled": throw(asyncio.CancelledError()),
    "panic": throw(Panic("index out of bounds")),
    "group": throw(BaseExceptionGroup("all", [SystemExit(1)])),
}


@pytest.fixture
def predictor(bundle_folder: Path, world: World) -> Predictor:
    return Predictor.load(bundle_folder, world.space, seams=Seams(clock=world.clock))


@pytest.mark.parametrize("part", ["ends", "half"])
@pytest.mark.parametrize("kind", LEAVING)
def test_feature_or_step_that_leaves_has_failed(predictor: Predictor, world: World, part: str, kind: str) -> None:
    world.results[part] = LEAVING[kind]

    answer = predictor.predict_one(ITEM)

    failed, features = {"ends": ("ends", ("mean", "spread")), "half": ("mean", ())}[part]
    assert answer.reason == f"{failed} failed"
    assert answer.features in (features, ("mean",), ())
    assert answer.error.startswith(f"{failed}: FeatureError: The code of a feature space must not end the program.")
    predictor.warm_up(ITEM)
    predictor.rehearse_with(ITEM)
    predictor.use_slack(1.0)


@pytest.mark.parametrize("kind", LEAVING)
def test_size_that_leaves_gets_the_prior(bundle_folder: Path, world: World, kind: str) -> None:
    space = FeatureSpace(world.space.features, lambda x: len(x) if len(x) == 10 else LEAVING[kind](x))
    predictor = Predictor.load(bundle_folder, space, seams=Seams(clock=world.clock))

    answer = predictor.predict_one(np.arange(11.0))

    assert (answer.reason, answer.features) == ("size failed", ())
    assert predictor.predict_one(ITEM).features == ALL
    with pytest.raises(ItemError, match="must work on every item"):
        checked_size(space, np.arange(11.0))


@pytest.mark.parametrize("kind", LEAVING)
def test_what_a_feature_returns_may_not_leave_either(predictor: Predictor, world: World, kind: str) -> None:
    class Values:
        __array__ = __len__ = __iter__ = lambda self, *_, **__: LEAVING[kind](self)

    world.results["ends"] = lambda _: Values()

    assert predictor.predict_one(ITEM).reason == "ends failed"


@pytest.mark.parametrize("kind", LEAVING)
def test_build_says_which_feature_leaves(kind: str) -> None:
    space = FeatureSpace([Feature("leaver", LEAVING[kind])], size=len)

    with pytest.raises(FeatureError, match="Feature 'leaver' must work on every item"):
        space.extract_all(ITEM)


@pytest.fixture
def usual() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


class Service:
    def stop(self, number: int, frame: object) -> None:
        self.leave()

    def leave(self) -> None:
        sys.exit(3)


HANDLERS: dict[str, tuple[Callable[..., Any], type[BaseException]]] = {
    "function": (lambda number, frame: sys.exit(3), SystemExit),
    "any arguments": (lambda *_: sys.exit(3), SystemExit),
    "method": (Service().stop, SystemExit),
    "loop": (Stop().on_signal, StopWaiting),
    "ctrl-c": (signal.default_int_handler, KeyboardInterrupt),
}


@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize("kind", HANDLERS)
@pytest.mark.parametrize("part", ["ends", "half"])
def test_signal_still_ends_the_program(predictor: Predictor, world: World, part: str, kind: str) -> None:
    handler, raised = HANDLERS[kind]
    signal.signal(signal.SIGTERM, handler)
    if isinstance(stop := getattr(handler, "__self__", None), Stop):
        stop.waiting = True
    world.results[part] = lambda _: signal.raise_signal(signal.SIGTERM)

    with pytest.raises(raised):
        predictor.predict_one(ITEM)

    del world.results[part]
    assert predictor.predict_one(ITEM).features == ALL


def test_failure_knows_the_line_it_came_from() -> None:
    with pytest.raises(SystemExit) as found:
        sys.exit(1)

    failure = as_failure(found.value)

    assert failure.__traceback__ is found.value.__traceback__
    assert "It raised SystemExit(1)." in str(failure)
