"""Certificates of loops at a period, idle and beside load, through ``polydom-node certify``."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from polydom_runtime.certification.certificate import Certificate
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import CertificateError
from polydom_runtime.items.packing import write_packed

from .markdown import markdown_table
from .measuring import measured_costs
from .systems import build_poly_dom
from .tasks import LOADERS

ROOT = Path(__file__).parents[2]
PERIOD = "20ms"
DEADLINES = {"digits": 0.006, "bearings": 0.006, "patches": 0.012}
"""Seconds. All features fit most items."""

LOADS = {"nothing else running": None, "two busy processes beside it": "cpu:2"}
QUANTILE = 0.999
HEAD = ("task, deadline", *(f"a period of 20 ms, {load}" for load in LOADS))


class Tried(NamedTuple):
    """The certificates of one task, in the order of `LOADS`."""

    task: str
    deadline: float
    certificates: list[Certificate]


def run_certificates(data: Path | None, out: Path, names: Sequence[str] = ()) -> None:
    """Certify loops at a period, and write the certificates and ``certificates.md``."""
    out.mkdir(parents=True, exist_ok=True)
    tried: list[Tried] = []
    for name in names or DEADLINES:
        task = LOADERS[name](data or Path())
        build_poly_dom(task, measured_costs(task, out), out, QUANTILE)
        items = out / f"{name}-test.npz"
        write_packed(items, task.test_items, task.test_labels)
        found = [certified(name, out, items, load) for load in LOADS.values()]
        tried.append(Tried(name, DEADLINES[name], found))
        (out / "certificates.md").write_text(certificate_table(tried) + "\n", encoding="utf-8")
        print(f"{name}: certified; see {out / 'certificates.md'}", flush=True)


def certified(name: str, out: Path, items: Path, load: str | None) -> Certificate:
    """Return the certificate of one run of ``polydom-node certify``."""
    file = out.absolute() / f"{name}-{(load or 'idle').replace(':', '')}.certificate.json"
    file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "polydom_runtime", "certify"]
    command += [str(out.absolute() / f"{name}-{QUANTILE:g}.bundle"), f"examples.deadlines.{name}:space"]
    command += ["--items", str(items.absolute()), "--deadline", f"{DEADLINES[name]}s", "--period", PERIOD]
    command += ["--out", str(file), *(["--load", load] if load else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if not file.exists():
        raise CertificateError(f"polydom-node certify must write a certificate. It said: {done.stderr.strip()[-500:]}")
    return Certificate.read(file)


def certificate_table(tried: Sequence[Tried]) -> str:
    """Return the certificates as Markdown."""
    return markdown_table(
        HEAD, [(f"{t.task}, {format_seconds(t.deadline)}", *map(_in_short, t.certificates)) for t in tried]
    )


def _in_short(certificate: Certificate) -> str:
    longest = certificate.elapsed_share.get("max") or 0.0
    text = f"{certificate.verdict}, {certificate.misses} late of {certificate.items} (longest {longest:.2f})"
    return text + (f"; margin {format_seconds(certificate.guard_margin)}" if certificate.guard_margin else "")
