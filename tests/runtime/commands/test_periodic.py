"""What the loop of ``polydom-node run`` tells about itself."""

from argparse import Namespace

import pytest

from polydom_runtime.commands.periodic import loop_data, run_loop
from tests.runtime.loop.test_busy_loop import BusyLoop

ARGUMENTS = Namespace(cpu=None, priority=None, lock_memory=False, rehearse=True)


def test_skipped_rehearsals_are_told_with_their_reason(capsys: pytest.CaptureFixture[str]) -> None:
    late = BusyLoop(lateness=lambda n: 5e-3 if 10 < n < 100 else 50e-6)

    found = loop_data(run_loop(ARGUMENTS, late.monitor(range(300), period=6e-3)))["rehearsals"]

    n, why = found["skipped"], "too little time was left before the item"
    assert n > 50
    assert found["skipped_since"] == {why: n}
    assert capsys.readouterr().err == (
        f"polydom-node: {n} rehearsals were skipped, so their items may have met cold code: {n} since {why}\n"
    )


def test_nothing_is_told_of_rehearsals_if_none_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    run_loop(ARGUMENTS, BusyLoop().monitor(range(50)))

    assert capsys.readouterr().err == ""
