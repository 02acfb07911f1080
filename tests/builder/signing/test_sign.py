"""Keys and signatures of the host, as a node checks them."""

import os
import stat
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from polydom_builder import PolyDomSearch, SigningKey
from polydom_builder.__main__ import main
from polydom_builder.signing.sign import sign_folder
from polydom_builder.signing.signing_key import make_keys
from polydom_runtime import BundleFormatError, SignatureError, Trust, load_bundle
from polydom_runtime.delivery.succession import stated_in
from tests.runtime.conftest import make_bundle, write
from tests.runtime.test_planted import give_away

NOW = datetime(2026, 6, 1, 12, 30, 15, 999, tzinfo=UTC)


def now() -> float:
    return NOW.timestamp()


@pytest.fixture(autouse=True)
def without_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYDOM_PASSPHRASE", raising=False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    bundle, models = make_bundle()
    return write(tmp_path / "vibration-7", bundle, models)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return make_keys(tmp_path / "lab")[0]


def test_a_node_loads_what_the_host_signed(small: Path, key: Path) -> None:
    sign_folder(small, SigningKey.from_file(key), expires=date(2026, 6, 2), now=NOW)
    bundle = load_bundle(small, Trust.from_files(key.with_suffix(".pub"), now))

    assert str(bundle.signed) == "vibration-7, signed by lab at 2026-06-01 12:30 UTC, until 2026-06-02"


def test_commands_make_keys_and_sign(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keygen", str(tmp_path / "lab")]) == 0
    assert "lab.key: the private key, not encrypted." in capsys.readouterr().out
    assert main(["sign", str(small), "--key", str(tmp_path / "lab.key"), "--name", "a name"]) == 0
    assert f"{small}: lab signed 5 files as a name.\n" == capsys.readouterr().out

    signed = load_bundle(small, Trust.from_files(tmp_path / "lab.pub")).signed
    assert signed is not None
    assert (signed.name, signed.key, signed.expires) == ("a name", "lab", None)


def test_a_second_signature_lets_nodes_change_their_key(small: Path, tmp_path: Path) -> None:
    for name in ("old", "new"):
        make_keys(tmp_path / name)
    sign_folder(small, SigningKey.from_file(tmp_path / "old.key"), name="kept", now=NOW)
    add = ["sign", str(small), "--key", str(tmp_path / "new.key"), "--add"]
    assert main(add) == 0

    for name in ("old", "new"):
        signed = load_bundle(small, Trust.from_files(tmp_path / f"{name}.pub")).signed
        assert str(signed) == f"kept, signed by {name} at 2026-06-01 12:30 UTC"


def test_without_add_an_old_signature_is_replaced(small: Path, tmp_path: Path) -> None:
    for name in ("old", "new"):
        make_keys(tmp_path / name)
        sign_folder(small, SigningKey.from_file(tmp_path / f"{name}.key"), now=NOW)

    with pytest.raises(SignatureError, match="signed by a trusted key: old"):
        load_bundle(small, Trust.from_files(tmp_path / "old.pub"))


def altered(folder: Path) -> None:
    (folder / "more").write_bytes(b"")


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (lambda folder: (folder / "signature.json").unlink(), "must be signed already"),
        (altered, "not signed: 'more'"),
        (lambda folder: (folder / "proof.npz").write_bytes(b"other"), r"proof\.npz must be the file that was signed"),
        (lambda folder: None, "must be another one than those that signed. Got lab again"),
    ],
    ids=["unsigned", "one more file", "another file", "same key"],
)
def test_only_what_is_signed_gets_a_second_signature(
    before: Callable[[Path], object], message: str, small: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (small / "proof.npz").write_bytes(b"proof")
    sign_folder(small, SigningKey.from_file(key), now=NOW)
    before(small)
    content = {file: file.read_bytes() for file in small.glob("*.json")}

    with pytest.raises(SignatureError, match=message):
        main_or_raise(["sign", str(small), "--key", str(key), "--add"], capsys)
    assert content == {file: file.read_bytes() for file in small.glob("*.json")}


def main_or_raise(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command, and raise what it says on its last line if it fails."""
    if main(words) == 2:
        raise SignatureError(capsys.readouterr().err)


@pytest.mark.parametrize("more", [["--name", "other"], ["--release", "7"], ["--device", "*"]], ids=" ".join)
def test_add_signs_nothing_new(more: list[str], small: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", str(small), "--key", str(key), "--add", *more]) == 2
    assert "--add must be without --name, --release, --device and --expires" in capsys.readouterr().err


def test_number_and_devices_of_a_release_are_signed(small: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", str(small), "--key", str(key), "--release", "7", "--device", "a*", "--device", "b"]) == 0
    assert "signed 5 files as vibration-7 7." in capsys.readouterr().out

    assert ((stated := stated_in(small)) and (stated.release, stated.devices)) == (7, ("a*", "b"))
    assert sign_folder(small, SigningKey.from_file(key), devices="one").devices == ("one",)
    with pytest.raises(SignatureError, match="must not be empty"):
        sign_folder(small, SigningKey.from_file(key), devices="")


def test_name_of_the_folder_is_not_one_that_was_given(small: Path, key: Path) -> None:
    """Otherwise v2.bundle could not follow v1.bundle."""
    one = sign_folder(small, SigningKey.from_file(key))
    other = sign_folder(small, SigningKey.from_file(key), folder_name="task.bundle")
    given = sign_folder(small, SigningKey.from_file(key), name=small.name)

    assert [(small.name, False), ("task.bundle", False), (small.name, True)] == [
        (stated.name, stated.named) for stated in (one, other, given)
    ]
    assert stated_in(small) == given


@pytest.mark.parametrize("number", [0, -1, 1 << 53, True, 1.5])
def test_number_of_a_release_must_be_a_whole_one(small: Path, key: Path, number: int) -> None:
    with pytest.raises(SignatureError, match=r"whole number from 1 to .* Give another one with --release"):
        sign_folder(small, SigningKey.from_file(key), release=number)


def test_no_bundle_is_signed_that_is_not_sound(small: Path, key: Path) -> None:
    (small / "models" / "0001.onnx").write_bytes(b"")

    with pytest.raises(BundleFormatError, match=r"0001\.onnx must be the model"):
        sign_folder(small, SigningKey.from_file(key), now=NOW)
    assert not (small / "signature.json").exists()


def test_no_link_is_signed(small: Path, key: Path) -> None:
    (small / "more").symlink_to(key)

    with pytest.raises(BundleFormatError, match="more must be a readable file"):
        sign_folder(small, SigningKey.from_file(key), now=NOW)


def test_no_signature_ends_before_it_is_made(small: Path, key: Path) -> None:
    with pytest.raises(SignatureError, match=r"must be 2026-06-01 or later, in UTC\. Got 2026-05-31"):
        sign_folder(small, SigningKey.from_file(key), expires=date(2026, 5, 31), now=NOW)


def test_a_name_must_be_printable(small: Path, key: Path) -> None:
    with pytest.raises(SignatureError, match="name of a bundle must have 1 to 200 printable characters"):
        sign_folder(small, SigningKey.from_file(key), name="a\nb", now=NOW)


def test_an_exported_bundle_is_signed_before_it_is_in_place(fitted: PolyDomSearch, key: Path, tmp_path: Path) -> None:
    fitted.export(tmp_path / "task.bundle", key=SigningKey.from_file(key))

    signed = load_bundle(tmp_path / "task.bundle", Trust.from_files(key.with_suffix(".pub"))).signed
    assert signed is not None
    assert (signed.name, signed.key) == ("task.bundle", "lab")


def test_a_bundle_is_signed_under_the_name_that_it_states(fitted: PolyDomSearch, key: Path, tmp_path: Path) -> None:
    fitted.export(tmp_path / "task.bundle", name="vibration", key=SigningKey.from_file(key))
    trust = Trust.from_files(key.with_suffix(".pub"))
    names = [load_bundle(tmp_path / "task.bundle", trust).signed]
    main(["sign", str(tmp_path / "task.bundle"), "--key", str(key)])
    names.append(load_bundle(tmp_path / "task.bundle", trust).signed)

    assert [signed and signed.name for signed in names] == ["vibration", "vibration"]


def test_a_path_is_no_key(fitted: PolyDomSearch, tmp_path: Path) -> None:
    with pytest.raises(SignatureError, match=r"key must be a SigningKey\. Got 'lab\.key'"):
        fitted.export(tmp_path / "task.bundle", key="lab.key")  # type: ignore[arg-type]


def test_a_build_with_a_bad_key_ends_before_the_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["build", "tests.builder.task:space", "--items", "no_such_file.npz", "--deadline", "1s"]
    assert main([*command, "--out", str(tmp_path / "b"), "--sign", str(tmp_path / "no.key")]) == 2

    assert "no.key must hold a private key" in capsys.readouterr().err


def test_an_unsigned_bundle_can_be_built_where_signatures_are_demanded(
    fitted: PolyDomSearch, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYDOM_TRUST", str(key.with_suffix(".pub")))
    fitted.export(tmp_path / "task.bundle")

    with pytest.raises(SignatureError, match="must be signed"):
        load_bundle(tmp_path / "task.bundle")


def test_only_its_owner_can_read_a_private_key(key: Path) -> None:
    modes = [stat.S_IMODE(file.stat().st_mode) for file in (key, key.with_suffix(".pub"))]

    assert modes[0] == 0o600
    assert not modes[1] & 0o022


@pytest.mark.parametrize("suffix", [".key", ".pub"])
def test_no_key_is_overwritten(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"lab{suffix}"
    file.write_bytes(b"kept")

    with pytest.raises(SignatureError, match=r"must be a new file. It is there already. Give another name"):
        make_keys(tmp_path / "lab")
    assert file.read_bytes() == b"kept"
    assert [file] == list(tmp_path.iterdir())


def test_keys_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SignatureError, match=r"lab\.pub must be in a folder that can be written\. .*No such file"):
        make_keys(tmp_path / "none" / "lab")


def test_a_private_key_is_encrypted_with_the_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYDOM_PASSPHRASE", "correct horse")
    key, _ = make_keys(tmp_path / "lab")

    assert SigningKey.from_file(key).public.name == "lab"
    monkeypatch.setenv("POLYDOM_PASSPHRASE", "battery staple")
    with pytest.raises(SignatureError, match="something else, or another passphrase"):
        SigningKey.from_file(key)
    monkeypatch.delenv("POLYDOM_PASSPHRASE")
    with pytest.raises(SignatureError, match="must be in POLYDOM_PASSPHRASE"):
        SigningKey.from_file(key)


def test_a_passphrase_does_not_hinder_a_key_without_one(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYDOM_PASSPHRASE", "correct horse")

    assert SigningKey.from_file(key).public.name == "lab"


def curve() -> bytes:
    return generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    ("content", "got"), [(b"", "something else"), (b"\xff", "something else"), (curve(), "PrivateKey")]
)
def test_anything_but_a_private_key_is_refused(content: bytes, got: str, key: Path) -> None:
    key.write_bytes(content)

    with pytest.raises(SignatureError, match=rf"lab\.key must hold a private key .*Got .*{got}"):
        SigningKey.from_file(key)


def test_a_public_key_is_no_private_one(key: Path) -> None:
    """The advice is to name the other file, not to change who may read this one."""
    key.with_suffix(".pub").chmod(0o644)

    with pytest.raises(SignatureError, match=r"lab\.pub must hold a private key"):
        SigningKey.from_file(key.with_suffix(".pub"))


def test_a_private_key_that_others_may_read_is_refused(key: Path) -> None:
    key.chmod(0o640)

    with pytest.raises(SignatureError, match="chmod 600"):
        SigningKey.from_file(key)


def test_a_private_key_of_another_user_is_refused(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_away(key, monkeypatch)

    with pytest.raises(SignatureError, match=r"lab\.key must belong to this user or to root, .* chown"):
        SigningKey.from_file(key)


def test_a_pipe_is_no_private_key(key: Path) -> None:
    """It was waited for."""
    key.unlink()
    os.mkfifo(key)

    with pytest.raises(SignatureError, match="must be a file of keys"):
        SigningKey.from_file(key)


def test_without_the_extra_the_message_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)

    with pytest.raises(SignatureError, match=r"pip install 'polydom-builder\[sign\]'"):
        make_keys(tmp_path / "lab")
    assert os.listdir(tmp_path) == []
