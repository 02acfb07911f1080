"""The options of ``polydom-node run`` for publishing its answers by MQTT."""

import argparse
from typing import TYPE_CHECKING, Any

from polydom_runtime.exceptions import PublishingError

if TYPE_CHECKING:
    from polydom_runtime.bundles.bundle import Bundle
    from polydom_runtime.publishing.publisher import MqttPublisher
    from polydom_runtime.publishing.target import MqttTarget

UNASKED = {"login": None, "ca": None, "qos": 1, "client_id": "", "queue": 10_000, "discovery": None}
"""The options that mean nothing without a broker, and what they hold if they are not given."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of publishing to ``run``."""
    group = command.add_argument_group("MQTT (needs the package paho-mqtt)")
    group.add_argument(
        "--mqtt",
        metavar="HOST/TOPIC",
        help="the broker and the topic to publish answers to; also mqtt://HOST:PORT/TOPIC, and mqtts:// if encrypted",
    )
    group.add_argument(
        "--mqtt-login",
        metavar="FILE",
        help="a file with the user's name in its first line and the password in its second",
    )
    group.add_argument(
        "--mqtt-ca", metavar="FILE", help="the certificates to check the broker's with (default: those of the system)"
    )
    group.add_argument(
        "--mqtt-qos",
        type=int,
        choices=(0, 1, 2),
        default=1,
        help="the quality of service: sent once, received at least once, exactly once (default 1)",
    )
    group.add_argument(
        "--mqtt-client-id", metavar="ID", default="", help="the id of the client (default: from host and topic)"
    )
    group.add_argument(
        "--mqtt-queue",
        type=int,
        default=UNASKED["queue"],
        metavar="N",
        help="the number of answers that wait for the broker; of more, the oldest are dropped (default 10000)",
    )
    group.add_argument(
        "--mqtt-discovery",
        nargs="?",
        const="homeassistant",
        metavar="PREFIX",
        help="let Home Assistant find this node (default PREFIX homeassistant)",
    )


def target_of(arguments: argparse.Namespace) -> "MqttTarget | None":
    """Return where to publish to; None if that was not asked for.

    Raises `PublishingError` if the address or an option cannot be used, or one is given without the address.
    """
    if arguments.mqtt is None:
        given = [name.replace("_", "-") for name, unasked in UNASKED.items() if _of(arguments, name) != unasked]
        if given:
            raise PublishingError(f"--mqtt-{given[0]} must come with --mqtt, the broker and the topic. It is missing.")
        return None
    from polydom_runtime.publishing.target import MqttTarget, check_topic  # only here: most nodes publish nothing

    if arguments.mqtt_discovery is not None:
        check_topic(arguments.mqtt_discovery)
    return MqttTarget.parse(
        arguments.mqtt,
        login=arguments.mqtt_login,
        authorities=arguments.mqtt_ca,
        client_id=arguments.mqtt_client_id,
        qos=arguments.mqtt_qos,
    )


def open_publisher(arguments: argparse.Namespace, target: "MqttTarget", bundle: "Bundle") -> "MqttPublisher":
    """Return the publisher that the command line asks for.

    Raises `PublishingError` if it cannot start.
    """
    from polydom_runtime.publishing.discovery import discovery
    from polydom_runtime.publishing.publisher import MqttPublisher

    prefix = arguments.mqtt_discovery
    retained = {} if prefix is None else discovery(target, bundle, prefix)
    return MqttPublisher(target, retained=retained, capacity=arguments.mqtt_queue)


def last_counts(publisher: "MqttPublisher | None") -> dict[str, Any]:
    """Return the part of the summary about publishing, after what is pending was published."""
    if publisher is None:
        return {}
    publisher.close()
    return {"mqtt": publisher.counts._asdict()}


def _of(arguments: argparse.Namespace, name: str) -> Any:
    return getattr(arguments, f"mqtt_{name}")
