"""The deadlines of a command at which a bundle can answer."""

from collections.abc import Sequence
from pathlib import Path

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.commands.arguments import duration
from polydom_runtime.commands.options import Needed, Option
from polydom_runtime.commands.terminal import say
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.policy.deadline import too_short


def deadlines_option(default: str, needs: Needed | None = None) -> Option:
    """Return the option for several deadlines; `default` says for the help which ones are taken otherwise."""
    text = f"the deadlines of an item, such as 2ms 5ms (default: {default})"
    return Option("--deadline", text, duration, needs=needs, nargs="+")


def say_whose(file: str, samples: CostSamples) -> None:
    """Say that figures are by the times of a costs file, which need not be those that the bundle was built with."""
    device = samples.machine.get("device", "an unknown device")
    say(f"replayed with the times of {Path(file).name}, measured on {device}, not with those of the build", "polydom")


def long_enough(bundle: Bundle, deadlines: Sequence[float], regime: Regime = "hot") -> list[float]:
    """Return the deadlines at which the bundle can answer, at least one; say why the others are left out."""
    faults = {deadline: too_short(bundle.at(deadline, regime), deadline) for deadline in deadlines}
    if all(faults.values()):
        raise DeadlineError(next(iter(faults.values())))
    for fault in filter(None, faults.values()):
        say(f"left out: {fault}", "polydom")
    return [deadline for deadline, fault in faults.items() if not fault]
