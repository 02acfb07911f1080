"""``polydom-node board-report``: measure all of a board that device profiles need, in one run, into one file."""

import re
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from polydom_runtime.boards.answering import BundleScene
from polydom_runtime.boards.making import Making
from polydom_runtime.boards.profile import profile_of, refusals
from polydom_runtime.boards.report import BoardReport
from polydom_runtime.boards.summary import tables
from polydom_runtime.causes import printable
from polydom_runtime.device.board import Board
from polydom_runtime.device.device_profile import dump
from polydom_runtime.exceptions import ItemError, ProfileError
from polydom_runtime.files import check_folder_of
from polydom_runtime.items.sources import readable, space_of
from polydom_runtime.predictor import Predictor

from .arguments import positive
from .bundle_options import PLAN, TRUST, bundle_of
from .certify import context_of
from .options import Needed, Option
from .outcome import ExitCode, Outcome
from .terminal import ProgressBar, say, show

ENDING = ".board.json"
OPTIONS = (
    Option("--bundle BUNDLE", "a bundle folder: how late its answers are is measured as well"),
    Option(
        "--space MODULE:SPACE",
        "with --bundle: its feature space",
        needs=Needed("--bundle", "which has the models", ItemError),
    ),
    Option(
        "--items ITEMS",
        "with --space: the items to answer, a packed .npz file or MODULE:FUNCTION",
        needs=Needed("--space", "which has the features of an item", ItemError),
    ),
    *PLAN[:1],
    TRUST,
    Option("--seconds", "the time to measure in seconds (default 540)", positive, 540.0),
    Option("--watts", "the power draw in watts meanwhile, if you have a meter", positive),
    Option("--note TEXT", "words about the board, such as its power supply and cooling", default=""),
    Option("--out OUT", "the report to write (default: the board's name and the date)"),
    Option(
        "--check FILE",
        "measure nothing: say whether these reports are fit to be profiles; exit code 1 if one is not",
        nargs="+",
    ),
    Option(
        "--profile-out NAME.toml",
        "with --check of one report: the device profile to write",
        needs=Needed("--check", "which names the report", ProfileError),
    ),
)


def to_go_on(arguments: Namespace) -> str:
    """Return what a user can do who has stopped the run."""
    done = getattr(arguments, "done", [])
    return f"No file was written. Done so far: {', '.join(done) or 'nothing'}. Give the same command again."


def run(arguments: Namespace) -> Outcome:
    """Make a report, or check reports."""
    return _checked(arguments) if arguments.check else _made(arguments)


def _made(arguments: Namespace) -> Outcome:
    board = Board()
    file = Path(arguments.out or f"{_plain(board.device)}-{time.strftime('%Y-%m-%d')}{ENDING}").absolute()
    check_folder_of(file, ProfileError)
    if file.exists() and not arguments.out:
        raise ProfileError(f"{file} must be a new file. It is an earlier report. Move it, or give a name with --out.")
    making = Making(board, _scene(arguments), arguments.seconds)
    minutes = max(round(sum(part.seconds for part in making.parts) / 60), 1)
    say(f"this takes up to {minutes} min. Do not use the board meanwhile. Ctrl-C stops it, and writes nothing.")
    arguments.done = []
    for number, part in enumerate(making.parts, 1):
        name = f"{number} of {len(making.parts)}: {part.name}"
        with ProgressBar(name) as bar:
            found = part.run(bar.update)
        arguments.done.append(part.name)
        show(f"{name}: {found}")
    report = making.report(arguments.note, arguments.watts)
    report.write(file)
    for table in tables(report):
        show("\n".join(table.lines("  ")))
    show(f"{file}: the report about this board. Please contribute it, so that others can use it.")
    return Outcome({"reports": [_judged(file, report)]})


def _scene(arguments: Namespace) -> BundleScene | None:
    if not arguments.bundle:
        return None
    if not arguments.items:
        raise ItemError("--bundle must come with --space and --items, which say what to answer. One is missing.")
    space, bundle = space_of(arguments.space), bundle_of(arguments)
    bundle.check_features(space)
    deadline = bundle.promise.budgets[1] if arguments.deadline is None else arguments.deadline
    predictor = Predictor(bundle, space, deadline=deadline)
    context = context_of(Namespace(**vars(arguments), guard=0.0, load=(), seed=0), predictor)
    context["bundle"]["path"] = Path(arguments.bundle).name  # a report is sent around, and folders tell who someone is
    context["items"]["source"] = Path(arguments.items).name
    return BundleScene(bundle, space, readable(arguments.items), deadline, context)


def _checked(arguments: Namespace) -> Outcome:
    if arguments.profile_out and Path(arguments.profile_out) in map(Path, arguments.check):
        raise ProfileError(f"--profile-out must name another file than the report. Got {arguments.profile_out}.")
    if arguments.profile_out and len(arguments.check) > 1:
        raise ProfileError(f"--profile-out must come with one report. Got {len(arguments.check)}. Give one of them.")
    reports = {file: BoardReport.read(file) for file in arguments.check}
    judged = [_judged(file, report) for file, report in reports.items()]
    is_fit = all(one["fit"] for one in judged)
    if arguments.profile_out and is_fit:
        ((file, report),) = reports.items()
        dump(profile_of(report), arguments.profile_out)
        show(f"{arguments.profile_out}: the profile that follows from {file}")
    return Outcome({"reports": judged}, ExitCode.DONE if is_fit else ExitCode.WRONG)


def _judged(file: str | Path, report: BoardReport) -> dict[str, Any]:
    """Print whether a report is fit to be a profile, and return this with its figures."""
    facts, reasons = report.facts, refusals(report)
    verdict = "refused as a profile:" if reasons else "fit to be a profile"
    show(printable(f"{file}: {facts.device}, {facts.began[:10]}: {verdict}"))
    for reason in reasons:
        show(f"- {reason}")
    return {
        "file": str(file),
        "fit": not reasons,
        "reasons": reasons,
        "facts": facts,
        "kernels": {name: report.seconds(name) for name in report.spreads},
        "spreads": report.spreads,
        "processor_share": report.processor_share,
        "cold_seconds": report.cold.cold_seconds,
        "late": {way: [found.misses, found.items] for way, found in report.answers.items()},
        "missing": report.missing,
    }


def _plain(name: str) -> str:
    """Return a name for a file: in small letters, with hyphens for all that may mean something to a shell."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "board"
