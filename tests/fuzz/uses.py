"""What the project does with a file of each format. An error that is not `PolyDomError` must not come out of it."""

import hashlib
import json
import warnings
from argparse import ArgumentParser
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from polydom_builder.commands import costs as costs_command
from polydom_builder.costs.carry_over import carried_cost, ratios
from polydom_builder.verification.proof_file import PROOF_FILE, load_proof
from polydom_builder.verification.verify import verify
from polydom_runtime import Feature, FeatureSpace, ManualClock, Predictor, Seams, load_bundle
from polydom_runtime.bundles.bundle import Bundle, Label
from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.bundles.engines import ENGINES, Engine
from polydom_runtime.bundles.index_file import DIGEST_FILE, INDEX_FILE, digest_line, encode
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.certification.certificate import Certificate
from polydom_runtime.commands import flight, info
from polydom_runtime.commands.options import add_options
from polydom_runtime.costs import CostFunction
from polydom_runtime.delivery.packed import unpacked
from polydom_runtime.device.calibration import KERNELS
from polydom_runtime.device.device_profile import DeviceProfile, dump
from polydom_runtime.exceptions import BundleFormatError, MeasurementError
from polydom_runtime.items.json_lines import json_lines
from polydom_runtime.items.sources import iterate, samples
from polydom_runtime.learning.learned_file import load_learned
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.policy.energy import EnergyBudget
from polydom_runtime.records.answer_scores import score_counter
from polydom_runtime.records.flight_file import load_flight
from polydom_runtime.records.metrics import Metrics
from polydom_runtime.records.metrics_files import JsonLines, PrometheusText
from polydom_runtime.records.recorder import FlightRecorder
from tests.bundle_parts import bundle_of
from tests.runtime.conftest import make_bundle, write
from tests.runtime.node_space import space
from tests.runtime.records.test_metrics import ANSWER, Watched, traced

from .seeds import GOLDEN, WIDTH

ITEMS = (np.array([1.0, 2.0, 3.0]), np.arange(1.0, 2000.0), np.zeros(0))
SIZES = 0.0, 3.0, 1e9


@cache
def newest() -> Bundle:
    """Return the newest golden bundle."""
    return load_bundle(GOLDEN)


@cache
def _parser(command: ModuleType) -> ArgumentParser:
    parser = ArgumentParser()
    add_options(parser, command.OPTIONS)
    return parser


def _run(command: ModuleType, *words: object) -> None:
    command.run(_parser(command).parse_args([*map(str, words)]))


def _answer(
    bundle: Bundle,
    space: FeatureSpace = space,
    items: Iterable[Any] = ITEMS,
    engine: Engine = "numpy",
    regime: Regime | None = None,
    **options: Any,
) -> None:
    seams = Seams(clock=ManualClock(step_ns=1000), engine=engine, regime=regime)
    predictor = Predictor(bundle, space, seams=seams, **options)
    for item in items:
        predictor.predict_one(item)
    predictor.rehearse()


def use_index(data: bytes, folder: Path) -> None:
    """Describe a bundle, find candidates in its index, encode it again, and answer items."""
    here = _bundle_folder(folder, data)
    _run(info, here)
    bundle = load_bundle(here)
    encode(bundle)
    low, high = bundle.promise.budgets
    for size in SIZES:
        bundle.index.best(size, low), bundle.index.best(size, high)
    regime = REGIMES[len(data) % 3]
    _answer(bundle, policy=("anytime", "strict")[len(data) % 2], regime=regime)


def _bundle_folder(folder: Path, index: bytes) -> Path:
    """Return a folder with an index, its digest and the models of all seeds."""
    here = folder / "index.bundle"
    if not here.exists():
        write(here, *make_bundle())
    (here / INDEX_FILE).write_bytes(index)
    (here / DIGEST_FILE).write_bytes(digest_line(index))
    return here


ROWS = [np.full(WIDTH, value, dtype=np.float32) for value in (0.0, 1.0, -1e-3, 1e37, -1e37)]
ROWS += list(np.random.default_rng(0).normal(size=(3, WIDTH)).astype(np.float32))
ROW_SPACE = FeatureSpace([Feature("row", lambda x: x, width=WIDTH)], size=len)


@cache
def _one_model(n_classes: int) -> Bundle:
    bundle = bundle_of(names=("row",), costs=(CostFunction.of(1e-6),), prior=(0, 0.1), sizes=(1.0, 10.0))
    return replace(bundle, space=bundle.space._replace(widths=(WIDTH,), classes=tuple(range(n_classes))))


def use_model(data: bytes, folder: Path) -> None:
    """Let both engines answer rows by a model, with early stops and without; one of them must do so."""
    n_classes, content = data[0], data[1:]
    entry = ModelEntry((0,), 0.9, 1e-6, len(content), hashlib.sha256(content).digest(), stop=0.7)
    bundle = replace(_one_model(n_classes), models=(entry,), contents=(content,))
    refusals: list[BundleFormatError] = []
    for engine in ENGINES:
        for early_stop in (False, True):
            try:
                _answer(bundle, ROW_SPACE, ROWS, engine=engine, early_stop=early_stop and n_classes > 0, deadline=1.0)
            except BundleFormatError as e:
                refusals.append(e)
    if len(refusals) == 4:
        raise refusals[0]


def use_learned(data: bytes, folder: Path) -> None:
    """Describe a bundle and what was learned of it, and answer items."""
    (file := folder / "learned").write_bytes(data)
    learned = load_learned(file, newest()).learned
    _run(info, GOLDEN, "--learned", file)
    _answer(newest(), regime=("hot", "cold")[len(data) % 2], learned=learned)


def use_costs(data: bytes, folder: Path) -> None:
    """Continue a measurement, and report on a finished one."""
    (part := folder / "a.costs.part").write_bytes(data)
    journal = FileJournal(folder / "a.costs", resume=True)
    with suppress(MeasurementError), closing(journal):
        journal.resumed()
    part.unlink(missing_ok=True)
    (file := folder / "b.costs").write_bytes(data)
    repr(load_costs(file))
    _run(costs_command, file)


def use_flight(data: bytes, folder: Path) -> None:
    """Print a recording and its summary, write metrics of it, and continue it."""
    (file := folder / "node.flight").write_bytes(data)
    try:
        _run(flight, file)
        _run(flight, file, "--summary")
        recorder = FlightRecorder(file, Watched(), 4)
        recorder.add(ANSWER, traced(), 9)
        recorder.close()
        load_flight(file)
    finally:
        for left in folder.glob("node.flight*"):
            left.unlink()


def use_metrics(data: bytes, folder: Path) -> None:
    """Write the metrics of a recording as JSON and for Prometheus; both must be readable."""
    (file := folder / "metrics.flight").write_bytes(data)
    recording = load_flight(file)
    metrics = Metrics(flight._Recorded(recording.header, recording.header.deadline))
    for r in recording.records:
        names = tuple(recording.header.names[position] for position in r.answered)
        trace = traced(r.features, tuple(flight.trace_of(r).marks))
        metrics.add(ANSWER._replace(features=names, reason=r.reason, elapsed_ns=r.elapsed_ns, error=r.error), trace)
    (lines := folder / "metrics.json").unlink(missing_ok=True)
    JsonLines(lines, wall_clock=lambda: 0.0).write(metrics)
    json.loads(lines.read_text(), parse_constant=float.fromhex)
    PrometheusText(folder / "node.prom").write(metrics)
    for line in (folder / "node.prom").read_text().splitlines():
        if not line.startswith("#"):
            float(line.rpartition(" ")[2])


def use_certificate(data: bytes, folder: Path) -> None:
    """Print a certificate, write it and read it again."""
    (file := folder / "certificate").write_bytes(data)
    certificate = Certificate.read(file)
    str(certificate)
    certificate.exit_code  # noqa: B018
    certificate.write(file)
    Certificate.read(file)


def use_proof(data: bytes, folder: Path) -> None:
    """Verify a bundle by a proof."""
    (folder / PROOF_FILE).write_bytes(data)
    str(verify(newest(), load_proof(folder)))


def use_profile(data: bytes, folder: Path) -> None:
    """Write a profile and read it again, and carry a cost over."""
    (file := folder / "device.toml").write_bytes(data)
    profile = DeviceProfile.load(file)
    dump(profile, file)
    if DeviceProfile.load(file) != profile:
        raise AssertionError("a profile must be read as it was written")
    by_kernel = ratios(profile, dict.fromkeys(KERNELS, np.full(5, 1e-6)))
    for worst in (False, True):
        carried_cost(CostFunction.of(1e-6, linear=1e-9), by_kernel, worst=worst)


def use_energies(data: bytes, folder: Path) -> None:
    """Answer items within a budget of energy."""
    (file := folder / "energies.json").write_bytes(data)
    _answer(newest(), energy=EnergyBudget.measured(file, 1e-3, newest()), regime="hot")


@cache
def _predictor() -> Predictor:
    return Predictor(newest(), space, seams=Seams(clock=ManualClock(step_ns=1000), engine="numpy"))


def _told(item: Any) -> Label | float | None:
    """Return the answer to an item; numpy may warn in features, such as of the mean of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _predictor().predict_one(item).label


def use_lines(data: bytes, folder: Path) -> None:
    """Answer items from lines of JSON."""
    for item in json_lines(BytesIO(data)):
        _told(item)


def use_archive(data: bytes, folder: Path) -> None:
    """Answer packed items, and count the right answers."""
    (file := folder / "items.npz").write_bytes(data)
    score = score_counter(newest())
    for item, label in iterate(str(file)):
        score.add(_told(item), label)
    score.summary()
    samples(str(file))


def use_tar(data: bytes, folder: Path) -> None:
    """Load a packed bundle, which is all that is written of it."""
    (file := folder / "bundle.tar").write_bytes(data)
    with unpacked(file) as here:
        load_bundle(here)
