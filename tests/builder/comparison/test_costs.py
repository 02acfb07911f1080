"""The comparison of two costs files: times of every unit, and whether they changed by more than noise."""

from dataclasses import replace

import numpy as np
import pytest

from polydom_builder.commands.compare import print_comparison
from polydom_builder.comparison.costs import compare_costs
from polydom_builder.exceptions import ComparisonError
from polydom_runtime.measuring.cost_samples import AROUND, CostSamples
from tests.builder.board import samples

OLD = samples().rounds(slice(40))


def slower(unit: str, factor: float) -> CostSamples:
    seconds = OLD.seconds.copy()
    seconds[OLD.units.index(unit)] *= factor
    return replace(OLD, seconds=seconds)


def only(unit: str) -> CostSamples:
    """Return samples of one unit and of what comes around features."""
    units = unit, *AROUND
    rows = [OLD.units.index(unit) for unit in units]
    return replace(OLD, units=units, seconds=OLD.seconds[rows], loops=OLD.loops[rows], blocks=OLD.blocks[rows])


def test_a_file_does_not_differ_from_itself() -> None:
    found = compare_costs(OLD, OLD)

    assert OLD.units == found.units.same
    assert {(1.0, False)} == {(time.growth, time.is_beyond_noise) for time in found.times}
    assert len({time.size for time in found.times}) == 5


@pytest.mark.parametrize(("factor", "beyond"), [(2.0, True), (0.5, True), (1.01, False)])
def test_a_change_is_more_than_noise_or_not(factor: float, beyond: bool) -> None:
    found = compare_costs(OLD, slower("spread", factor))

    spread = [time for time in found.times if time.unit == "spread"]
    assert [pytest.approx(factor)] * 10 == [time.growth for time in spread]
    assert {beyond} == {time.is_beyond_noise for time in spread}
    assert {False} == {time.is_beyond_noise for time in found.times if time.unit != "spread"}


def test_noise_is_not_known_of_few_rounds() -> None:
    found = compare_costs(OLD, OLD.rounds(slice(8)))

    assert {None} == {time.is_beyond_noise for time in found.times}


def test_units_and_machines_differ() -> None:
    found = compare_costs(only("spread"), replace(OLD, machine={**OLD.machine, "device": "a newer board"}))

    assert found.units.same == ("spread", *AROUND)
    assert found.units.added == ("difference", "level", "roughness", "turns", "noise")
    assert found.facts["device"] == ("a board", "a newer board")


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (only("turns"), "must have a feature or step in common. Got level, and turns"),
        (
            replace(only("level"), sizes=OLD.sizes + 1e4),
            "some of the same item sizes. Got 8 to 2000 and 10008 to 12000",
        ),
    ],
    ids=["units", "sizes"],
)
def test_files_with_nothing_in_common_are_refused(new: CostSamples, message: str) -> None:
    with pytest.raises(ComparisonError, match=message.replace(".", r"\.")):
        compare_costs(only("level"), new)


def test_a_report_says_which_times_changed_by_more_than_noise(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(compare_costs(OLD, slower("noise", 3.0)))
    said = capsys.readouterr().out

    assert "units the same: difference, level, spread, roughness, turns, noise, (before), (waking), (after)\n" in said
    assert "times: 70 of 80 are the same\n" in said
    assert said.count("noise, typical (more than noise)") == 5


def test_sizes_are_those_that_both_measured() -> None:
    later = replace(OLD, sizes=np.geomspace(100, 9000, len(OLD.sizes)))

    sizes = sorted({time.size for time in compare_costs(OLD, later).times})

    assert [sizes[0], sizes[-1]] == pytest.approx([100.0, 2000.0])
