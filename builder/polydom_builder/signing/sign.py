"""The signature of a bundle folder."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from polydom_runtime.bundles.index_file import read_bundle
from polydom_runtime.bundles.model_entry import MAX_MODEL_BYTES
from polydom_runtime.bundles.opened_folder import opened_folder
from polydom_runtime.exceptions import SignatureError
from polydom_runtime.files import replace_file
from polydom_runtime.trust import SIGNATURE_FILE
from polydom_runtime.trust.envelope import MAX_SIGNATURE_BYTES, Envelope, decode_envelope, encode_envelope
from polydom_runtime.trust.statement import (
    FileDigest,
    Statement,
    checked_name,
    checked_release,
    decode_statement,
    encode_statement,
)
from polydom_runtime.trust.trust import check_files

from .signing_key import SigningKey


def sign_folder(
    folder: str | os.PathLike[str],
    key: SigningKey,
    *,
    name: str | None = None,
    folder_name: str | None = None,
    expires: date | None = None,
    release: int | None = None,
    devices: Sequence[str] = (),
    now: datetime | None = None,
) -> Statement:
    """Sign a sound bundle, and return the statement; an old signature is replaced in one step.

    `name`: a name for the bundle; by default the one that it states, or else that of its folder, or `folder_name`: then
    bundles of other names may follow it. `expires`: the last day on which the bundle may be loaded, in UTC. `release`:
    a number that rises with each release under this name. `devices`: patterns of the devices that it may be installed
    on; by default all. `now`: the time of the signature, in UTC; by default of the clock.
    """
    path, now = Path(folder), (now or datetime.now(UTC)).replace(microsecond=0)
    if expires is not None and expires < now.date():
        raise SignatureError(f"The last day must be {now.date()} or later, in UTC. Got {expires}. Give a later one.")
    bundle = read_bundle(path, None)
    given = name if name is not None else bundle.identity.name or None
    name = given if given is not None else folder_name or path.resolve().name
    patterns = (devices,) if isinstance(devices, str) else tuple(devices)
    if not all(patterns):
        raise SignatureError(
            "A pattern of devices must not be empty: it fits none. Leave out --device for all devices."
        )
    stated = Statement(
        checked_name(name), _digests(path), now, expires, checked_release(release), patterns, given is not None
    )
    payload = encode_statement(stated)
    _write(path, Envelope(payload, (key.sign(payload),)))
    return stated


def add_signature(folder: str | os.PathLike[str], key: SigningKey) -> Statement:
    """Sign a signed bundle with one more key, and return the statement: nodes that trust either key load the bundle."""
    path = Path(folder)
    read_bundle(path, None)
    if (found := unaltered(path)) is None:
        raise SignatureError(f"{path} must be signed already. There is no {SIGNATURE_FILE}. Leave out --add.")
    stated = decode_statement(found.payload)
    if key.public.keyid in (old.keyid for old in found.signatures):
        raise SignatureError(f"The key must be another one than those that signed. Got {key.name} again. Take another.")
    _write(path, Envelope(found.payload, (*found.signatures, key.sign(found.payload))))
    return stated


def unaltered(folder: str | os.PathLike[str]) -> Envelope | None:
    """Return the signatures of a folder that has exactly the files that they are over; None if it is not signed.

    Raises `SignatureError` if a file was changed since. Whose the signatures are is not checked.
    """
    with opened_folder(folder) as opened:
        if SIGNATURE_FILE not in opened.names():
            return None
        found = decode_envelope(opened.read(SIGNATURE_FILE, MAX_SIGNATURE_BYTES))
    check_files(decode_statement(found.payload), _digests(Path(folder)))
    return found


def _digests(folder: Path) -> Mapping[str, FileDigest]:
    with opened_folder(folder) as opened:
        names = sorted(set(opened.files()) - {SIGNATURE_FILE})
        return {name: FileDigest.of(opened.read(name, MAX_MODEL_BYTES)) for name in names}


def _write(folder: Path, signed: Envelope) -> None:
    content = encode_envelope(signed)
    decode_envelope(content)  # refuses what no node would read, such as too many signatures
    try:
        replace_file(folder / SIGNATURE_FILE, content)
    except OSError as e:
        raise SignatureError(
            f"{folder / SIGNATURE_FILE} must be writable. {e}. Change the rights of the folder."
        ) from e
