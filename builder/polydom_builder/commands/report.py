"""``polydom report``: write a page about a bundle, a flight recording or a device profile."""

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from polydom_builder.drawing.extra import check_extra
from polydom_builder.exceptions import FitError
from polydom_builder.simulation.expected import some_deadlines
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.arguments import duration, share
from polydom_runtime.commands.options import Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.exceptions import PolyDomError
from polydom_runtime.files import replace_file
from polydom_runtime.items.sources import space_of
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.records.flight_file import MAGIC, load_flight

from .deadlines import long_enough

if TYPE_CHECKING:
    from polydom_builder.reporting.page import Page, Section

OPTIONS = (
    Option("about BUNDLE|FLIGHT|PROFILE", "a bundle folder, a flight recording, or a device (name or .toml)"),
    Option("--out NAME.html", "the page to write", Path, required=True),
    Option("--costs NAME.costs", "measured times of the device, to replay (of a bundle)"),
    Option(
        "--deadline",
        "with --costs or --items: the deadlines, such as 2ms 5ms (default: those of the bundle's table)",
        duration,
        nargs="+",
    ),
    Option("--quantile", "the quantile of measured times that is the worst case (0.999)", share, 0.999),
    Option("--items ITEMS", "labelled items to answer: a packed .npz or MODULE:FUNCTION"),
    Option("--space MODULE:SPACE", "the feature space, with --items"),
)


def run(arguments: Namespace) -> Outcome:
    """Write the page, whole or not at all."""
    check_extra("jinja2", "matplotlib")
    about = Path(arguments.about)
    if (arguments.items is None) != (arguments.space is None):
        raise FitError("--items must come with --space MODULE:SPACE, and the other way round. One of them is missing.")
    if arguments.deadline and not (arguments.costs or arguments.items):
        raise FitError("--deadline must come with --costs, the times to replay, or with --items. Both are missing.")
    page: Page
    if about.is_dir():
        page = _of_bundle(arguments)
    elif others := [name for name in ("costs", "deadline", "items") if getattr(arguments, name)]:
        raise FitError(f"--{others[0]} must come with a bundle folder. Got {arguments.about}.")
    elif _is_flight(about):
        from polydom_builder.reporting.flight_page import flight_page

        page = flight_page(load_flight(about), about.name)
    else:
        from polydom_builder.reporting.profile_page import profile_page

        page = profile_page(DeviceProfile.named(arguments.about))
    content = page.to_html().encode()
    try:
        replace_file(arguments.out, content)
    except OSError as e:
        raise PolyDomError(f"The report must be written to a file. {e}. Give another name with --out.") from e
    show(f"{arguments.out}: {page.kind} report, {len(content) / 1e3:.0f} kB")
    found = {"findings": page.findings, "warnings": page.warnings}
    return Outcome({"file": arguments.out, "kind": page.kind, "size_bytes": len(content), **found})


def _of_bundle(arguments: Namespace) -> "Page":
    from polydom_builder.reporting.bundle_page import bundle_page

    bundle = load_bundle(arguments.about)
    samples = load_costs(arguments.costs) if arguments.costs else None
    more = [_evaluated(arguments, bundle)] if arguments.items else []
    return bundle_page(bundle, samples, deadlines=arguments.deadline or (), quantile=arguments.quantile, more=more)


def _evaluated(arguments: Namespace, bundle: Bundle) -> "Section":
    from polydom_builder.evaluation import Labelled, evaluate
    from polydom_builder.reporting.evaluation_section import evaluation_section

    test = Labelled.read(bundle.space_of(space_of(arguments.space)), arguments.items)
    return evaluation_section(evaluate(bundle, test, long_enough(bundle, arguments.deadline or some_deadlines(bundle))))


def _is_flight(file: Path) -> bool:
    try:
        with open(file, "rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
