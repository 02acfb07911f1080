"""The doctor names what any user may change of all that a node reads and runs."""

import json
import sys
from pathlib import Path

import pytest

from polydom_runtime.__main__ import main
from polydom_runtime.diagnosis.machine_findings import check_access


@pytest.fixture
def node(bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bundle, a keys file, and a module of features."""
    node = tmp_path / "node"
    for name in ("keys", "code"):
        (node / name).mkdir(parents=True)
    bundle_folder.rename(node / "bundle")
    (node / "keys" / "lab.pub").write_text("no key")
    (node / "code" / "of_user.py").write_text("from tests.runtime.node_space import space\n")
    monkeypatch.delitem(sys.modules, "of_user", raising=False)
    monkeypatch.syspath_prepend(node / "code")
    monkeypatch.setenv("POLYDOM_TRUST", str(node / "keys" / "lab.pub"))
    monkeypatch.chdir(node)
    return node


EXPOSED = [
    *(".", "bundle", "bundle/index.msgpack", "bundle/models/0000.onnx"),
    *("code", "code/of_user.py", "keys", "keys/lab.pub"),
]


def test_doctor_names_what_any_user_may_write_to(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in EXPOSED:
        (node / name).chmod(0o777)
    main(["doctor", "--bundle", "bundle", "--space", "of_user:space", "--json"])
    findings = {f["check"]: f for f in json.loads(capsys.readouterr().out)["result"]["findings"]}

    assert findings["access"]["level"] == "warning"
    assert findings["access"]["found"] == f"any user may write to {', '.join(str(node / name) for name in EXPOSED)}"


def test_doctor_goes_on_without_sound_keys(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The keys are a finding as all others are."""
    code = main(["doctor", "--bundle", "bundle", "--trust", "keys/lab.pub", "--json"])
    findings = {f["check"]: f for f in json.loads(capsys.readouterr().out)["result"]["findings"]}

    assert code == 1
    assert findings["keys"]["level"] == "problem"
    assert "lab.pub must hold public keys" in findings["keys"]["found"]


@pytest.mark.parametrize(("mode", "level"), [(0o755, "ok"), (0o775, "ok"), (0o777, "warning"), (0o1777, "ok")])
def test_a_folder_above_counts_unless_it_is_sticky(mode: int, level: str, tmp_path: Path) -> None:
    """In one as ``/tmp``, nobody can put a file in the place of another user's file."""
    (tmp_path / "above" / "mine").mkdir(parents=True)
    (tmp_path / "above").chmod(mode)

    assert check_access([tmp_path / "above" / "mine"]).level == level


def test_what_is_not_there_is_no_finding(tmp_path: Path) -> None:
    assert check_access([tmp_path / "none" / "at all"]).level == "ok"
