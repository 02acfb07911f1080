"""The commands install, rollback and status, in this process."""

import json
import re
import tarfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from polydom_runtime.__main__ import main
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.promise import Identity
from polydom_runtime.device.probe import Probe
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write
from tests.runtime.trust.signer import OWNER, STRANGER, public, sign, trust_in

PROBE = Probe(bits=64, numpy="2.4.6", onnxruntime="1.28.0", threads=1, ir_version=13, opset=26, ml_opset=5)


@pytest.fixture(autouse=True)
def _quick_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polydom_runtime.commands.install.probe", lambda: PROBE)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Return two versions of a bundle."""
    bundle, models = make_bundle()
    named = [changed(bundle, identity=Identity("pi", str(number))) for number in range(2)]
    return [write(tmp_path / f"{number}.bundle", named[number], models) for number in range(2)]


def digest_of(folder: Path) -> str:
    return load_bundle(folder).sha256


def test_install_rollback_and_status_say_what_is_current(
    tmp_path: Path, folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    old, new = map(digest_of, folders)

    assert [main(["install", str(folder), "--into", str(root)]) for folder in folders] == [0, 0]
    said = capsys.readouterr().out.splitlines()
    assert [
        f"{root}: {old} is the current release now",
        f"{root}: {new} is the current release now",
        f"before: {old}; back to it: polydom-node rollback --into {root}",
    ] == said

    assert main(["install", str(folders[1]), "--into", str(root)]) == 0
    assert f"{root}: {new} is the current release already\n" == capsys.readouterr().out

    assert main(["rollback", "--into", str(root)]) == 0
    assert f"{root}: {old} is the current release now\n" == capsys.readouterr().out

    assert main(["status", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {f"current {old}", f"        {new}"} == {line[:72] for line in lines}
    pattern = r"  \d{4}-\d\d-\d\d \d\d:\d\d UTC +\d\.\d\d MB  (sound  pi 0|on trial  pi 1)$"
    assert all(re.search(pattern, line) for line in lines)


def test_status_tells_a_damaged_current_release(
    tmp_path: Path, folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["install", str(folders[0]), "--into", str(tmp_path / "root")])
    (tmp_path / "root" / "current" / "models" / "0000.onnx").unlink()
    capsys.readouterr()

    assert main(["status", str(tmp_path / "root"), "--json"]) == 1
    status = json.loads(capsys.readouterr().out)["result"]
    assert status["current"] == digest_of(folders[0])
    (release,) = status["releases"]
    assert {"digest", "name", "installed", "size_bytes", "fault"} == release.keys()
    assert "0000.onnx must be a readable file" in release["fault"]


@pytest.mark.parametrize("command", [["status"], ["rollback", "--into"]])
def test_folder_without_releases_is_refused(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, str(tmp_path / "none")]) == 2
    assert "none must be a folder" in capsys.readouterr().err


def test_bundle_that_is_cut_is_not_installed(
    tmp_path: Path, folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (folders[0] / "models" / "0000.onnx").write_bytes(b"")

    assert main(["install", str(folders[0]), "--into", str(tmp_path / "root")]) == 2
    assert "must be the model that the index names" in capsys.readouterr().err
    assert not (tmp_path / "root").exists()


def test_features_are_compared_with_those_of_the_build(
    tmp_path: Path, folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    install = ["install", str(folders[0]), "--into", str(tmp_path / "root"), "--space"]

    assert main([*install, "tests.runtime.supervised_space:space"]) == 2
    assert "must have the shared steps" in capsys.readouterr().err
    assert not (tmp_path / "root").exists()
    assert main([*install, "tests.runtime.node_space:space"]) == 0


def test_only_a_bundle_that_a_trusted_key_has_signed_is_installed(
    tmp_path: Path, folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root, keys = str(tmp_path / "root"), ["--trust", str(tmp_path / "trusted.pub")]
    trust_in(tmp_path, public(OWNER))
    for folder, key in zip(folders, (OWNER, STRANGER), strict=True):
        (folder / "proof.npz").write_bytes(b"of the search")
        sign(folder, key)

    assert main(["install", str(folders[0]), "--into", root, *keys]) == 0
    assert main(["install", str(folders[1]), "--into", root, *keys]) == 2
    assert main(["status", root, *keys]) == 0
    assert main(["install", str(folders[1]), "--into", root]) == 0
    assert main(["status", root, *keys]) == 1
    assert main(["rollback", "--into", root, *keys]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{root}: {digest_of(folders[0])} is the current release now"


def test_the_way_back_demands_the_same_keys(
    tmp_path: Path, folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root, keys = str(tmp_path / "root"), ["--trust", str(tmp_path / "trusted.pub")]
    trust_in(tmp_path, public(OWNER))
    for folder in folders:
        sign(folder, OWNER)
        assert main(["install", str(folder), "--into", root, *keys]) == 0

    command = capsys.readouterr().out.splitlines()[-1].rpartition(": polydom-node ")[2]
    assert ["rollback", "--into", root, *keys] == command.split()


@pytest.mark.parametrize(("key", "code"), [(OWNER, 0), (STRANGER, 2)], ids=["owner", "stranger"])
def test_tar_file_is_installed_as_its_folder_is(
    tmp_path: Path, folders: list[Path], key: Ed25519PrivateKey, code: int
) -> None:
    root, packed = tmp_path / "root", tmp_path / "0.tar"
    trust_in(tmp_path, public(OWNER))
    sign(folders[0], key)
    with tarfile.open(packed, "w", format=tarfile.USTAR_FORMAT) as archive:
        archive.add(folders[0], "sensor")

    assert code == main(["install", str(packed), "--into", str(root), "--trust", str(tmp_path / "trusted.pub")])
    found = {file.name: file.read_bytes() for file in (root / "current").rglob("*") if file.is_file()}
    expected = {file.name: file.read_bytes() for file in folders[0].rglob("*") if file.is_file()}
    assert ({} if code else expected) == found
