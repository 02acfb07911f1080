"""How the promise about late answers was kept, in words."""

import math

import pytest

from polydom_runtime.binomial import chance_of
from polydom_runtime.describing.kept_promise import KeptPromise


@pytest.mark.parametrize(("misses", "items", "rate"), [(1, 1, 0.3), (3, 10, 0.5), (9, 250, 0.01), (40, 100_000, 2e-4)])
def test_chance_of_as_many_is_the_tail_of_the_binomial_distribution(misses: int, items: int, rate: float) -> None:
    fewer = sum(math.comb(items, k) * rate**k * (1.0 - rate) ** (items - k) for k in range(misses))
    assert chance_of(misses, items, rate) == pytest.approx(1.0 - fewer, rel=1e-6)


def test_chance_at_the_ends() -> None:
    assert [chance_of(k, 5, rate) for k, rate in ((0, 0.0), (1, 0.0), (5, 1.0))] == [1.0, 0.0, 1.0]
    assert 0.0 <= chance_of(900, 1000, 0.01) < 1e-12


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (KeptPromise(0, 0, 0.01), "The promise was kept: 0 of 0 answers were late, 0 %; promised is at most 1 %."),
        (
            KeptPromise(29, 100, 0.29),
            "The promise was kept: 29 of 100 answers were late, 29 %; promised is at most 29 %.",
        ),
        (
            KeptPromise(4, 250, 0.01),
            "The promise was missed, maybe by chance: 4 of 250 answers were late, 1.6 %; promised is at most 1 %. By "
            "chance alone, as many are late once in 4 such runs.",
        ),
        (
            KeptPromise(63, 1500, 0.01, paused=60),
            "The promise was broken: 63 of 1,500 answers were late, 4.2 %; promised is at most 1 %. By chance alone, "
            "as many are late less than once in 1,000,000 such runs. 60 of them would be late by any plan: "
            "the machine paused, or the item had waited.",
        ),
        (
            KeptPromise(1, 3, 0.0),
            "The promise was broken: 1 of 3 answers were late, 33 %; promised is at most 0 %. By chance alone, as many "
            "are late less than once in 1,000,000 such runs.",
        ),
    ],
)
def test_kept_and_broken_promises_are_told_with_their_chance(kept: KeptPromise, said: str) -> None:
    assert str(kept) == said


def test_plain_data_has_the_verdict_and_its_text() -> None:
    kept = KeptPromise(9, 250, 0.01)

    assert kept.to_json() == {
        **{"late": 9, "answers": 250, "promised": 0.01, "paused": 0, "kept": False, "chance": 0.00106},
        "text": str(kept),
    }
