"""No text of a file, and no name of one, controls the terminal that it is printed on."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import write_packed
from polydom_runtime.__main__ import main
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.causes import report
from polydom_runtime.certification.certificate import Certificate
from polydom_runtime.commands.terminal import say, show
from polydom_runtime.findings import Finding, as_text
from polydom_runtime.learning import learned_file
from polydom_runtime.learning.learned_file import this_machine, write_learned
from polydom_runtime.learning.learned_times import LearnedRow
from polydom_runtime.records.recorder import FlightRecorder
from tests.bundle_parts import changed
from tests.hostile_texts import HOSTILE, controls, printed, spoil, spoilt_bundle
from tests.runtime.certification.test_certificate import certificate
from tests.runtime.conftest import make_bundle
from tests.runtime.learning.test_learned_file import learned_of
from tests.runtime.records.test_metrics import ANSWER, Watched, traced

__all__ = ["certificate"]

SPACE = "tests.runtime.node_space:space"

LINES = {
    "info": "info B",
    "info of what was learned": "info B --learned learned",
    "info of what was learned on another machine": "info B --learned other",
    "info of a file": "info items.npz",
    "info with keys": "info B --trust keys",
    "run": f"run B {SPACE} --items items.npz --record record --metrics-json - --metrics-prometheus m.prom",
    "explain": f"explain B {SPACE} --item items.npz#0",
    "explain an unknown item": f"explain B {SPACE} --item items.npz#9",
    "explain no item": f"explain B {SPACE} --item B",
    "run of another space": "run B tests.runtime.node_space:other --items items.npz",
    "run with energies": f"run B {SPACE} --items items.npz --energy 1mJ --energy-costs keys",
    "run with unknown items": f"run B {SPACE} --items keys",
    "run with metrics in no folder": f"run B {SPACE} --items items.npz --metrics-json none/m",
    "flight": "flight flight",
    "flight, summary": "flight flight --summary",
    "flight, explained": "flight flight --explain 0",
    "flight, explained by another bundle": "flight flight --explain 0 --bundle B",
    "flight, explained in JSON": "flight flight --explain 0 --json",
    "flight of strange names": "flight names",
    "flight of no recording": "flight keys",
    "status": "status root",
    "status of nothing": "status none",
    "rollback": "rollback --into root",
    "install": "install B --into new",
    "install of no bundle": "install items.npz --into new",
    "unknown option": "info B --B",
    "unknown command": "B",
}
"""Command lines, in which B is the bundle, and other names are files beside it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of hostile files, of a hostile name itself."""
    folder = tmp_path_factory.mktemp("hostile") / HOSTILE
    folder.mkdir()
    bundle = load_bundle(spoilt_bundle(folder / "B"))
    write_packed(folder / "items.npz", [np.arange(5.0)])
    (folder / "keys").write_text(f"name: {HOSTILE}\n-----BEGIN PUBLIC KEY-----\n{HOSTILE}\n")
    rows = LearnedRow("hot", bundle.names[0], 2.0, 0.0, 9, 1e-6), LearnedRow("hot", 1, 2.0, 0.0, 9, 1e-6)
    learned = replace(learned_of(bundle), began=HOSTILE, rows=rows)
    for name, machine in {"learned": this_machine(), "other": dict.fromkeys(this_machine(), HOSTILE)}.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(learned_file, "this_machine", lambda board, machine=machine: machine)
            write_learned(folder / name, learned, warnings=(HOSTILE,))
    for name, names in (("flight", ("a", "b", "c")), ("names", (HOSTILE, "b", "c"))):
        watched = Watched(changed(make_bundle()[0], names=names, classes=(HOSTILE, "yes")))
        with closing(FlightRecorder(folder / name, watched, 4)) as recorder:
            recorder.add(ANSWER._replace(label=HOSTILE, features=names[:2], reason=HOSTILE, error=HOSTILE), traced(), 0)
    for digest in ("0" * 64, "1" * 64):
        (folder / "root" / "releases" / digest).mkdir(parents=True)
    (folder / "root" / "current").symlink_to(f"releases/{digest}")
    (folder / "root" / "history").write_text(f"{'0' * 64}\n{'1' * 64}\n")
    return folder


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_no_command_prints_what_controls_a_terminal(
    line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = {"-", SPACE, "tests.runtime.node_space:other", "1mJ", line.split()[0]}
    words: list[object] = [w if w in plain or (w.startswith("--") and w != "--B") else folder / w for w in line.split()]
    text = printed(capsys, main, words if len(words) > 1 else [HOSTILE])

    assert text
    assert controls(text) == []


def test_a_certificate_prints_nothing_that_controls_a_terminal(certificate: Certificate, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    certificate.write(file)
    document = json.loads(file.read_text())

    def load() -> Certificate:
        file.write_text(json.dumps(document))
        return Certificate.read(file)

    assert spoil(document, load) > 0
    assert controls(str(load())) == []


def test_findings_and_messages_control_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show(f"a\n{as_text([Finding('bundle', 'problem', HOSTILE, HOSTILE, HOSTILE)])}")
    show(HOSTILE)
    say(HOSTILE)
    report(HOSTILE)

    assert controls("".join(capsys.readouterr())) == []
