"""The file of trusted keys: what its lines mean, and that nothing doubtful is read as a key."""

import os
import re
import sys
from datetime import date
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from polydom_runtime.exceptions import SignatureError
from polydom_runtime.trust.keys import key_id, load_keys
from polydom_runtime.trust.trust import Trust, checked_trust
from tests.runtime.test_planted import give_away
from tests.runtime.trust.signer import OWNER, SUCCESSOR, public

PRIVATE = OWNER.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
CURVE = generate_private_key(SECP256R1()).public_key()
OTHER_KIND = CURVE.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def test_lines_before_a_key_limit_it(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(
        "# of the lab\n\n"
        + public(OWNER, "name: the lab: Turin", "expires: 2027-06-01", "bundles: vibration-*")
        + public(SUCCESSOR)
    )
    lab, other = load_keys([tmp_path / "keys"])

    assert lab.name == "the lab: Turin"
    assert lab.expires == date(2027, 6, 1)
    assert [lab.may_sign("vibration-7"), lab.may_sign("camera")] == [True, False]
    assert other.name == key_id(SUCCESSOR.public_key())[:16]
    assert other.expires is None
    assert other.may_sign("camera")


def test_the_example_of_the_page_is_a_file_of_keys(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "deploy" / "signing.md"
    (example,) = re.findall(r"```text\n(name:.*?)```", page.read_text(), re.DOTALL)
    (tmp_path / "keys").write_text(example)
    (key,) = load_keys([tmp_path / "keys"])

    assert ("lab", date(2027, 6, 1), "vibration-*") == (key.name, key.expires, key.bundles)


def test_keys_may_be_in_several_files(tmp_path: Path) -> None:
    for name, key in (("a", OWNER), ("b", SUCCESSOR)):
        (tmp_path / name).write_text(public(key, f"name: {name}"))

    assert [key.name for key in load_keys([tmp_path / "a", tmp_path / "b"])] == ["a", "b"]


BAD = {
    "empty": ("", "no key"),
    "no key": ("name: lab\n", "no key"),
    "private": (PRIVATE, "BEGIN PRIVATE KEY"),
    "another kind": (OTHER_KIND, "a key of type"),
    "cut": (public(OWNER)[:-30], "no key"),
    "damaged": (public(OWNER).replace("MCow", "MCox"), "no public key"),
    "unknown line": (public(OWNER, "expire: 2027-06-01"), "the line 'expire: 2027-06-01'"),
    "line without a word": (public(OWNER, "lab"), "the line 'lab'"),
    "line without a value": (public(OWNER, "bundles:"), "the line 'bundles:'"),
    "line twice": (public(OWNER, "name: a", "name: b"), "the line 'name: b'"),
    "line after the key": (public(OWNER) + "expires: 2027-06-01\n", "the line 'expires' after the last key"),
    "no date": (public(OWNER, "expires: June"), "the date 'June'"),
    "key twice": (public(OWNER, "name: a") + public(OWNER, "name: b"), "the key b twice"),
    "control characters": (public(OWNER, "name: \x1b[2J"), "the line"),
    "no key in a long text": ("x" * (1 << 20), "no key"),
    "many beginnings": ("-----BEGIN PUBLIC KEY-----\n" * 38_000, "no key"),
    "large": ("#" * (1 << 20) + "\n", "more than 1048576 bytes"),
}


@pytest.mark.parametrize(("text", "got"), BAD.values(), ids=BAD)
def test_a_file_with_anything_else_is_refused(text: str, got: str, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(text)

    with pytest.raises(SignatureError, match=f"keys must hold public keys(.|\n)*{got}") as caught:
        load_keys([tmp_path / "keys"])
    assert "Correct the file." in str(caught.value)


def test_a_file_of_other_bytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(b"\xff\xfe")

    with pytest.raises(SignatureError, match="bytes that are no text"):
        load_keys([tmp_path / "keys"])


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SignatureError, match=r"keys must be a readable file of trusted keys\..*No such file.*\.pub"):
        load_keys([tmp_path / "keys"])


@pytest.mark.parametrize("mode", [0o646, 0o664, 0o666])
def test_a_file_that_others_may_write_to_is_refused(mode: int, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(public(OWNER))
    (tmp_path / "keys").chmod(mode)

    with pytest.raises(SignatureError, match="chmod go-w"):
        load_keys([tmp_path / "keys"])


@pytest.mark.parametrize("mode", [0o755, 0o1777], ids=["own folder", "as /tmp"])
def test_a_file_of_another_user_is_refused(mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys").write_text(public(OWNER))
    give_away(tmp_path / "keys", monkeypatch)
    tmp_path.chmod(mode)

    with pytest.raises(SignatureError, match=r"must belong to this user or to root, .* chown"):
        load_keys([tmp_path / "keys"])


def test_a_second_name_of_a_file_in_a_shared_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(public(OWNER))
    os.link(tmp_path / "keys", tmp_path / "more")
    tmp_path.chmod(0o1777)

    with pytest.raises(SignatureError, match="must not be a second name of a file"):
        load_keys([tmp_path / "keys"])


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keys")

    with pytest.raises(SignatureError, match="must be a file of keys"):
        load_keys([tmp_path / "keys"])


def test_without_the_extra_keys_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys").write_text(public(OWNER))
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)

    with pytest.raises(SignatureError, match=r"pip install 'polydom-runtime\[sign\]'"):
        load_keys([tmp_path / "keys"])


def test_the_environment_names_files_of_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in (("a", OWNER), ("b", SUCCESSOR)):
        (tmp_path / name).write_text(public(key, f"name: {name}"))
    monkeypatch.setenv("POLYDOM_TRUST", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    trust = checked_trust(None)

    assert [key.name for key in trust.keys] == ["a", "b"]


def test_an_empty_variable_does_not_switch_the_check_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYDOM_TRUST", "")

    with pytest.raises(SignatureError, match=r"Got none.*If POLYDOM_TRUST is empty, unset it\."):
        checked_trust(None)


def test_one_file_needs_no_list(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(public(OWNER))

    one, several = Trust.from_files(str(tmp_path / "keys")), Trust.from_files([tmp_path / "keys"])
    assert [key.keyid for key in one.keys] == [key.keyid for key in several.keys]
