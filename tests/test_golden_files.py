"""Files of each format that were written once and must stay readable; a golden bundle has a test of its own."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from polydom_builder.verification.proof_file import PROOF_FILE, encode_proof, load_proof
from polydom_runtime.certification.certificate import Certificate
from polydom_runtime.learning import learned_file
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.records.flight_file import load_flight
from tests.runtime.learning.test_learned_file import ROWS
from tests.runtime.measuring.test_costs_file import written

GOLDEN = Path(__file__).parent / "golden"


def test_flight() -> None:
    flight = load_flight(GOLDEN / "format_1.flight")
    header, (first, *_, last) = flight.header, flight.records

    assert (header.names, header.classes) == (("mean", "spread", "ends"), ("no", "yes"))
    assert header.deadline == pytest.approx(2e-4)
    assert (len(flight.records), flight.n_torn, header.capacity) == (4, 0, 4)
    assert (first.sequence, first.number, last.sequence, last.number) == (6, 5, 9, 8)
    assert (last.features, last.feature_ns, last.answered) == ((0, 1), (10_000, 30_000), (0, 1))
    assert (last.label, last.reason, last.elapsed_ns, last.confidence) == (1, "planned", 50_008, None)
    assert [record.margin for record in flight.records] == [1.0, 1.0, 1.0, 1.25]


def test_costs(tmp_path: Path) -> None:
    samples = load_costs(GOLDEN / "format_1.costs")

    assert (samples.units, samples.n_rounds, set(samples.items)) == (("mean", "(before)"), 40, {"hot", "cold"})
    assert written(tmp_path / "new.costs").read_bytes() == (GOLDEN / "format_1.costs").read_bytes()


def test_certificate(tmp_path: Path) -> None:
    certificate = Certificate.read(GOLDEN / "format_1.certificate.json")
    certificate.write(tmp_path / "new.json")

    assert (certificate.verdict, certificate.items, certificate.misses) == ("undecided", 59, 2)
    assert [miss.item for miss in certificate.missed] == [5, 6]
    assert "\nlate at most 1 of any 20 answers: broken, 1 too many, 2 in the worst case\n" in str(certificate)
    assert "\nall times were planned with a margin of 1.00 to 1.56, 1.25 at the end\n" in str(certificate)
    assert (tmp_path / "new.json").read_bytes() == (GOLDEN / "format_1.certificate.json").read_bytes()


def test_learned(tmp_path: Path) -> None:
    kept = learned_file.read_learned(GOLDEN / "format_1.learned")
    learned = kept.learned

    assert learned_file.encode(kept) == (GOLDEN / "format_1.learned").read_bytes()
    assert (kept.machine["cpu"], kept.saved, kept.warnings) == ("golden", "2026-11-29T12:00:00Z", ("warm",))
    assert kept.circumstances == (0.75, 0x50000, 1.0, ("performance",), 61.5, 32, 0.02)
    assert (learned.answers, learned.margin, learned.engines[0], learned.rows) == (700, 1.3, "numpy", ROWS)


def test_proof(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "format_1.proof.npz", tmp_path / PROOF_FILE)
    proof = load_proof(tmp_path)
    (tmp_path / "new.npz").write_bytes(encode_proof(proof))

    assert proof.grounds is not None
    with np.load(GOLDEN / "format_1.proof.npz") as old, np.load(tmp_path / "new.npz") as new:
        assert {*old} == {*new}
        assert all(old[name].tobytes() == new[name].tobytes() for name in old)
