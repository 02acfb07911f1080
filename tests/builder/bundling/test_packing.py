"""A bundle as one file: what is in it, and that a node installs it."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from polydom_builder.__main__ import main
from polydom_builder.bundling.packing import pack
from polydom_builder.exceptions import ExportError
from polydom_builder.signing.sign import sign_folder
from polydom_builder.signing.signing_key import SigningKey, make_keys
from polydom_runtime import BundleFormatError, SignatureError, Trust, load_bundle
from polydom_runtime.delivery.packed import unpacked
from tests.runtime.conftest import make_bundle, write
from tests.runtime.test_planted import give_away


@pytest.fixture(autouse=True)
def _without_passphrase_and_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYDOM_PASSPHRASE", raising=False)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    folder = write(tmp_path / "sensor-7", *make_bundle())
    (folder / "proof.npz").write_bytes(b"of the search")
    return folder


def test_command_writes_one_folder_with_all_files(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pack", str(small), "--out", str(tmp_path / "sensor.tar")]) == 0
    assert f"{tmp_path / 'sensor.tar'}: the bundle {load_bundle(small).sha256}, not signed\n" == capsys.readouterr().out

    with tarfile.open(tmp_path / "sensor.tar") as archive:
        entries = archive.getmembers()
    models = [f"models/000{number}.onnx" for number in range(3)]
    names = ["index.msgpack", "index.sha256", "models", *models, "proof.npz"]
    assert ["sensor-7", *(f"sensor-7/{name}" for name in names)] == [entry.name for entry in entries]
    assert {(True, 0o755, 0, 0, 0, "", ""), (False, 0o644, 0, 0, 0, "", "")} == {
        (e.isdir(), e.mode, e.uid, e.gid, e.mtime, e.uname, e.gname) for e in entries
    }


def test_only_a_bundle_without_a_signature_is_said_to_be_not_signed(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sign_folder(small, SigningKey.from_file(make_keys(tmp_path / "lab")[0]))

    assert main(["pack", str(small), "--out", str(tmp_path / "sensor.tar")]) == 0
    assert f"{tmp_path / 'sensor.tar'}: the bundle {load_bundle(small).sha256}\n" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda folder: (folder / "proof.npz").write_bytes(b"another"), "proof.npz must be the file that was signed"),
        (lambda folder: (folder / "more").write_bytes(b""), "not signed: 'more'"),
        (lambda folder: (folder / "proof.npz").unlink(), "signed, but missing: 'proof.npz'"),
        (lambda folder: (folder / "signature.json").write_bytes(b"{}"), "as `polydom sign` writes it"),
    ],
    ids=["changed", "added", "removed", "signature"],
)
def test_signed_bundle_that_was_changed_is_not_packed(
    change: Callable[[Path], object], why: str, small: Path, tmp_path: Path
) -> None:
    """Each node would refuse it."""
    sign_folder(small, SigningKey.from_file(make_keys(tmp_path / "lab")[0]))
    change(small)

    with pytest.raises(SignatureError, match=why):
        pack(small, tmp_path / "sensor.tar")
    assert not (tmp_path / "sensor.tar").exists()


def test_the_same_bundle_gives_the_same_bytes(small: Path, tmp_path: Path) -> None:
    """Times, modes and the order on the disk do not count."""
    pack(small, tmp_path / "1.tar")
    for file in sorted(small.rglob("*"), reverse=True):
        if file.is_file():
            content = file.read_bytes()
            file.unlink()
            file.write_bytes(content)
            file.chmod(0o600)
            os.utime(file, (10**9, 10**9))
    pack(small, tmp_path / "2.tar")

    assert (tmp_path / "1.tar").read_bytes() == (tmp_path / "2.tar").read_bytes()


@pytest.mark.parametrize("value", ["", "soon", "9" * 11])
def test_time_that_is_none_is_refused(value: str, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)

    with pytest.raises(ExportError, match="SOURCE_DATE_EPOCH"):
        pack(small, tmp_path / "sensor.tar")
    assert not (tmp_path / "sensor.tar").exists()


def test_time_is_that_of_the_source(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    pack(small, tmp_path / "sensor.tar")

    with tarfile.open(tmp_path / "sensor.tar") as archive:
        assert {1_700_000_000} == {entry.mtime for entry in archive}


def test_signature_comes_along(small: Path, tmp_path: Path) -> None:
    private, public = make_keys(tmp_path / "lab")
    sign_folder(small, SigningKey.from_file(private))
    bundle = pack(small, tmp_path / "sensor.tar")

    with unpacked(tmp_path / "sensor.tar") as folder:
        found = load_bundle(folder, Trust.from_files(public))
    assert bundle.sha256 == found.sha256
    assert found.signed is not None
    assert found.signed.name == "sensor-7"


@pytest.mark.parametrize(
    ("out", "must"),
    [
        ("sensor.tar.gz", "must be named NAME.tar"),
        ("sensor-7/sensor.tar", "be outside of"),
        ("none/sensor.tar", "must be writable"),
        ("folder.tar", "must be writable"),
    ],
)
def test_file_that_cannot_be_is_refused(small: Path, tmp_path: Path, out: str, must: str) -> None:
    (tmp_path / "folder.tar").mkdir()

    with pytest.raises(ExportError, match=must):
        pack(small, tmp_path / out)


@pytest.mark.parametrize("name", ["x" * 101, "\udcff"], ids=["long", "no Unicode"])
def test_name_that_no_tar_can_hold_is_refused(small: Path, tmp_path: Path, name: str) -> None:
    (small / name).write_bytes(b"")

    with pytest.raises(ExportError, match="must hold names of at most 100 bytes"):
        pack(small, tmp_path / "sensor.tar")
    assert not (tmp_path / "sensor.tar").exists()


def test_bundle_that_is_cut_is_not_packed(small: Path, tmp_path: Path) -> None:
    (small / "models" / "0001.onnx").write_bytes(b"")

    with pytest.raises(BundleFormatError, match=r"sensor-7/models/0001\.onnx"):
        pack(small, tmp_path / "sensor.tar")
    assert not (tmp_path / "sensor.tar").exists()


def test_link_of_another_user_is_not_followed(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nobody can choose the file that is written."""
    (tmp_path / "out.tar").symlink_to(tmp_path / "aim.tar")
    give_away(tmp_path / "out.tar", monkeypatch)

    with pytest.raises(ExportError, match="of this user or of root"):
        pack(small, tmp_path / "out.tar")
    assert not (tmp_path / "aim.tar").exists()
