"""One table of deadlines: every command that tells what a bundle gives within a deadline prints the same figures."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder import GreedySearch, PolyDomSearch
from polydom_builder.__main__ import main
from polydom_builder.simulation.expected import table_of_build, with_outlook_of
from polydom_builder.simulation.recorded import Recorded
from polydom_runtime.__main__ import main as node_main
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Outlook
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.describing.knee import knee_of, knees
from polydom_runtime.describing.outlook_table import in_range, outlook_cells, times_of_regimes
from polydom_runtime.items.packing import write_packed
from polydom_runtime.measuring.cost_samples import CostSamples, Pauses
from polydom_runtime.measuring.journal import write_costs
from tests.builder import task
from tests.builder.board import drawn, samples
from tests.builder.reporting.pages import checked, text
from tests.builder.searches import FEW, US, made
from tests.builder.shared_memory import shared_memory

SIZES = np.geomspace(8, 2000, 60)


def measured(*, busy: bool) -> CostSamples:
    """Return costs of the board in all regimes: idle, or where each of 60 ms of calls pauses for .2 to 2 ms."""
    rng = np.random.default_rng(5)
    items = {"hot": drawn(SIZES, 6), "rehearsed": drawn(SIZES, 4, added=3 * US), "cold": drawn(SIZES, 4, added=20 * US)}
    lengths = rng.uniform(2e-4, 2e-3, 300).tolist()
    pauses = Pauses.of(20.0, lengths, 18.0, lengths) if busy else Pauses.of(20.0, [], 18.0)
    return samples(items=items, pauses=pauses)


KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "range": (PolyDomSearch, {"deadline": (60 * US, 500 * US)}),
    "greedy": (GreedySearch, {"deadline": (100 * US, 400 * US)}),
    "asked": (PolyDomSearch, {"deadline": (90 * US, 130 * US, 300 * US)}),
}


@pytest.fixture(scope="module", params=[(kind, busy) for kind in KINDS for busy in (False, True)], ids=str)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folder of a bundle, and the costs file that it was built with, measured idle or beside load."""
    kind, busy = request.param
    search, given = KINDS[kind]
    folder, costs = tmp_path_factory.mktemp("one"), measured(busy=busy)
    found = made(search, cv=3, memory=shared_memory(), quantile=0.95, **FEW[search], **given)
    found.fit(*task.items(), costs=costs).export(folder / "b")
    write_costs(folder / "board.costs", costs)
    return folder / "b", folder / "board.costs"


def cells(bundle: Bundle, regime: str = "hot") -> list[tuple[str, ...]]:
    """Return the figures of the bundle's own table: deadline, score, late, score alone, late alone, prior."""
    return [outlook_cells(o)[:-1] for o in times_of_regimes(bundle)[regime].outlook]  # type: ignore[index]


def printed(text: str, regime: str = "hot") -> list[tuple[str, ...]]:
    """Return the figures of a table with a regime at the begin of each line."""
    lines = (re.split(r"\s{2,}", line.strip()) for line in text.splitlines())
    return [tuple(line[1:7]) for line in lines if line[0] == regime and len(line) == 8]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs a command and returns what it printed."""

    def run(*words: object, node: bool = False) -> str:
        assert (node_main if node else main)([*map(str, words)]) == 0
        return capsys.readouterr().out

    return run


def test_all_commands_print_the_same_figures(
    built: tuple[Path, Path], said: Callable[..., str], tmp_path: Path
) -> None:
    folder, costs = built
    bundle = load_bundle(folder)

    texts = {
        "info": said("info", folder, node=True),
        "inspect": said("inspect", folder),
        "deadline": said("deadline", folder),
        "deadline with costs": said("deadline", folder, "--costs", costs),
    }

    for regime in times_of_regimes(bundle):
        for command, told in texts.items():
            assert printed(told, regime) == cells(bundle, regime), command
    assert texts["deadline"] == texts["deadline with costs"]


def test_replays_of_the_costs_of_the_build_repeat_its_table(built: tuple[Path, Path], said: Callable[..., str]) -> None:
    folder, costs = built
    bundle = load_bundle(folder)
    asked = {"hot": (), "rehearsed": ("--period", "20ms"), "cold": ("--period", "20ms", "--no-rehearse")}

    for regime, words in asked.items():
        rows = json.loads(said("simulate", folder, "--costs", costs, "--json", *words))["result"]["rows"]
        mine = [row for row in rows if row["policy"] == "anytime"]
        there = times_of_regimes(bundle)[regime].outlook  # type: ignore[index]
        assert [{name: row[name] for name in Outlook._fields} for row in mine] == [
            o._asdict() | {"features": list(o.features)} for o in there
        ]


def test_page_and_evaluation_state_the_figures_of_the_table(
    built: tuple[Path, Path], said: Callable[..., str], tmp_path: Path
) -> None:
    folder, costs = built
    bundle = load_bundle(folder)
    rows = in_range(bundle.times.outlook, bundle.promise)
    write_packed(tmp_path / "new.npz", *task.items(60, seed=3))

    for more in ((), ("--costs", costs)):
        said("report", folder, "--out", tmp_path / "page.html", *more)
        page = text(checked((tmp_path / "page.html").read_text()))
        assert [row for row in cells(bundle) if " ".join(row) not in page] == []
    evaluated = json.loads(
        said("evaluate", folder, "tests.builder.task:space", "--items", tmp_path / "new.npz", "--planned", "--json")
    )["result"]["deadlines"]
    stated = {o.deadline: o.score for o in rows}
    assert {at["deadline"]: at["stated"] for at in evaluated} == {
        at["deadline"]: stated[at["deadline"]] for at in evaluated
    }
    assert {rows[0].deadline, rows[-1].deadline} <= {at["deadline"] for at in evaluated}


def test_ends_of_the_range_and_deadlines_of_the_user_are_rows(built: tuple[Path, Path]) -> None:
    bundle = load_bundle(built[0])
    deadlines = [o.deadline for o in bundle.times.outlook]

    assert {*bundle.promise.budgets} <= {*deadlines}
    if bundle.promise.budgets == (90 * US, 300 * US):
        assert 130 * US in deadlines
        assert len(deadlines) <= 6


def test_shortest_useful_deadline_is_a_row_with_more_than_the_prior_right_above_one_without(
    built: tuple[Path, Path],
) -> None:
    for times in times_of_regimes(load_bundle(built[0])).values():
        useful = [not o.is_only_prior for o in times.outlook]
        first = useful.index(True)
        assert first == 1 or not any(useful[:first])
        assert times.outlook[first].deadline <= 1.05 * times.outlook[first - 1].deadline


def test_longer_deadlines_score_no_less_beyond_the_error_of_a_mean(built: tuple[Path, Path]) -> None:
    bundle = load_bundle(built[0])
    spread = max(m.accuracy for m in bundle.models) - min(bundle.prior.accuracy, 0.0)
    for regime, times in times_of_regimes(bundle).items():
        for short, long in zip(times.outlook, times.outlook[1:], strict=False):
            error = 2.0 * spread / np.sqrt(short.answers)
            assert long.score >= short.score - error, regime
            assert long.score_alone >= short.score_alone - error, regime


def test_machine_alone_is_the_machine_as_measured_but_for_pauses(built: tuple[Path, Path]) -> None:
    bundle = load_bundle(built[0])
    quiet = with_outlook_of(bundle, measured(busy=False))

    for o, without in zip(bundle.times.outlook, quiet.times.outlook, strict=True):
        assert (o.score_alone, o.late_alone) == (without.score, without.late)
        assert o.score <= o.score_alone
        assert o.late >= o.late_alone


def test_late_share_of_the_prior_does_not_grow_with_the_deadline(built: tuple[Path, Path]) -> None:
    """Its answers take as long at any deadline, so pauses hit them as often, and less often too late."""
    bundle = replace(load_bundle(built[0]), models=(), regimes={})
    bundle = replace(bundle, stored=bundle.stored._replace(shipped=(), intervals=(), sequences=()))
    deadlines = [100 * US * 2.0**k for k in range(5)]

    rows = with_outlook_of(bundle, measured(busy=True), deadlines).times.outlook

    assert all(o.prior_share == 1.0 for o in rows)
    assert [o.late for o in rows] == sorted((o.late for o in rows), reverse=True)
    assert rows[0].late > rows[-1].late > 0.0


def test_knee_and_its_half_are_rows(built: tuple[Path, Path]) -> None:
    bundle = load_bundle(built[0])
    rows = {o.deadline: o for o in bundle.times.outlook}

    knee = knees(bundle)["hot"]

    assert rows[knee.knee.deadline] == knee.knee
    assert knee.is_useful_from
    if knee.knee.deadline / 2.0 >= bundle.times.typical.dispatch(bundle.promise.sizes[0]):
        assert [o.deadline for o in knee.half] == [pytest.approx(knee.knee.deadline / 2.0)]


def test_recorded_answers_to_replay_are_the_same_ones_each_time(built: tuple[Path, Path]) -> None:
    bundle = load_bundle(built[0])

    one, other = (Recorded.of(bundle, measured(busy=True), "cold") for _ in range(2))

    assert np.array_equal(one.trials.seconds, other.trials.seconds)
    assert one.n_answers == other.n_answers == len(SIZES) * 4


@pytest.mark.parametrize("deadlines", [(60 * US, 500 * US), (60 * US, 61 * US, 500 * US), (499 * US, 500 * US)])
def test_half_of_the_knee_is_a_row_whatever_deadlines_are_asked_for(
    built: tuple[Path, Path], deadlines: tuple[float, ...]
) -> None:
    """The half may become the knee, and then the half of that is looked for."""
    bundle = load_bundle(built[0])
    bundle = replace(bundle, promise=bundle.promise._replace(budgets=(deadlines[0], deadlines[-1])))

    rows = table_of_build(bundle, Recorded.of(bundle, measured(busy=False)), deadlines, "hot")

    knee = knee_of("hot", rows, bundle.prior.accuracy, bundle.promise)
    assert knee is not None
    assert knee.half_is_known or knee.knee.deadline / 2.0 < bundle.times.typical.dispatch(bundle.promise.sizes[0])
