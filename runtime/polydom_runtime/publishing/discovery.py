"""Discovery by Home Assistant: messages by which it shows a node without any settings of its own."""

import json
from typing import TYPE_CHECKING, Any

from .target import MqttTarget, check_topic

if TYPE_CHECKING:
    from polydom_runtime.bundles.bundle import Bundle

ANSWERED = "{{ 'offline' if value_json.label is none else 'online' }}"

PREFIX = "homeassistant"
"""The first part of the topics that Home Assistant looks at, unless its settings name another."""


def discovery(target: MqttTarget, bundle: "Bundle", prefix: str = PREFIX) -> dict[str, str]:
    """Return the retained messages, by topic, that describe the sensors of a node.

    These are the label of the newest answer, its confidence if the bundle has confidences, and the number of late
    answers. The first two are unavailable while there is no label: where it is withheld, or is only the prior's. Home
    Assistant takes them from ``TOPIC/state``, so it gets one message a second.

    Parameters
    ----------
    target : MqttTarget
    bundle : Bundle
    prefix : str
    """
    check_topic(prefix)
    identity = bundle.identity
    device = {"identifiers": [target.client_id], "name": identity.name or target.topic, "manufacturer": "Poly-Dom"}
    if identity.version:
        device["sw_version"] = identity.version
    number = {"state_class": "measurement"}
    sensors: dict[str, dict[str, Any]] = {
        "label": {"value_template": "{{ value_json.label }}"} | ({} if bundle.space.classes else number),
        "confidence": {
            "value_template": "{{ value_json.confidence and (100 * value_json.confidence) | round(1) }}",
            "unit_of_measurement": "%",
            **number,
        },
        "late": {"value_template": "{{ value_json.late }}", "state_class": "total_increasing", "name": "late answers"},
    }
    if bundle.confidence is None:
        del sensors["confidence"]
    online = {"topic": f"{target.topic}/status"}
    answered = {"topic": f"{target.topic}/state", "value_template": ANSWERED}
    return {
        f"{prefix}/sensor/{target.client_id}/{name}/config": json.dumps(
            {
                "name": name,
                "unique_id": f"{target.client_id}-{name}",
                "state_topic": f"{target.topic}/state",
                "availability": [online] if name == "late" else [online, answered],
                "availability_mode": "all",
                "device": device,
                "origin": {"name": "polydom-node"},
                **sensor,
            }
        )
        for name, sensor in sensors.items()
    }
