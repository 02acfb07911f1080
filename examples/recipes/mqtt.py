"""A loop of your own whose answers go to an MQTT broker, and to Home Assistant. Needs paho-mqtt.

    python mqtt.py my.bundle my_module:space broker.local/hall/pump3

On the command line the same is `polydom-node run ... --mqtt broker.local/hall/pump3 --mqtt-discovery`.
"""

import signal
import sys

import numpy as np

from polydom_runtime import Monitor, MqttPublisher, MqttTarget, Predictor, discovery, space_of
from polydom_runtime.publishing.publisher import PublishingCounts


def main(bundle: str, space: str, address: str, readings: int = 500) -> PublishingCounts:
    """Answer readings at a fixed period, and return the counts of published and lost answers."""
    predictor = Predictor.load(bundle, space_of(space))
    target = MqttTarget.parse(address)
    items = (np.random.default_rng(k).normal(size=200) for k in range(readings))  # your sensor
    with MqttPublisher(target, retained=discovery(target, predictor.bundle)) as publisher:
        period = max(0.02, predictor.deadline)
        monitor = Monitor(items, predictor, period, publisher.on_answer, on_slack=publisher.on_slack)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, monitor.on_signal)
        monitor.run()
    return publisher.counts


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2], sys.argv[3]))
