"""What metrics and the flight recorder cost per item, after its answer, beside a bare predict_one."""

import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from polydom_runtime import Feature, FeatureSpace
from polydom_runtime.records.metrics import Metrics
from polydom_runtime.records.metrics_files import JsonLines, PrometheusText
from polydom_runtime.records.recorder import FlightRecorder

from .predict import FEATURES, moments, predictor
from .side_by_side import samples

ROUNDS = 3000


def line(what: str, seconds: list[float], target: str) -> None:
    """Print one cost."""
    p99 = sorted(seconds)[len(seconds) * 99 // 100]
    print(f"{what:<66} median {median(seconds) * 1e6:8.2f} µs, p99 {p99 * 1e6:8.2f} µs   ({target})")


def main() -> None:
    """Print what each costs."""
    space = FeatureSpace([Feature(f"moments {k}", moments(1 + k % 2), width=2) for k in range(FEATURES)], size=len)
    ours, item = predictor(space), np.random.default_rng(0).normal(size=1_000)
    answer = ours.predict_one(item)
    with tempfile.TemporaryDirectory() as scratch:
        # Its bundle was of a folder that is gone; the recording needs only what was read.
        object.__setattr__(ours.bundle, "path", None)
        metrics, recorder = Metrics(ours), FlightRecorder(Path(scratch) / "flight", ours)
        json, prometheus = JsonLines(Path(scratch) / "m.jsonl"), PrometheusText(Path(scratch) / "m.prom")
        bare, add, record = samples(
            [
                lambda: ours.predict_one(item),
                lambda: metrics.add(answer, ours.trace),
                lambda: recorder.add(answer, ours.trace, 7),
            ],
            rounds=ROUNDS,
        )
        lines, text = samples([lambda: json.write(metrics), lambda: prometheus.write(metrics)], rounds=ROUNDS // 10)
        recorder.close()
    line(f"predict_one, {len(answer.features)} features, n = 1000", bare, "for comparison")
    line("Metrics.add after it", add, "target < 10 µs")
    line("FlightRecorder.add after it", record, "target < 10 µs")
    line("JsonLines.write, in slack every 10 s", lines, "no target")
    line("PrometheusText.write, in slack every 10 s", text, "no target")
