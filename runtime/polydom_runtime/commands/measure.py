"""``polydom-node measure``: time features on this machine, so that the host can plan for it."""

import argparse

from polydom_runtime.device.board import usable_cpus
from polydom_runtime.device.device_profile import dump
from polydom_runtime.device.probe import probe
from polydom_runtime.items.sources import readable, space_of
from polydom_runtime.measuring.conditions import onnx_limits
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.measuring.measure import measure
from polydom_runtime.measuring.own_profile import own_profile
from polydom_runtime.measuring.spread import spreads

from .arguments import duration, positive, share, sizes
from .outcome import Outcome
from .progress import ProgressBar
from .terminal import say, show


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node measure``."""
    command.add_argument("space", metavar="MODULE:SPACE", help="the feature space to time")
    command.add_argument("--items", required=True, help="the items to time: a packed .npz file or MODULE:FUNCTION")
    command.add_argument("--out", required=True, metavar="NAME.costs", help="the costs file to write")
    command.add_argument(
        "--sizes",
        type=sizes,
        default=(12, None),
        help="the item sizes to measure: their number, or LOW:HIGH, or LOW:HIGH:NUMBER (default: 12 sizes over the "
        "range of the items)",
    )
    command.add_argument("--seconds", type=positive, default=60.0, help="the time limit in seconds (default 60)")
    command.add_argument(
        "--quantile",
        type=share,
        default=0.999,
        help="the quantile of the times that must be known well before the measurement may end early (default 0.999)",
    )
    command.add_argument(
        "--period",
        type=duration,
        default=0.02,
        help="the time to sleep before each answer that is to be cold, such as the period of the loop (default 20ms)",
    )
    command.add_argument("--cpu", type=int, help="the processor to measure on (default: the last one)")
    command.add_argument("--resume", action="store_true", help="continue an unfinished measurement")
    command.add_argument("--profile-out", metavar="NAME.toml", help="the device profile to write as well")


def run(arguments: argparse.Namespace) -> Outcome:
    """Time the features on this machine and write the samples."""
    space = space_of(arguments.space)
    items = readable(arguments.items)
    count, size_range = arguments.sizes
    journal = FileJournal(arguments.out, resume=arguments.resume)
    with ProgressBar("costs measured") as bar:
        samples = measure(
            space,
            items,
            n_sizes=count,
            size_range=size_range,
            seconds=arguments.seconds,
            quantile=arguments.quantile,
            period=arguments.period,
            cpu=usable_cpus()[-1] if arguments.cpu is None else arguments.cpu,
            journal=journal,
            stamp={"onnx": onnx_limits(probe())},
            progress=bar.update,
        )
    found = spreads(samples)
    for warning in samples.warnings:
        if warning not in {spread.warning for spread in found}:  # these are told below, with all others
            say(f"{warning}")
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
            "stopped": samples.stopped,
            "machine": samples.machine,
            "warnings": samples.warnings,
        }
    )
