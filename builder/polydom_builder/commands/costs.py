"""``polydom costs``: report on a costs file, after scaling it to what nodes learned if that is asked for."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from polydom_builder.costs.cost_report import CostRow, plot_costs, report_costs
from polydom_builder.costs.learned_costs import learned_costs, learned_profile
from polydom_builder.drawing.extra import check_extra
from polydom_builder.exceptions import FitError
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.arguments import share
from polydom_runtime.commands.options import Needed, Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show, warn
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.device_profile import dump
from polydom_runtime.learning.learned_file import read_learned
from polydom_runtime.measuring.conditions import busy_warning
from polydom_runtime.measuring.cost_samples import CostSamples, Pauses
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.journal import write_costs
from polydom_runtime.measuring.spread import spreads
from polydom_runtime.tables import TextTable, percent

from .tables import print_table, print_text, print_warning

PAUSES_AT = (0.3e-3, 1e-3, 3e-3, 10e-3)
"""Deadlines, in seconds, at which the report says how many answers pauses hit."""

AFTER_SLEEP: tuple[Regime, ...] = ("cold", "rehearsed")

LEARNED = Needed("--learned", "the files of what nodes learned", FitError)

OPTIONS = (
    Option("file NAME.costs", "the costs file"),
    Option("--quantile", "the quantile of the times that is the worst case (default 0.999)", share, 0.999),
    Option("--plots FOLDER", "the folder for a picture of each unit's samples and fits (needs matplotlib)"),
    Option(
        "--learned NAME.learned",
        "the files of one or more nodes of one kind: costs are scaled to the times that they learned",
        nargs="+",
        needs=Needed("--bundle", "the bundle that the nodes ran with", FitError),
    ),
    Option("--bundle BUNDLE", "the bundle that the nodes of --learned ran with", needs=LEARNED),
    Option("--out NAME.costs", "the costs file to write, with the scaled costs", needs=LEARNED),
    Option("--profile-out NAME.toml", "the device profile to write as well", needs=LEARNED),
)


def run(arguments: Namespace) -> Outcome:
    """Report on a file of measured costs."""
    samples = load_costs(arguments.file)
    if arguments.learned:
        samples = _learned(arguments, samples)
    rows = report_costs(samples, arguments.quantile)
    print_costs(samples, rows, arguments.quantile)
    if arguments.plots:
        check_extra("matplotlib")
        plot_costs(samples, rows, arguments.quantile, Path(arguments.plots))
        show(f"{arguments.plots}: a picture of each unit.")
    units = [{**asdict(row), "fit": {"typical": str(row.fit.typical), "worst": str(row.fit.worst)}} for row in rows]
    return Outcome({"machine": samples.machine, "quantile": arguments.quantile, "units": units})


def _learned(arguments: Namespace, samples: CostSamples) -> CostSamples:
    """Return costs scaled to what nodes learned, and write the files that are asked for."""
    nodes = [read_learned(file) for file in arguments.learned]
    learned = learned_costs(samples, nodes, load_bundle(arguments.bundle))
    for file, node in zip(arguments.learned, nodes, strict=True):
        if not node.circumstances.is_sound:
            warn(f"{file} is not sound: {'; '.join(node.warnings)}. What is made from it is marked so.", "polydom")
    if arguments.out:
        write_costs(arguments.out, learned)
    if arguments.profile_out:
        dump(learned_profile(learned, nodes, samples.machine.get("device", "an unknown one")), arguments.profile_out)
    return learned


def print_costs(samples: CostSamples, rows: Sequence[CostRow], quantile: float) -> None:
    """Print the measurement, the costs of each unit, and the facts that the times depend on."""
    device, sizes = samples.machine.get("device", "unknown device"), samples.sizes
    measured = f"{len(sizes)} sizes from {sizes[0]:g} to {sizes[-1]:g}, {samples.n_rounds} rounds; {samples.stopped}"
    if busy := busy_warning(samples):
        print_warning(busy)
    warnings = (f"warning: {warning}" for warning in samples.warnings if warning != busy)
    print_text("\n".join([f"{device}: {measured}", *warnings, *_disturbed(samples.pauses), ""]))
    columns = ("unit", "typical", "worst case", "#slack", "#tail", "#exceeded", "#by items", "#known to")
    title = f"worst case: quantile {quantile:g} of the samples or of their fitted tail, whichever is higher"
    print_table(TextTable(title, columns, [*map(_cells, rows)]))
    slacks = [(row.unit, *(f"{100 * s:.0f}" for s in row.fit.slack)) for row in rows]
    print_table(TextTable("slack at size, %", ("unit", *(f"#{n:.6g}" for n in sizes)), slacks))
    if found := [*_regimes(samples), *map(str, spreads(samples))]:
        print_text("\n".join([*found, ""]))
    print_text(COST_NOTES.format(1 - quantile))


COST_NOTES = """\
slack: how far the worst case is above the samples' quantile, smallest and largest over the sizes.
tail: the part of the slack, on average, for rare times that few samples cannot show.
exceeded: share of held-out samples above a worst case that was fitted without them; the promise is {:.5f}.
by items: the same on held-out items as they come.
known to: 95 % intervals of the typical and the worst case."""


def _cells(row: CostRow) -> tuple[str, ...]:
    fit = row.fit
    slack = f"{100 * fit.slack.min():.0f} to {100 * fit.slack.max():.0f} %"
    exceeded = f"{row.exceeded:.5f}", f"{row.exceeded_by_items:.5f}"
    tail = f"{100 * fit.inflation.mean():.0f} %"
    return row.unit, str(fit.typical), str(fit.worst), slack, tail, *exceeded, row.known_to


def _disturbed(pauses: Pauses) -> list[str]:
    """Say how often other work took the processor, unless nobody watched."""
    if not pauses.watched:
        return []
    lengths = pauses.lengths
    longest = f", the longest {format_seconds(lengths[0])}" if lengths else ""
    hit = ", ".join(
        f"{percent(float(pauses.late_shares(np.array([d]), d)[0]))} at {format_seconds(d)}" for d in PAUSES_AT
    )
    return [
        f"pauses, which are in no time below: {len(lengths)} in {format_seconds(pauses.watched)} of work{longest}; the "
        f"measurement got {percent(pauses.processor_share)} of a processor",
        f"answers that a pause makes late, if they work until their deadline: {hit}",
    ]


def _regimes(samples: CostSamples) -> list[str]:
    """Say how much longer units take after a sleep, if that was measured."""
    hot = samples.items.get("hot")
    lines = []
    for regime in AFTER_SLEEP:
        if hot is None or (slept := samples.items.get(regime)) is None:
            continue
        both = slice(min(len(hot.sizes), len(slept.sizes)))  # they begin with the same items
        medians = [np.median(answers.part(both).seconds, axis=2) for answers in (slept, hot)]
        added = np.median(medians[0] - medians[1], axis=1)
        title = f"{regime}, µs more"
        lines += [f"{title:20}" + ", ".join(f"{u} {1e6 * a:.1f}" for u, a in zip(samples.units, added, strict=True))]
    asleep = samples.items["cold"].asleep if lines and "cold" in samples.items else 0.0
    return [f"after {format_seconds(asleep)} asleep, in the median:", *lines, ""] if lines else []
