"""A loop at 20 ms that publishes by MQTT, while its broker is killed twice; beside one that does not publish.

``python -m tests.benchmarks.publishing [ANSWERS]`` takes 20 ms an answer, twice.
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from polydom_runtime import Monitor, MqttPublisher, Predictor
from tests.runtime.conftest import make_bundle, write
from tests.runtime.node_space import space
from tests.runtime.publishing.broker import Broker

PERIOD, DEADLINE = 0.02, 0.01
AWAY = (0.2, 0.3), (0.5, 0.6)
"""When the broker is away, as shares of the run."""

FLUSH_S = 300.0


def items(answers: int, on_item: Callable[[int], object]) -> Iterator[Any]:
    """Yield items of three sizes; `on_item` is called before each with its number."""
    for number in range(answers):
        on_item(number)
        yield np.arange((3, 40, 100)[number % 3], dtype=np.float32)


def run(
    folder: Path, answers: int, on_item: Callable[[int], object], publisher: MqttPublisher | None
) -> dict[str, Any]:
    """Answer at the period, and return the counts and quantiles of times in microseconds."""
    with warnings.catch_warnings(action="ignore"):  # it is longer than the bundle's longest
        predictor = Predictor.load(folder, space, deadline=DEADLINE, compare=False)
    times: list[int] = []

    def on_answer(number: int, item: Any, answer: Any) -> None:
        times.append(answer.elapsed_ns)
        if publisher is not None:
            publisher.on_answer(number, item, answer)

    on_slack = (lambda _: None) if publisher is None else publisher.on_slack
    summary = Monitor(items(answers, on_item), predictor, PERIOD, on_answer, on_slack=on_slack).run()
    p50, p99, p999 = (round(float(q) / 1e3, 1) for q in np.quantile(times, [0.5, 0.99, 0.999]))
    counts = {"answers": summary.counts.answered, "late": summary.counts.late, "skipped": summary.counts.skipped}
    return counts | {"p50_us": p50, "p99_us": p99, "p999_us": p999, "max_us": round(max(times) / 1e3, 1)}


def run_with_kills(broker: Broker, answers: int) -> dict[str, Any]:
    """Publish to a broker that is killed twice, and return the counts of the loop and of the publisher."""
    steps = [round(share * answers) for away in AWAY for share in away]
    orders: SimpleQueue[Callable[[], object] | None] = SimpleQueue()

    def on_item(number: int) -> None:
        if number in steps:
            orders.put(broker.start if steps.index(number) % 2 else broker.kill)

    def obey() -> None:
        while (order := orders.get()) is not None:
            order()

    killer = Thread(target=obey)  # so that the loop does not wait for it
    killer.start()

    with tempfile.TemporaryDirectory() as folder:
        bundle = write(Path(folder) / "small.bundle", *make_bundle())
        with MqttPublisher(f"127.0.0.1:{broker.port}/pump", flush_s=FLUSH_S) as publisher:
            result = run(bundle, answers, on_item, publisher)
            orders.put(None)
            killer.join()
    return result | publisher.counts._asdict()


def main(answers: int) -> None:
    """Print both results."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = write(Path(folder) / "small.bundle", *make_bundle())
        print(json.dumps({"mqtt": False, **run(bundle, answers, lambda _: None, None)}), flush=True)
        broker = Broker(Path(folder))
        broker.start()
        try:
            result = run_with_kills(broker, answers)
        finally:
            broker.kill()
        print(json.dumps({"mqtt": True, **result, "received": len(broker.received("pump"))}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
