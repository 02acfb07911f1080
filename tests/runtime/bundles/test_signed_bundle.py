"""Loading with trusted keys: nothing of a bundle is decoded before all of its files are known to be the signed ones."""

import os
import random
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from polydom_runtime.bundles import index_file
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.exceptions import BundleFormatError, SignatureError
from polydom_runtime.trust.trust import Trust
from tests.draws import draws
from tests.runtime.trust.signer import OWNER, STRANGER, SUCCESSOR, public, sign, trust_in


@pytest.fixture
def folder(bundle_folder: Path) -> Path:
    sign(bundle_folder, OWNER)
    return bundle_folder


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return trust_in(tmp_path, public(OWNER, "name: lab"))


@pytest.fixture
def undecoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test fail that decodes a bundle."""

    def decode(*arguments: object) -> None:
        pytest.fail("A bundle was decoded that is not the signed one.")

    monkeypatch.setattr(index_file, "decode", decode)


def test_a_signed_bundle_is_loaded_with_its_signer(folder: Path, trust: Trust) -> None:
    bundle = load_bundle(folder, trust)

    assert bundle == load_bundle(folder)
    assert bundle.contents == load_bundle(folder).contents
    assert str(bundle.signed) == "vibration-7, signed by lab at 2026-06-01 12:00 UTC"


def test_without_trusted_keys_a_signature_is_not_checked(folder: Path) -> None:
    (folder / "signature.json").write_text("anything")

    assert load_bundle(folder).signed is None


def test_the_environment_demands_a_signature(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trust_in(tmp_path, public(OWNER, "name: lab"))
    monkeypatch.setenv("POLYDOM_TRUST", str(tmp_path / "trusted.pub"))
    signed = load_bundle(folder).signed
    (folder / "signature.json").unlink()

    assert signed is not None
    with pytest.raises(SignatureError, match="must be signed, since a trusted key is demanded"):
        load_bundle(folder)


def test_an_empty_list_of_keys_trusts_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYDOM_TRUST", "")

    with pytest.raises(SignatureError, match="There must be a file of trusted keys"):
        load_bundle(folder)


def test_a_path_is_no_trust(folder: Path) -> None:
    with pytest.raises(SignatureError, match=r"trust must be a Trust\. Got 'lab\.pub'\. Write trust=Trust\.from_files"):
        load_bundle(folder, "lab.pub")  # type: ignore[arg-type]


def test_files_that_only_the_host_reads_are_signed_too(bundle_folder: Path, trust: Trust) -> None:
    (bundle_folder / "proof.npz").write_bytes(b"proof")
    sign(bundle_folder, OWNER)
    load_bundle(bundle_folder, trust)
    (bundle_folder / "proof.npz").write_bytes(b"other")

    with pytest.raises(SignatureError, match=r"proof\.npz must be the file that was signed"):
        load_bundle(bundle_folder, trust)


def test_a_signed_model_that_the_index_does_not_name_is_no_model(folder: Path, trust: Trust) -> None:
    (folder / "models" / "0002.onnx").unlink()
    sign(folder, OWNER)

    with pytest.raises(BundleFormatError, match=r"0002\.onnx must be a file"):
        load_bundle(folder, trust)


def linked(folder: Path, name: str) -> None:
    """Put a link in the place of a file or folder, to where it is from now on: beside the bundle."""
    (folder / name).symlink_to((folder / name).rename(folder.parent / "elsewhere"))


def made_by(make: Callable[[Path], object], path: Path) -> None:
    """Put something else in the place of a file."""
    path.unlink()
    make(path)


def swapped(models: Path) -> None:
    first, second, aside = (models / name for name in ("0000.onnx", "0001.onnx", "aside"))
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


ATTACKS: dict[str, Callable[[Path], object]] = {
    "no signature": lambda f: (f / "signature.json").unlink(),
    "an empty signature": lambda f: (f / "signature.json").write_bytes(b""),
    "a large signature": lambda f: (f / "signature.json").write_bytes(b"[" * ((4 << 20) + 1)),
    "a signature that is a folder": lambda f: made_by(Path.mkdir, f / "signature.json"),
    "a signature that is a pipe": lambda f: made_by(os.mkfifo, f / "signature.json"),
    "a signature that is a link": lambda f: linked(f, "signature.json"),
    "another signer": lambda f: sign(f, STRANGER),
    "one more file": lambda f: (f / "more").write_bytes(b""),
    "one more hidden file": lambda f: (f / ".more").write_bytes(b""),
    "one more model": lambda f: (f / "models" / "0009.onnx").write_bytes(b""),
    "one more folder": lambda f: shutil.copytree(f / "models", f / "more"),
    "a folder in a folder": lambda f: (f / "models" / "more").mkdir(),
    "no model": lambda f: (f / "models" / "0001.onnx").unlink(),
    "no models": lambda f: shutil.rmtree(f / "models"),
    "a larger model": lambda f: (f / "models" / "0001.onnx").write_bytes((f / "models" / "0001.onnx").read_bytes() * 2),
    "swapped models": lambda f: swapped(f / "models"),
    "a model that is a link": lambda f: linked(f, "models/0001.onnx"),
    "a model that is a pipe": lambda f: made_by(os.mkfifo, f / "models" / "0001.onnx"),
    "an index that is a link": lambda f: linked(f, "index.msgpack"),
    "models that are a link": lambda f: linked(f, "models"),
}


@pytest.mark.usefixtures("undecoded")
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_altered_folder_is_refused_before_it_is_decoded(
    attack: Callable[[Path], object], folder: Path, trust: Trust
) -> None:
    attack(folder)

    with pytest.raises(BundleFormatError):
        load_bundle(folder, trust)


@pytest.mark.usefixtures("undecoded")
def test_every_altered_byte_of_a_file_is_refused_before_it_is_decoded(folder: Path, trust: Trust) -> None:
    files, rng = [file for file in sorted(folder.rglob("*")) if file.is_file()], random.Random(0)
    accepted = []
    for path in (rng.choice(files) for _ in range(draws(150, 1000))):
        with path.open("r+b", buffering=0) as file:
            position = rng.randrange(path.stat().st_size)
            (byte,) = os.pread(file.fileno(), 1, position)
            os.pwrite(file.fileno(), bytes([byte ^ rng.randrange(1, 256)]), position)
            with pytest.raises(SignatureError):
                accepted.append(load_bundle(folder, trust))
            os.pwrite(file.fileno(), bytes([byte]), position)

    assert accepted == []


@pytest.mark.usefixtures("undecoded")
def test_the_signature_of_another_bundle_is_refused(folder: Path, trust: Trust, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    swapped(other / "models")
    (folder / "signature.json").write_bytes(sign(other, OWNER))

    with pytest.raises(SignatureError, match=r"models/0000\.onnx must be the file that was signed"):
        load_bundle(folder, trust)


@pytest.mark.usefixtures("undecoded")
def test_a_signature_that_has_expired_is_refused(folder: Path, trust: Trust) -> None:
    sign(folder, OWNER, expires=date(2026, 6, 1))

    with pytest.raises(SignatureError, match=r"The last day .* must not be over\. It was 2026-06-01"):
        load_bundle(folder, trust)


def test_a_bundle_that_two_keys_signed_is_loaded_by_either(folder: Path, tmp_path: Path) -> None:
    sign(folder, OWNER, SUCCESSOR)
    signers = [
        load_bundle(folder, trust_in(tmp_path, public(key, f"name: {name}"))).signed
        for name, key in (("old", OWNER), ("new", SUCCESSOR))
    ]

    assert [signed and signed.key for signed in signers] == ["old", "new"]
