"""Writing of a bundle to the disk."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from polydom_builder.exceptions import ExportError
from polydom_builder.signing.sign import sign_folder
from polydom_builder.signing.signing_key import SigningKey
from polydom_builder.verification.proof_file import PROOF_FILE
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import DIGEST_FILE, INDEX_FILE, digest_line, encode, read_bundle
from polydom_runtime.bundles.model_entry import MODEL_FOLDER, model_file
from polydom_runtime.files import followed, replace_folder, sync_folder, write_file


def write_bundle(
    folder: str | os.PathLike[str],
    bundle: Bundle,
    models: Sequence[bytes],
    proof: bytes | None = None,
    key: SigningKey | None = None,
) -> None:
    """Write a bundle into a new folder, check it, and put it in place in one step, as `checked_target` allows.

    After an interruption at any instant there is the old bundle or the new one, never a part of one. `models`: the ONNX
    bytes of its models, in their order. `proof`: the content of the proof file. `key`: the key to sign the bundle with,
    under its name, or that of the folder.
    """
    target = checked_target(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
            new = Path(scratch) / "bundle"
            (new / MODEL_FOLDER).mkdir(parents=True)
            for number, data in enumerate(models):
                write_file(new / MODEL_FOLDER / model_file(number), data)
            index = encode(bundle)
            write_file(new / INDEX_FILE, index)
            write_file(new / DIGEST_FILE, digest_line(index))
            if proof is not None:
                write_file(new / PROOF_FILE, proof)
            read_bundle(new, None)
            if key is not None:
                sign_folder(new, key, folder_name=target.name)
            for written in (new / MODEL_FOLDER, new):
                sync_folder(written)
            replace_folder(new, target)
            sync_folder(target.parent)
    except OSError as e:
        raise ExportError(f"{target} must be writable. {e}") from e


def checked_target(folder: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a bundle to write; ExportError if it is another kind of folder or not writable."""
    try:
        target = followed(folder)
        if target.exists() and not (target / INDEX_FILE).is_file():
            raise ExportError(
                f"{target} must be a new folder or an old bundle, which would be replaced. It is neither."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as e:
        raise ExportError(f"The folder of {folder} must be writable. {e}") from e
    return target
