"""What a signature says about installs: the name and the number of the release, and the devices that it is for."""

import platform
from fnmatch import fnmatchcase
from pathlib import Path

from polydom_runtime.bundles.opened_folder import opened_folder
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import PolyDomError, UpdateError
from polydom_runtime.trust import SIGNATURE_FILE
from polydom_runtime.trust.envelope import MAX_SIGNATURE_BYTES, decode_envelope
from polydom_runtime.trust.statement import Statement, decode_statement


def stated_in(folder: Path) -> Statement | None:
    """Return what the signature of a bundle states, whoever made it; None if there is none, or none that can be read.

    Where keys are demanded, the signature is checked elsewhere, before a release is current.
    """
    try:
        with opened_folder(folder) as opened:
            if SIGNATURE_FILE in opened.names():
                return decode_statement(decode_envelope(opened.read(SIGNATURE_FILE, MAX_SIGNATURE_BYTES)).payload)
    except PolyDomError:
        pass
    return None


def check_succession(new: Statement | None, old: Statement | None, *, same_bundle: bool) -> None:
    """Check that a bundle may follow the current one: `UpdateError` if it is older, or another one.

    Release numbers tell which one is older; without any, the times of the signatures. Names count if that of the
    current one was given: the name of a folder mostly has a version. `same_bundle`: whether only the
    signature is another one; its number need not rise then.
    """
    if old is None or (new is None and (old.release is None or same_bundle)):
        return
    number = new.release if new is not None else None
    if new is not None and old.named and new.name != old.name:
        must, got, remedy = f"be signed under the name of the current one, {old.name}", new.name, "--name"
    elif old.release is not None and (number is None or number + same_bundle <= old.release):
        must, got = f"have a release number above {old.release}, that of the current one", str(number or "none")
        remedy = "--release, if it is newer"
    elif new is not None and number is None and new.signed_at < old.signed_at:
        must, got = f"not be signed before the current one ({old.signed_at})", f"{new.signed_at}"
        remedy = "--release, if it is newer"
    else:
        return
    raise UpdateError(
        f"The bundle must {must}. Got {got}. Sign it again with `polydom sign`, and {remedy}. To install it all the "
        "same, add --allow-downgrade."
    )


def check_device(stated: Statement | None, board: Board) -> None:
    """Check that a bundle may be installed on this device: `UpdateError` if none of its patterns fits a name of it."""
    names = board.device, platform.machine(), platform.node()
    if stated is not None and stated.devices and not any(fnmatchcase(n, p) for n in names for p in stated.devices):
        raise UpdateError(
            f"The bundle must be for this device: {', '.join(names)}. It is for {', '.join(stated.devices)}. Install "
            "one that is, or sign it again with `polydom sign --device`."
        )
