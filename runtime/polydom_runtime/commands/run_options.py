"""The options of ``polydom-node run``."""

from polydom_runtime.exceptions import EnergyError, LoopError, PublishingError

from .arguments import duration, joules, number, period, positive, refused
from .bundle_options import ANSWERS, RUNS
from .options import Group, Needed, Option

ENERGY = Needed("--energy", "the budget of an item", EnergyError)
PERIOD = Needed("--period", "the time from one item to the next", LoopError)
MQTT = Needed("--mqtt", "the broker and the topic", PublishingError)
WATCHDOG_DEVICE = "/dev/watchdog"


def overrun(text: str) -> str:
    """Read a policy for overruns.

    >>> overrun("catch-up")
    'catch up'
    """
    if text in ("skip", "catch-up", "catch up", "latest"):
        return text.replace("-", " ")
    raise refused("skip, catch-up or latest", text, names=("skip", "catch-up", "latest"))


priority = number(int, lambda n: 1 <= n <= 99, "a whole number from 1 to 99")

ANSWERING = (
    RUNS,
    Option("--no-compare", "do not compare the features with those of the build, on the reference items of the bundle"),
    Option("--early-stop", "answer as soon as a model is confident enough, to save energy"),
    Option("--energy", "the energy budget of an item, such as 5mJ, which holds beside the deadline", joules),
    Option("--watts", "the power of the device in watts while it computes; for --energy", positive, needs=ENERGY),
    Option(
        "--energy-costs FILE.json",
        "the measured joules of each feature; for --energy, in place of --watts",
        needs=ENERGY,
    ),
    Group(
        "",
        Option(
            "--abstain-below CONFIDENCE",
            "withhold answers whose probability to be right is lower, such as 0.9: their label is null",
            float,
        ),
        Option(
            "--accuracy-wanted SHARE",
            "withhold so many unsure answers that this share of the others is right, such as 0.99",
            float,
        ),
    ),
    Option("--supervised", "compute in a second process, which is killed and replaced when a feature hangs"),
    Group(
        "",
        Option("--quiet", "print only the summary"),
        Option("--hold", "print all answers at the end, and none between two items; for short runs"),
    ),
)
RECORDS = Group(
    "records",
    Option("--metrics-json FILE", "the file to which lines of metrics are added; - for standard output"),
    Option("--metrics-prometheus NAME.prom", "the metrics file for node_exporter's textfile collector"),
    Option(
        "--metrics-every TIME",
        "the interval between two writes of the metrics, such as 30s (default 10s)",
        duration,
        10.0,
    ),
    Option("--record FILE", "the flight recording: the last items, in a file that survives kill -9"),
    Option("--record-items N", "the number of items that the recording holds (default 10000)", int, 10_000),
    Option("--record-optional", "run without a recording if its file cannot be opened"),
)
LOOP = Group(
    "loop with a fixed period",
    Option("--period", "the time from one item to the next, such as 20ms (default: items as they come)", period),
    Option(
        "--overrun {skip,catch-up,latest}",
        "the reaction to an item that takes longer than its period: skip the periods that have begun (default), catch "
        "up with all of them, or continue at once with the latest item",
        overrun,
        "skip",
        PERIOD,
    ),
    Option("--spin", "the time of busy waiting before each period, such as 100us", duration, 0.0, PERIOD),
    Option(
        "--no-rehearse",
        "do not answer kept items before each item: saves energy, but cold code is slower, so answers are less "
        "accurate",
    ),
    Option("--priority 1..99", "the real-time priority, under SCHED_FIFO", priority, needs=PERIOD),
    Option("--cpu N", "the processor to stay on", int, needs=PERIOD),
    Option("--lock-memory", "keep all memory out of the swap space", needs=PERIOD),
    Option(
        "--watchdog DEVICE",
        f"the hardware watchdog, which resets the board if the loop hangs (default DEVICE {WATCHDOG_DEVICE})",
        needs=PERIOD,
        nargs="?",
        const=WATCHDOG_DEVICE,
    ),
)
UPDATES = Group(
    "updates",
    Option(
        "--follow",
        "take over the bundle that is put in the place of BUNDLE, between two items; SIGHUP looks for it at once",
    ),
    Option(
        "--trial N",
        "the number of answers by a new bundle after which it stays; if too many of them are late or fail, or the "
        "process crashes 3 times before that, the bundle before answers again (default 1000; 0: each new bundle stays)",
        int,
        1000,
    ),
)
PUBLISHING = Group(
    "MQTT (needs the package paho-mqtt)",
    Option(
        "--mqtt HOST/TOPIC",
        "the broker and the topic to publish answers to; also mqtt://HOST:PORT/TOPIC, and mqtts:// if encrypted",
    ),
    Option(
        "--mqtt-login FILE", "a file with the user's name in its first line and the password in its second", needs=MQTT
    ),
    Option("--mqtt-ca FILE", "the certificates to check the broker's with (default: those of the system)", needs=MQTT),
    Option(
        "--mqtt-qos",
        "the quality of service: sent once, received at least once, exactly once (default 1)",
        *(int, 1, MQTT),
        choices=(0, 1, 2),
    ),
    Option("--mqtt-client-id ID", "the id of the client (default: from the topic)", None, "", MQTT),
    Option(
        "--mqtt-queue N",
        "the number of answers that wait for the broker; of more, the oldest are dropped (default 10000)",
        *(int, 10_000, MQTT),
    ),
    Option(
        "--mqtt-discovery PREFIX",
        "let Home Assistant find this node (default PREFIX homeassistant)",
        needs=MQTT,
        nargs="?",
        const="homeassistant",
    ),
)
OPTIONS = *ANSWERS, *ANSWERING, RECORDS, LOOP, UPDATES, PUBLISHING
