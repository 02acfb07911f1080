"""Metrics: what they say, that they never grow, and that no file of theirs can stop a node."""

import argparse
import errno
import json
import math
import resource
import sys
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from polydom_runtime import Bundle, Prediction, Predictor, Seams
from polydom_runtime.bundles.promise import Identity
from polydom_runtime.commands.lines import Lines
from polydom_runtime.commands.options import add_options
from polydom_runtime.commands.recording import Records
from polydom_runtime.commands.run_options import RECORDS
from polydom_runtime.delivery.following_predictor import Reloads
from polydom_runtime.exceptions import RecordingError
from polydom_runtime.histogram import MAX_NS, RELATIVE_ERROR, Histogram
from polydom_runtime.learning.margin import Margin
from polydom_runtime.learning.summary import MODELS, LearningSummary, MovedUnit
from polydom_runtime.prediction import Policy
from polydom_runtime.records.metrics import MAX_COUNTED_SETS, MAX_REASONS, NO_FEATURES, OTHER, TIME_QUANTILES, Metrics
from polydom_runtime.records.metrics_files import (
    EDGES_NS,
    JsonLines,
    MetricsOutput,
    PrometheusText,
    Regularly,
    prometheus_text,
)
from polydom_runtime.stages import Trace
from tests.bundle_parts import changed
from tests.runtime.conftest import US, World, make_bundle

ANSWER = Prediction("yes", ("mean", "spread"), 0.8, 50_000, True, "planned", 1.0)


@dataclass
class Watched:
    """Stands for a predictor."""

    bundle: Bundle = field(default_factory=lambda: make_bundle()[0])
    deadline: float = 200 * US
    policy: Policy = "anytime"
    failures: Mapping[str, int] = field(default_factory=dict)
    out: frozenset[str] = frozenset()
    trace: Trace = field(default_factory=Trace)
    slowdown: float = 1.0
    n_oversized: int = 0
    margin: Margin = field(default_factory=lambda: Margin(0.01))
    moved: tuple[MovedUnit, ...] = ()

    def learning(self) -> LearningSummary:
        return LearningSummary.of(self.margin, self.moved, had_slack=True, answers=250, plans=2, tried=31)

    def warm_up(self, item: object) -> None:
        pass

    def rehearse(self) -> None:
        pass

    def predict_one(self, item: object, *, arrived_ns: int | None = None, deadline: float | None = None) -> Prediction:
        return ANSWER


def traced(features: tuple[int, ...] = (0, 1), marks: tuple[int, ...] = (0, 1_000, 11_000, 41_000, 50_000)) -> Trace:
    trace = Trace()
    trace.size, trace.features, trace.marks = 10.0, list(features), list(marks)
    return trace


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(Watched())


durations = st.integers(0, 2_000) | st.integers(0, MAX_NS)


@given(st.lists(durations, min_size=1, max_size=200))
def test_quantiles_are_within_the_stated_error(times: list[int]) -> None:
    histogram = Histogram()
    for ns in times:
        histogram.add(ns)

    exact = np.quantile(times, list(TIME_QUANTILES.values()), method="inverted_cdf")
    estimated = histogram.quantiles(list(TIME_QUANTILES.values()))
    assert np.abs(estimated - exact).max() <= RELATIVE_ERROR * exact.max()
    assert all(abs(e - x) <= RELATIVE_ERROR * x for e, x in zip(estimated, exact, strict=True))
    assert (histogram.count, histogram.total_ns, histogram.longest_ns) == (len(times), sum(times), max(times))


@given(st.lists(durations | st.sampled_from(EDGES_NS), max_size=50))
def test_counts_below_edges_are_exact(times: list[int]) -> None:
    histogram = Histogram()
    for ns in times:
        histogram.add(ns)

    assert histogram.counts_below(EDGES_NS) == [sum(ns < edge for ns in times) for edge in EDGES_NS]


@pytest.mark.parametrize("ns", [-1, -(1 << 70), MAX_NS + 1, 1 << 70])
def test_impossible_durations_count_as_the_nearest_possible(ns: int) -> None:
    histogram = Histogram()
    histogram.add(ns)

    assert histogram.count == 1
    assert histogram.longest_ns == max(ns, 0)
    assert histogram.quantiles([0.5])[0] == pytest.approx(min(max(ns, 0), MAX_NS), rel=RELATIVE_ERROR)


def test_everything_is_counted(metrics: Metrics) -> None:
    metrics.add(ANSWER, traced())
    metrics.add(
        ANSWER._replace(features=(), reason="mean failed", slowdown=3.0), traced((0,), (0, 1_000, 5_000, 6_000))
    )
    metrics.add(ANSWER._replace(elapsed_ns=300_000, deadline_met=False, slowdown=2.0), traced())

    said = metrics.as_dict()
    assert (said["items"], said["misses"], said["deadline"]) == (3, 1, 200 * US)
    assert (said["slowdown"], said["largest_slowdown"]) == (2.0, 3.0)
    assert said["features"] == {"mean+spread": 2, NO_FEATURES: 1}
    assert said["reasons"] == {"planned": 2, "mean failed": 1}
    assert {name: (s["count"], s["total"]) for name, s in said["stages"].items()} == {
        "mean": (3, 2.4e-5),
        "spread": (2, 6e-5),
        "ends": (0, 0.0),
    }
    assert (said["model"]["count"], said["model"]["total"]) == (3, 1.9e-5)
    assert said["elapsed"]["max"] == 3e-4
    assert said["elapsed"]["p50"] == pytest.approx(50 * US, rel=RELATIVE_ERROR)


def test_what_is_unknown_is_null(metrics: Metrics) -> None:
    metrics.slowdown = math.nan

    said = json.loads(json.dumps(metrics.as_dict(), allow_nan=False))
    assert said["elapsed"] == {
        "count": 0,
        "total": 0.0,
        "p50": None,
        "p90": None,
        "p99": None,
        "p999": None,
        "max": None,
    }
    assert said["slowdown"] is None


def test_trace_that_is_not_complete_adds_no_times(metrics: Metrics) -> None:
    metrics.add(ANSWER, traced((0, 1), (0, 1_000, 11_000)))

    assert metrics.as_dict()["items"] == 1
    assert [stage.count for stage in (*metrics.stages, metrics.model)] == [0, 0, 0, 0]


def test_failures_and_features_out_are_those_of_the_predictor() -> None:
    said = Metrics(Watched(failures={"mean": 4}, out=frozenset({"mean"}))).as_dict()

    assert (said["failures"], said["out"]) == ({"mean": 4}, ["mean"])


def test_counts_go_on_with_another_predictor(metrics: Metrics) -> None:
    """The times of features of the same name are added up."""
    metrics.add(ANSWER, traced())
    bundle = make_bundle()[0]
    metrics.watch(Watched(changed(bundle, names=("spread", "mean", "new"))))
    metrics.add(ANSWER, traced((0, 2)))

    assert metrics.elapsed.count == 2
    assert [(name, h.count) for name, h in zip(metrics.names, metrics.stages, strict=True)] == [
        ("spread", 2),
        ("mean", 1),
        ("new", 1),
    ]


def test_new_bundles_are_counted_where_they_are_taken_over(metrics: Metrics) -> None:
    following = Watched()
    following.reloads = Reloads(taken=3, refused=2, sent_back=1, error="why")  # type: ignore[attr-defined]
    text = prometheus_text(Metrics(following))

    assert 'polydom_bundle_changes_total{outcome="refused"} 2' in text
    assert "bundle_changes" not in prometheus_text(metrics)


MOVED = (
    MovedUnit("hot", "spread", 1, 4.0, 0.0, 8e-5, 4.0, 60),
    MovedUnit("cold", MODELS, 7, 0.5, 0.0, 1e-5, 0.5),
)


def test_what_was_learned_is_written_with_the_margin() -> None:
    """In both formats; late answers count once each, by cause."""
    watched = Watched(moved=MOVED)
    for paused in (*[False] * 8, True):
        watched.margin.add_late(paused=paused)
    metrics = Metrics(watched)

    kinds, samples = parsed(prometheus_text(metrics))
    one = {s.name: s.value for s in samples if not s.labels}
    beyond = watched.margin.beyond
    assert beyond > 0
    assert (one["polydom_margin_ratio"], one["polydom_plans_total"], one["polydom_tried_units_total"]) == (4.0, 2, 31)
    late = {"work": 8 - beyond, "pause": 1, "beyond the margin": beyond}
    assert values(samples, "polydom_late_total", "cause") == late
    moved = [({"regime": "hot", "unit": "spread"}, 4.0), ({"regime": "cold", "unit": MODELS}, 0.5)]
    assert [(s.labels, s.value) for s in samples if s.name == "polydom_moved_ratio"] == moved
    assert (kinds["polydom_moved_ratio"], kinds["polydom_margin_ratio"]) == ("gauge", "gauge")
    said = json.loads(json.dumps(metrics.as_dict(), allow_nan=False))["learning"]
    assert (said["margin"], said["answers"], said["moved"][0]["unit"]) == (4.0, 250, "spread")
    assert said["text"] == str(watched.learning())


def test_unit_that_takes_as_long_as_shipped_is_no_metric(metrics: Metrics) -> None:
    _, samples = parsed(prometheus_text(metrics))

    assert not [s for s in samples if s.name == "polydom_moved_ratio"]


def test_recording_has_learned_nothing_that_it_could_tell() -> None:
    metrics = Metrics(SimpleNamespace(bundle=make_bundle()[0], deadline=1.0, failures={}, out=frozenset()))

    assert metrics.as_dict()["learning"] is None
    assert "polydom_margin_ratio" not in prometheus_text(metrics)


def test_sets_whose_names_read_the_same_are_added_up(metrics: Metrics) -> None:
    metrics.add(ANSWER._replace(features=("a", "b")), traced())
    metrics.add(ANSWER._replace(features=("a+b",)), traced())

    assert metrics.answers == {"a+b": 2}


def test_memory_is_flat(metrics: Metrics) -> None:
    def add(start: int, stop: int) -> int:
        for k in range(start, stop):
            answer = ANSWER._replace(reason=f"reason {k}", features=(f"set {k}",), elapsed_ns=k * 7919)
            metrics.add(answer, traced(marks=(0, k, 3 * k, 30 * k, 31 * k)))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    before, after = add(0, 4_000), add(4_000, 8_000)
    tracemalloc.stop()

    assert after - before < 2_000
    for counts, most in ((metrics.reasons, MAX_REASONS), (metrics.answers, MAX_COUNTED_SETS)):
        assert len(counts) == most + 1
        assert counts[OTHER] == 8_000 - most


class Sample(NamedTuple):
    """A line of the text format."""

    name: str
    labels: dict[str, str]
    value: float


def parsed(text: str) -> tuple[dict[str, str], list[Sample]]:
    """Return the type of each metric, and all samples, as Prometheus' own client reads them."""
    kinds: dict[str, str] = {}
    samples = list[Sample]()
    for family in text_string_to_metric_families(text):
        assert family.documentation
        kinds[family.name + ("_total" if family.type == "counter" else "")] = family.type
        samples += [Sample(s.name, dict(s.labels), s.value) for s in family.samples]
    assert set(kinds.values()) <= {"counter", "gauge", "histogram", "summary"}, "each metric states its type"
    assert text.endswith("\n")
    keys = [(s.name, *sorted(s.labels.items())) for s in samples]
    assert len(set(keys)) == len(keys)
    return kinds, samples


def values(samples: list[Sample], name: str, label: str) -> dict[str, float]:
    return {s.labels[label]: s.value for s in samples if s.name == name}


def test_prometheus_text_says_the_same(metrics: Metrics) -> None:
    metrics.add(ANSWER, traced())
    metrics.add(ANSWER._replace(elapsed_ns=300_000, deadline_met=False, reason="no time for ends"), traced())

    kinds, samples = parsed(prometheus_text(metrics, {"node": "front"}))
    assert {s.labels["node"] for s in samples} == {"front"}
    assert {name for name, kind in kinds.items() if kind == "counter"} == {n for n in kinds if n.endswith("_total")}
    one = {s.name: s.value for s in samples if set(s.labels) == {"node"}}
    assert (one["polydom_items_total"], one["polydom_deadline_misses_total"]) == (2, 1)
    assert one["polydom_deadline_seconds"] == 200 * US
    assert values(samples, "polydom_reasons_total", "reason") == {"planned": 1, "no time for ends": 1}
    assert values(samples, "polydom_answers_total", "features") == {"mean+spread": 2}
    assert values(samples, "polydom_feature_seconds_count", "feature") == {"mean": 2, "spread": 2, "ends": 0}
    assert values(samples, "polydom_feature_seconds_sum", "feature")["spread"] == 6e-5
    medians = values([s for s in samples if s.labels.get("quantile") == "0.5"], "polydom_feature_seconds", "feature")
    assert medians["mean"] == pytest.approx(10 * US, rel=RELATIVE_ERROR)
    assert math.isnan(medians["ends"])


def test_prometheus_histogram_is_cumulative(metrics: Metrics) -> None:
    times = [20_000, 50_000, 50_001, 300_000, 1 << 60]
    for ns in times:
        metrics.add(ANSWER._replace(elapsed_ns=ns), traced())

    kinds, samples = parsed(prometheus_text(metrics))
    buckets = {float(le): n for le, n in values(samples, "polydom_elapsed_seconds_bucket", "le").items()}
    assert kinds["polydom_elapsed_seconds"] == "histogram"
    assert list(buckets) == sorted(buckets)
    assert buckets == {le: sum(ns / 1e9 <= le for ns in times) for le in buckets}
    assert list(buckets.items())[-1] == (math.inf, 5)
    assert {s.name: s.value for s in samples if not s.labels}["polydom_elapsed_seconds_count"] == 5


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
def test_any_names_pass_through_the_text_format(names: list[str]) -> None:
    bundle = changed(make_bundle()[0], names=tuple(names))
    metrics = Metrics(Watched(bundle, failures={names[0]: 7}, out=frozenset(names[-1:])))
    metrics.add(ANSWER._replace(reason=names[0], features=(names[0],)), traced((0,), (0, 1, 2, 3)))

    _, samples = parsed(prometheus_text(metrics))
    assert values(samples, "polydom_reasons_total", "reason") == {names[0]: 1}
    assert values(samples, "polydom_feature_failures", "feature") == {**dict.fromkeys(names, 0), names[0]: 7}
    assert values(samples, "polydom_feature_out", "feature") == {**dict.fromkeys(names, 0), names[-1]: 1}


@given(st.text(), st.text())
def test_metrics_name_the_bundle(name: str, version: str) -> None:
    bundle = replace(make_bundle()[0], identity=Identity(name, version), sha256="ab" * 32)
    metrics = Metrics(Watched(bundle))

    kinds, samples = parsed(prometheus_text(metrics, {"node": "pi"}))

    expected = {"name": name, "version": version, "sha256": "ab" * 32}
    assert expected == metrics.as_dict()["bundle"]
    assert kinds["polydom_bundle_info"] == "gauge"
    assert [({"node": "pi", **expected}, 1.0)] == [
        (s.labels, s.value) for s in samples if s.name == "polydom_bundle_info"
    ]


def test_json_lines_are_added_to_a_file_that_may_be_moved_away(metrics: Metrics, tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "metrics.jsonl", wall_clock=lambda: 12.3456)
    lines.write(metrics)
    metrics.add(ANSWER, traced())
    lines.write(metrics)
    (tmp_path / "metrics.jsonl").rename(tmp_path / "old.jsonl")
    lines.write(metrics)

    old, new = (
        [json.loads(x) for x in (tmp_path / f).read_text().splitlines()] for f in ("old.jsonl", "metrics.jsonl")
    )
    assert [(x["time"], x["items"]) for x in (*old, *new)] == [(12.346, 0), (12.346, 1), (12.346, 1)]


def test_prometheus_file_is_replaced_whole(metrics: Metrics, tmp_path: Path) -> None:
    output = PrometheusText(tmp_path / "front.prom")
    output.write(metrics)
    first = (tmp_path / "front.prom").stat().st_ino
    output.write(metrics)

    assert [p.name for p in tmp_path.iterdir()] == ["front.prom"]
    assert (tmp_path / "front.prom").stat().st_ino != first
    assert {s.labels["node"] for s in parsed((tmp_path / "front.prom").read_text())[1]} == {"front"}


def test_file_that_node_exporter_would_not_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"must be named NAME\.prom"):
        PrometheusText(tmp_path / "front.txt")


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """Make writing fail as on a full disk, after so many bytes of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_full_disk_leaves_whole_lines_and_the_last_whole_file(metrics: Metrics, tmp_path: Path, share: float) -> None:
    lines, text = JsonLines(tmp_path / "m.jsonl", wall_clock=lambda: 1.0), PrometheusText(tmp_path / "m.prom")
    lines.write(metrics)
    text.write(metrics)
    before = [(tmp_path / name).read_bytes() for name in ("m.jsonl", "m.prom")]

    outputs: tuple[MetricsOutput, ...] = (lines, text)
    for output, whole in zip(outputs, before, strict=True):
        limit = int(len(whole) * (share + (output is lines)))
        with files_of_at_most(limit), pytest.raises(OSError, match=r"File too large|No space left"):
            output.write(metrics)
    assert [(tmp_path / name).read_bytes() for name in ("m.jsonl", "m.prom")] == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.jsonl", "m.prom"]


class Turned:
    """A clock in seconds that a test turns."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """An output whose writes take time, and fail when told."""

    def __init__(self, clock: Turned) -> None:
        self.clock, self.takes, self.n_written = clock, 0.1, 0
        self.error: Exception | None = None

    def write(self, metrics: Metrics) -> None:
        self.clock.now += self.takes
        if self.error:
            raise self.error
        self.n_written += 1


@pytest.fixture
def clock() -> Turned:
    return Turned()


def test_nothing_is_written_before_it_is_due(metrics: Metrics, clock: Turned) -> None:
    output = Slow(clock)
    regularly = Regularly(output, metrics, 10.0, say=print, clock=clock)
    spent = []
    for now in (0.0, 5.0, 10.0, 10.2, 19.0, 20.2):
        clock.now = now
        spent.append(regularly.on_slack(60.0))

    assert spent == [True, False, False, True, False, False]
    assert output.n_written == 2


def test_what_is_due_waits_for_enough_slack(metrics: Metrics, clock: Turned) -> None:
    output = Slow(clock)
    regularly = Regularly(output, metrics, 10.0, say=print, clock=clock)
    regularly.write()
    clock.now = 11.0

    assert [regularly.on_slack(left) for left in (-1.0, 0.0, 0.19, 0.21)] == [False, False, False, True]


def test_one_slow_write_does_not_end_all_others(metrics: Metrics, clock: Turned) -> None:
    output = Slow(clock)
    output.takes = 3.0
    regularly = Regularly(output, metrics, 10.0, say=print, clock=clock)
    regularly.write()
    output.takes = 0.1
    for k in range(10_000):
        clock.now = 3.0 + 0.1 * k
        regularly.on_slack(0.5)

    assert output.n_written > 50


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), ValueError("closed")])
def test_failures_are_counted_said_once_and_tried_again(metrics: Metrics, clock: Turned, error: Exception) -> None:
    output, said = Slow(clock), list[str]()
    regularly = Regularly(output, metrics, 10.0, say=said.append, clock=clock)
    output.error = error
    for now in (0.0, 1.0, 20.0, 40.0):
        clock.now = now
        regularly.on_slack(60.0)
    output.error = None
    clock.now = 60.0
    regularly.on_slack(60.0)

    assert (regularly.failures, output.n_written, len(said)) == (3, 1, 1)
    assert "Trying again every 10 s" in said[0]


def broken_outputs(folder: Path) -> list[JsonLines | PrometheusText]:
    closed = StringIO()
    closed.close()
    (folder / "file").touch()
    (folder / "folder").mkdir()
    places = [Path("/dev/full"), folder / "gone" / "m", folder / "file" / "m", folder / "folder"]
    proms = [p.with_suffix(".prom") for p in (*places[1:3], Path("/proc/m"))]
    return [JsonLines(closed), *map(JsonLines, places), *map(PrometheusText, proms)]


def test_no_broken_place_raises(metrics: Metrics, tmp_path: Path) -> None:
    for output in broken_outputs(tmp_path):
        said: list[str] = []
        regularly = Regularly(output, metrics, 10.0, say=said.append)
        regularly.write()
        regularly.write()

        assert (regularly.failures, len(said)) == (2, 1), output


def test_folder_that_comes_back_is_written_again(metrics: Metrics, tmp_path: Path) -> None:
    folder = tmp_path / "mounted"
    files = [Regularly(o, metrics, 10.0, say=str) for o in (JsonLines(folder / "m"), PrometheusText(folder / "m.prom"))]
    for file in files:
        file.write()
    folder.mkdir()
    for file in files:
        file.write()

    assert [file.failures for file in files] == [1, 1]
    assert sorted(p.name for p in folder.iterdir()) == ["m", "m.prom"]


def options(*line: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser, [RECORDS])
    return parser.parse_args(line)


def test_command_line_opens_what_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = options(
        "--metrics-json", "-", "--metrics-prometheus", str(tmp_path / "m.prom"), "--metrics-every", "1s"
    )
    with Records(arguments, Watched(), Lines(sys.stdout)) as records:
        records.add(ANSWER, traced(), 0)
        records.on_slack(math.inf)

    assert [json.loads(line)["items"] for line in capsys.readouterr().out.splitlines()] == [0, 1]
    items = [s.value for s in parsed((tmp_path / "m.prom").read_text())[1] if s.name == "polydom_items_total"]
    assert items == [1]


def test_nothing_asked_for_is_nothing_done(capsys: pytest.CaptureFixture[str]) -> None:
    with Records(options(), Watched(), Lines(sys.stdout)) as records:
        records.add(ANSWER, traced(), 0)
        records.on_slack(math.inf)

    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_full_disk_loses_no_answer(bundle_folder: Path, world: World, tmp_path: Path) -> None:
    """Metrics due after every item, a recording that finds no room: all of 500 items are answered."""
    files = ("--metrics-json", str(tmp_path / "m"), "--metrics-prometheus", str(tmp_path / "m.prom"))
    arguments = options(*files, "--metrics-every", "1ns", "--record", str(tmp_path / "r"), "--record-optional")
    predictor = Predictor.load(bundle_folder, world.space, deadline=200 * US, seams=Seams(clock=world.clock))
    answers = []
    with files_of_at_most(100), Records(arguments, predictor, Lines(sys.stdout)) as records:
        for number in range(500):
            answers.append(predictor.predict_one(np.arange(10.0)))
            records.add(answers[-1], predictor.trace, number)
            records.on_slack(math.inf)

    assert [(a.label, a.reason) for a in answers] == [("yes", "planned")] * 500
    assert not (tmp_path / "r").exists()
    assert (tmp_path / "m").read_bytes() == b""


def test_answers_that_are_withheld_are_counted(metrics: Metrics) -> None:
    for label in ("yes", None, None):
        metrics.add(ANSWER._replace(label=label), Trace())

    assert metrics.as_dict()["abstained"] == 2
    assert "polydom_abstained_total{} 2" in prometheus_text(metrics)
