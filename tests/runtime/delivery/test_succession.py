"""Which signed bundles may follow the current one, and on which devices."""

import platform
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime.__main__ import main
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.delivery import succession
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.succession import check_device, stated_in
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import SignatureError, UpdateError
from polydom_runtime.trust.envelope import decode_envelope
from polydom_runtime.trust.statement import decode_statement, encode_statement
from tests.runtime.delivery.nodes import bundle_number, current_in, rubbish
from tests.runtime.trust.signer import OWNER, SIGNED_AT, STATEMENT, STRANGER, public, sign, signature_over, trust_in

Load = Callable[[Path], Bundle]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    return partial(load_bundle, trust=trust_in(tmp_path, public(OWNER)))


def signed(folder: Path, number: int, load: Load = load_bundle, **stated: Any) -> Bundle:
    """Write and sign one of several bundles, or sign it anew."""
    path = folder / f"{number}.bundle"
    if not path.exists():
        bundle_number(folder, number)
    sign(path, OWNER, **stated)
    return load(path)


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "older": ({"release": 7}, {"release": 6}, "above 7, .* Got 6"),
    "as new": ({"release": 7}, {"release": 7}, "above 7, .* Got 7"),
    "signed before": ({}, {"signed_at": SIGNED_AT - timedelta(seconds=1)}, "signed before .*12:00:00.* Got .*11:59:59"),
    "no number": ({"release": 7}, {}, "above 7, .* Got none"),
    "another name": ({"release": 7}, {"release": 8, "name": "b"}, "the current one, vibration-7. Got b"),
    "another name without numbers": ({}, {"name": "b"}, "the current one, vibration-7. Got b"),
    "the name of a folder": ({}, {"name": "b", "named": False}, "the current one, vibration-7. Got b"),
    "older, with the name of a folder": ({"name": "v2", "named": False, "release": 2}, {"release": 1}, "above 2"),
    "another name of the first number": ({}, {"name": "b", "release": 1}, "the current one, vibration-7. Got b"),
}


@pytest.mark.parametrize(("old", "new", "why"), REFUSED.values(), ids=REFUSED)
def test_older_or_other_bundle_is_refused_unless_it_is_wanted(
    old: dict[str, Any], new: dict[str, Any], why: str, tmp_path: Path, load: Load
) -> None:
    root = tmp_path / "root"
    install(before := signed(tmp_path, 0, load, **old), root, load=load)
    bundle = signed(tmp_path, 1, load, **new)

    with pytest.raises(UpdateError, match=rf"{why}(.|\n)*--allow-downgrade"):
        install(bundle, root, load=load)
    assert (before.sha256, []) == (current_in(root), rubbish(root))
    install(bundle, root, load=load, allow_downgrade=True)
    assert bundle.sha256 == current_in(root)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"release": 7}, {"release": 8, "signed_at": SIGNED_AT - timedelta(1)}),
        ({}, {"release": 1}),
        ({}, {}),
        ({"name": "v1.bundle", "named": False}, {"name": "v2.bundle", "named": False}),
        ({"name": "v1.bundle", "named": False, "release": 1}, {"release": 2}),  # it was given a name at last
    ],
)
def test_newer_bundle_of_the_same_name_follows(
    old: dict[str, Any], new: dict[str, Any], tmp_path: Path, load: Load
) -> None:
    for number, stated in enumerate((old, new)):
        install(signed(tmp_path, number, load, **stated), tmp_path / "root", load=load)

    found = load(tmp_path / "root" / "current").signed
    assert found is not None
    assert new.get("release") == found.release


def test_new_signature_of_the_same_bundle_may_have_its_number_but_no_lower_one(tmp_path: Path, load: Load) -> None:
    root = tmp_path / "root"
    install(signed(tmp_path, 0, load, release=7), root, load=load)
    install(signed(tmp_path, 0, load, release=7, devices=("*",)), root, load=load)

    with pytest.raises(UpdateError, match="Got 6"):
        install(signed(tmp_path, 0, load, release=6), root, load=load)
    with pytest.raises(UpdateError, match="Got none"):
        install(signed(tmp_path, 0, load), root, load=load)
    stated = stated_in(root / "current")
    assert stated is not None
    assert (stated.release, stated.devices) == (7, ("*",))


def test_without_keys_numbers_count_too(tmp_path: Path) -> None:
    """Otherwise an install that forgets ``--trust`` would be a way around them."""
    root = tmp_path / "root"
    install(signed(tmp_path, 0, release=7), root)

    for bundle in (signed(tmp_path, 1, release=6), bundle_number(tmp_path, 2)):
        with pytest.raises(UpdateError, match="above 7"):
            install(bundle, root)


def test_unsigned_bundles_follow_each_other_and_signed_ones_without_a_number(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for bundle in (bundle_number(tmp_path, 0), signed(tmp_path, 1), bundle_number(tmp_path, 2)):
        install(bundle, root)

    assert bundle.sha256 == current_in(root)


def test_signature_that_is_replaced_meanwhile_is_not_installed(
    tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    install(signed(tmp_path, 0, load, release=7), root, load=load)
    bundle = signed(tmp_path, 1, load, release=8)
    check = succession.check_succession

    def check_and_replace(*arguments: Any, **named: Any) -> None:
        check(*arguments, **named)
        signed(tmp_path, 1, load, release=1)

    monkeypatch.setattr("polydom_runtime.delivery.install.check_succession", check_and_replace)
    with pytest.raises(UpdateError, match="its signature was replaced"):
        install(bundle, root, load=load)
    assert rubbish(root) == []


@pytest.mark.parametrize(
    ("patterns", "fits"),
    [((), True), (("Raspberry Pi 5*",), True), (("x", "aarch64"), True), (("node-*",), True), (("Raspberry",), False)],
)
def test_bundle_is_only_for_devices_that_its_patterns_fit(
    patterns: tuple[str, ...], fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(platform, "node", lambda: "node-17")
    (tmp_path / "proc" / "device-tree").mkdir(parents=True)
    (tmp_path / "proc" / "device-tree" / "model").write_text("Raspberry Pi 5 Model B Rev 1.0\0")
    stated = replace(STATEMENT, devices=patterns)

    if fits:
        check_device(stated, Board(tmp_path))
    else:
        with pytest.raises(
            UpdateError, match=r"for this device: Raspberry Pi 5 .*, aarch64, node-17\. .* Raspberry\. "
        ):
            check_device(stated, Board(tmp_path))


def test_install_refuses_a_bundle_for_other_devices_and_older_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["install", str(tmp_path / "0.bundle"), "--into", str(tmp_path / "root")]
    signed(tmp_path, 0, devices=("no such board",))
    assert main(words) == 2
    assert "It is for no such board." in capsys.readouterr().err
    signed(tmp_path, 0, release=2)
    assert main(words) == 0
    signed(tmp_path, 1, release=1)
    words[1] = str(tmp_path / "1.bundle")
    assert main(words) == 2
    assert "Got 1." in capsys.readouterr().err
    assert main([*words, "--allow-downgrade"]) == 0


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (b'"release":7', b'"release":0'),
        (b'"release":7', b'"release":"7"'),
        (b'"release":7', b'"release":true'),
        (b'"devices":["a"]', b'"devices":[1]'),
        (b'"devices":["a"]', b'"devices":[]'),
        (b'"devices":["a"]', b'"devices":"a"'),
    ],
)
def test_statement_with_another_kind_of_number_or_pattern_is_refused(right: bytes, wrong: bytes) -> None:
    payload = encode_statement(replace(STATEMENT, release=7, devices=("a",)))
    assert decode_statement(payload) == replace(STATEMENT, release=7, devices=("a",))

    with pytest.raises(SignatureError):
        decode_statement(payload.replace(right, wrong))


def test_what_no_key_has_signed_states_nothing(tmp_path: Path) -> None:
    """A signature that cannot be read is none; whose it is, is checked where keys are demanded."""
    signed(tmp_path, 0)
    (tmp_path / "0.bundle" / "signature.json").write_bytes(signature_over(b"{}", STRANGER))

    assert stated_in(tmp_path / "0.bundle") is None
    assert decode_envelope(signature_over(b"{}")).payload == b"{}"
