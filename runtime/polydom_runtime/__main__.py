"""The command ``polydom-node``: measure, look for trouble, answer items, certify, or say what is in a file."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from . import __version__
from .bundles.index_file import load_bundle
from .commands import certify as certify_command
from .commands import flight as flight_command
from .commands import run as run_command
from .commands.arguments import positive, share, sizes
from .commands.progress import ProgressBar
from .costs import format_seconds
from .device.board import Board, usable_cpus
from .device.probe import probe
from .diagnosis.findings import as_text, exit_code
from .exceptions import PolyDomError
from .items import iterate, space_of
from .policy.lateness import longest_step


def info(arguments: argparse.Namespace) -> None:
    """Say what a bundle holds."""
    bundle = load_bundle(arguments.bundle)
    low, high = bundle.promise.budgets
    deadlines = format_seconds(low) if low == high else f"{format_seconds(low)} to {format_seconds(high)}"
    print(f"{len(bundle.names)} features: {', '.join(bundle.names)}")
    if bundle.space.classes:
        print(f"{len(bundle.space.classes)} classes: {', '.join(map(str, bundle.space.classes))}")
    else:
        print("regression: answers are numbers")
    what = (
        f"{len(bundle.stored.sequences)} greedy sequences"
        if bundle.stored.sequences
        else f"{len(bundle.stored.shipped)} candidates"
    )
    print(f"{what}, {len(bundle.models)} models with all prefixes")
    print(f"item sizes {bundle.promise.sizes[0]:g} to {bundle.promise.sizes[1]:g}, deadlines {deadlines}")
    print(f"models for slow-downs up to {bundle.promise.slowdown:g} at the shortest deadline")
    quantile = f"the {bundle.times.planned.quantile:g} quantile" if bundle.times.planned.quantile else "worst cases"
    guard = f"the {bundle.times.guarded.quantile:g} quantile" if bundle.times.guarded.quantile else "worst cases"
    print(f"planned at {quantile} of what each feature takes, each begun only if {guard} fits")
    print(f"longest step: {longest_step(bundle)}; an answer can be late by what one step overruns its worst case")
    promise = bundle.promise
    print(f"alpha {promise.alpha:g}, tolerance {promise.tolerance:g}, dispatch {bundle.times.worst.dispatch}")
    print(bundle.times.origin)


def measure(arguments: argparse.Namespace) -> None:
    """Time the features on this machine and write the samples."""
    from .device.device_profile import dump
    from .measuring.conditions import onnx_limits
    from .measuring.journal import FileJournal
    from .measuring.measure import measure
    from .measuring.own_profile import own_profile

    space = space_of(arguments.space)
    items = [item for item, _ in iterate(arguments.items) if item is not None]
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
            cpu=usable_cpus()[-1] if arguments.cpu is None else arguments.cpu,
            journal=journal,
            stamp={"onnx": onnx_limits(probe())},
            progress=bar.update,
        )
    for warning in samples.warnings:
        print(f"polydom-node: {warning}", file=sys.stderr)
    sizes = f"{len(samples.sizes)} sizes from {samples.sizes[0]:g} to {samples.sizes[-1]:g}"
    print(f"{arguments.out}: {len(samples.units)} units at {sizes} on {samples.machine['device']}; {samples.stopped}.")
    if arguments.profile_out:
        dump(own_profile(samples), arguments.profile_out)
        print(f"{arguments.profile_out}: the profile of this device. Others can build with it; do contribute it.")


def doctor(arguments: argparse.Namespace) -> int:
    """Look for what makes answers late on this machine."""
    from .diagnosis.doctor import examine

    findings = examine(Board(), bundle=arguments.bundle)
    print(json.dumps([asdict(f) for f in findings], indent=2) if arguments.json else as_text(findings))
    return exit_code(findings)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    top = argparse.ArgumentParser(prog="polydom-node", description="Answer items inside a deadline.")
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(required=True)
    command = commands.add_parser("run", help="answer items: a JSON line each, and a summary")
    run_command.add_arguments(command)
    command.set_defaults(run=run_command.run)
    command = commands.add_parser("info", help="check a bundle and say what it holds")
    command.add_argument("bundle", metavar="BUNDLE")
    command.set_defaults(run=info)
    command = commands.add_parser("measure", help="time features on this machine, to plan for it on the host")
    command.add_argument("space", metavar="MODULE:SPACE")
    command.add_argument("--items", required=True, help="a packed .npz file or MODULE:FUNCTION")
    command.add_argument("--out", required=True, metavar="NAME.costs")
    command.add_argument(
        "--sizes", type=sizes, default=(12, None), help="how many, or LOW:HIGH, or LOW:HIGH:COUNT (default 12)"
    )
    command.add_argument("--seconds", type=positive, default=60.0, help="at most so long (default 60)")
    command.add_argument("--quantile", type=share, default=0.999, help="that must become known (default 0.999)")
    command.add_argument("--cpu", type=int, help="the processor to stay on; the last one if not given")
    command.add_argument("--resume", action="store_true", help="go on with an unfinished measurement")
    command.add_argument("--profile-out", metavar="NAME.toml", help="also write a profile of this device")
    command.set_defaults(run=measure)
    command = commands.add_parser("doctor", help="look for what makes answers late; exit code 1 if there is a problem")
    command.add_argument("--bundle", metavar="BUNDLE")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=doctor)
    command = commands.add_parser("certify", help="prove, or refute, how rarely an answer is late here")
    certify_command.add_arguments(command)
    command.set_defaults(run=certify_command.run)
    command = commands.add_parser("flight", help="print what a flight recorder kept")
    flight_command.add_arguments(command)
    command.set_defaults(run=flight_command.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; an error of the user's is one line and exit code 2."""
    arguments = parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments) or 0
    except PolyDomError as e:
        print(f"polydom-node: {e}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 141
    except KeyboardInterrupt:
        print("polydom-node: stopped. An unfinished measurement goes on with --resume.", file=sys.stderr)
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
