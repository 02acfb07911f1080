"""``polydom-node measure``: time features on this machine, so that the host can plan for it."""

import math
from argparse import Namespace
from contextlib import suppress

from polydom_runtime.device.board import usable_cpus
from polydom_runtime.device.device_profile import dump
from polydom_runtime.device.probe import probe
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.files import check_folder_of
from polydom_runtime.items.sources import readable, space_of
from polydom_runtime.measuring.conditions import onnx_limits
from polydom_runtime.measuring.journal import FileJournal, is_unfinished
from polydom_runtime.measuring.measure import measure
from polydom_runtime.measuring.own_profile import own_profile
from polydom_runtime.measuring.spread import spreads

from .arguments import duration, positive, refused, share
from .options import Option, values_of
from .outcome import Outcome
from .terminal import ProgressBar, show, warn


def sizes(text: str) -> tuple[int, tuple[float, float] | None]:
    """Read the number of sizes to measure (12 if not written), and their range.

    >>> sizes("16"), sizes("100:5000"), sizes("100:5000:9")
    ((16, None), (12, (100.0, 5000.0)), (9, (100.0, 5000.0)))
    """
    parts = text.split(":")
    with suppress(ValueError):
        if len(parts) == 1:
            return int(text), None
        low, high, *count = parts
        if len(count) <= 1 and 0.0 < float(low) < float(high) < math.inf:
            return int(count[0]) if count else 12, (float(low), float(high))
    raise refused("COUNT, LOW:HIGH or LOW:HIGH:COUNT, such as 12 or 100:5000, with LOW < HIGH", text)


PERIOD = Option(
    "--period",
    "the time to sleep before each answer that is to be cold, such as the period of the loop (default 20ms)",
    *(duration, 0.02),
)
OPTIONS = (
    Option("space MODULE:SPACE", "the feature space to time"),
    Option("--items ITEMS", "the items to time: a packed .npz file or MODULE:FUNCTION", required=True),
    Option("--out NAME.costs", "the costs file to write", required=True),
    Option(
        "--sizes",
        "the item sizes to measure: their number, or LOW:HIGH, or LOW:HIGH:NUMBER (default: 12 sizes over the range of "
        "the items)",
        *(sizes, (12, None)),
    ),
    Option("--seconds", "the time limit in seconds (default 60)", positive, 60.0),
    Option(
        "--quantile",
        "the quantile of the times that must be known well before the measurement may end early (default 0.999)",
        *(share, 0.999),
    ),
    PERIOD,
    Option("--cpu", "the processor to measure on (default: the last one)", int),
    Option("--resume", "continue an unfinished measurement"),
    Option("--profile-out NAME.toml", "the device profile to write as well"),
)


def to_go_on(arguments: Namespace) -> str:
    """Return what a user can do who has stopped the measurement."""
    if is_unfinished(arguments.out):
        return "To go on where it was stopped, give the same command with --resume."
    return "Nothing was measured yet."


def run(arguments: Namespace) -> Outcome:
    """Time the features on this machine and write the samples."""
    space, items = space_of(arguments.space), readable(arguments.items)
    count, size_range = arguments.sizes
    if arguments.profile_out:
        check_folder_of(arguments.profile_out, ProfileError)
    journal = FileJournal(arguments.out, resume=arguments.resume)
    with ProgressBar("costs measured") as bar:
        samples = measure(
            *(space, items),
            n_sizes=count,
            size_range=size_range,
            **values_of(arguments, "seconds", "quantile", "period"),
            cpu=usable_cpus()[-1] if arguments.cpu is None else arguments.cpu,
            journal=journal,
            stamp={"onnx": onnx_limits(probe())},
            progress=bar.update,
        )
    found = spreads(samples)
    for warning in samples.warnings:
        if warning not in {spread.warning for spread in found}:  # these are told below, with all others
            warn(warning)
    measured = f"{len(samples.sizes)} sizes from {samples.sizes[0]:g} to {samples.sizes[-1]:g}"
    device = samples.machine["device"]
    show(f"{arguments.out}: {len(samples.units)} units at {measured} on {device}; {samples.stopped}.")
    for spread in found:
        show(spread)
    if arguments.profile_out:
        dump(own_profile(samples), arguments.profile_out)
        show(f"{arguments.profile_out}: the profile of this device. Please contribute it, so that others can use it.")
    return Outcome(
        {
            "file": arguments.out,
            "profile": arguments.profile_out,
            "units": samples.units,
            "sizes": samples.sizes.tolist(),
            "rounds": samples.n_rounds,
            **{name: getattr(samples, name) for name in ("stopped", "machine", "warnings")},
        }
    )
