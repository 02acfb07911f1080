"""Metrics in Prometheus' text format, as node_exporter's textfile collector reads it."""

from collections.abc import Iterator, Mapping

from polydom_runtime.histogram import Histogram

from .metrics import QUANTILES, Metrics, known_as

EDGES_NS = tuple(step << k for k in range(13, 33) for step in (2, 3))
"""Two buckets for each factor of 2, from 16 µs to 13 s, at edges of the histogram's buckets: counts are exact."""

MQTT_HELP = {
    "published": "Answers that the broker has.",
    "dropped": "Answers that were not published, and will not be.",
    "pending": "Answers that wait for the broker.",
    "reconnects": "Connections to the broker after the first.",
}

Samples = Iterator[tuple[str, Mapping[str, str], float]]
"""Samples of a metric: the suffix of its name, labels, value."""


def prometheus_text(metrics: Metrics, labels: Mapping[str, str] | None = None) -> str:
    r"""Return the metrics in the text format, times in seconds.

    `labels`: added to every sample, so that several nodes on one machine can be distinguished.

    Examples
    --------
    >>> escaped('C:\\ "new"\n')
    'C:\\\\ \\"new\\"\\n'
    """
    lines = []
    for name, kind, text, samples in _families(metrics):
        lines += [f"# HELP polydom_{name} {text}", f"# TYPE polydom_{name} {kind}"]
        for suffix, own, value in samples:
            pairs = ",".join(f'{k}="{escaped(v)}"' for k, v in {**(labels or {}), **own}.items())
            lines.append(f"polydom_{name}{suffix}{{{pairs}}} {_number(value)}")
    return "\n".join(lines) + "\n"


def escaped(value: str) -> str:
    """Return a label value with backslashes, quotes and line ends escaped."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _families(metrics: Metrics) -> Iterator[tuple[str, str, str, Samples]]:
    """Yield name, type, help and samples of each metric."""
    watched, stages = metrics.watched, dict(zip(metrics.names, metrics.stages, strict=True))
    failures, out = watched.failures, {name: float(name in watched.out) for name in metrics.names}
    yield "bundle_info", "gauge", "The bundle, by its labels.", iter([("", known_as(watched.bundle), 1.0)])
    yield "items_total", "counter", "Items answered.", _one(metrics.elapsed.count)
    yield "deadline_misses_total", "counter", "Answers after the deadline.", _one(metrics.misses)
    yield "abstained_total", "counter", "Answers that were withheld, since they were unsure.", _one(metrics.abstained)
    yield "answers_total", "counter", "Answers by feature set.", _each("features", metrics.answers)
    yield "reasons_total", "counter", "Answers by reason.", _each("reason", metrics.reasons)
    if changes := metrics.bundle_changes:
        yield "bundle_changes_total", "counter", "New bundles by what became of them.", _each("outcome", changes)
    for name, n in metrics.publishing.items():
        kind = "gauge" if name == "pending" else "counter"
        yield f"mqtt_{name}{'' if kind == 'gauge' else '_total'}", kind, MQTT_HELP[name], _one(n)
    yield "elapsed_seconds", "histogram", "From the arrival of the item to the answer.", _buckets(metrics.elapsed)
    yield "elapsed_max_seconds", "gauge", "The longest of all.", _one(metrics.elapsed.longest_ns / 1e9)
    yield "waited_seconds", "summary", "From the arrival of the item to the call.", _summary(metrics.waited, {})
    yield "feature_seconds", "summary", "From a feature's start to the next one or the model.", _summaries(stages)
    yield "model_seconds", "summary", "From the start of the model to the answer.", _summary(metrics.model, {})
    yield "deadline_seconds", "gauge", "The deadline.", _one(watched.deadline)
    yield "slowdown_ratio", "gauge", "How much slower than measured at the last item.", _one(metrics.slowdown)
    yield "slowdown_max_ratio", "gauge", "How much slower at worst.", _one(metrics.largest_slowdown)
    yield "feature_failures", "gauge", "Failures in a row.", _each("feature", {n: failures.get(n, 0) for n in out})
    yield "feature_out", "gauge", "1 while a feature is left out after failures.", _each("feature", out)


def _one(value: float) -> Samples:
    yield "", {}, value


def _each(label: str, values: Mapping[str, float]) -> Samples:
    for key, value in values.items():
        yield "", {label: key}, value


def _buckets(histogram: Histogram) -> Samples:
    count = histogram.count
    for edge_ns, below in zip(EDGES_NS, histogram.counts_below(EDGES_NS), strict=True):
        yield "_bucket", {"le": _number((edge_ns - 1) / 1e9)}, below  # durations are whole nanoseconds: below the edge
    yield "_bucket", {"le": "+Inf"}, count
    yield "_sum", {}, histogram.total_ns / 1e9
    yield "_count", {}, count


def _summaries(histograms: Mapping[str, Histogram]) -> Samples:
    for feature, histogram in histograms.items():
        yield from _summary(histogram, {"feature": feature})


def _summary(histogram: Histogram, labels: Mapping[str, str]) -> Samples:
    shares = list(QUANTILES.values())
    for share, ns in zip(shares, histogram.quantiles(shares), strict=True):
        yield "", {**labels, "quantile": _number(share)}, ns / 1e9
    yield "_sum", labels, histogram.total_ns / 1e9
    yield "_count", labels, histogram.count


def _number(value: float) -> str:
    """Return a number in the format that Go reads, with NaN, +Inf and -Inf."""
    return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}.get(text := repr(value), text)
