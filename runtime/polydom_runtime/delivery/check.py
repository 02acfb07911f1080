"""A check of a bundle in a process of its own, where it may hang or crash."""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.references import restored
from polydom_runtime.exceptions import BundleMismatchError, PolyDomError
from polydom_runtime.items.sources import space_of
from polydom_runtime.policy.loaded_models import before_opening
from polydom_runtime.predictor import Predictor
from polydom_runtime.supervision.keeper import own_command, own_environment
from polydom_runtime.supervision.linux import die_with_parent

CHECK_S = 60.0
"""The time that all models, and all features on the reference items, may take."""

NICENESS = 10


def try_bundle(
    folder: str,
    sha256: str,
    space: str,
    options: Mapping[str, Any],
    *,
    compare: bool,
    trust: Sequence[str] | None = None,
    seconds: float = CHECK_S,
) -> None:
    """Load a bundle, and answer its reference items, in a process of its own; `BundleMismatchError` if that fails.

    `options` are those of a `Predictor`, as JSON can hold them; `trust` names files of keys, or is the environment's.
    """
    of_bundle = {"folder": folder, "sha256": sha256, "trust": None if trust is None else list(trust)}
    order = json.dumps({**of_bundle, "space": space, "options": dict(options), "compare": compare})
    command = own_command("polydom_runtime.delivery.check", order, str(os.getpid()))
    environment = own_environment()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment) as process:
        try:
            told = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            told = process.communicate()[0] + f" did not come back within {seconds:g} s.".encode()
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        last = told.decode(errors="replace").rpartition("\n")[2] or "It crashed."
        raise BundleMismatchError(f"{folder} must pass a check in a process of its own: {last}")


def main(order: str, parent: str) -> int:
    """Do the check. The last printed line names the failure, or the work that was begun last."""
    die_with_parent(int(parent))
    with suppress(OSError):
        os.nice(NICENESS)
    warnings.simplefilter("ignore")  # the node itself says them when it loads the bundle
    ordered = json.loads(order)
    told = _Told()
    before_opening.set(told.next_model)
    try:
        bundle, space = _bundle(ordered), space_of(ordered["space"])
        predictor = Predictor(bundle, space, **ordered["options"])
        told.begin("A feature or a model")
        if ordered["compare"]:
            bundle.check_features(space)
        for item in bundle.references.items:
            predictor.warm_up(restored(item))
    except PolyDomError as e:
        told.begin(str(e))
        return 1
    return 0


def _bundle(ordered: Mapping[str, Any]) -> Bundle:
    trust = None
    if ordered["trust"] is not None:
        from polydom_runtime.trust.trust import Trust  # only here, since most nodes demand no signature

        trust = Trust.from_files(ordered["trust"])
    bundle = load_bundle(ordered["folder"], trust)
    if bundle.sha256 != ordered["sha256"]:
        raise BundleMismatchError(f"{bundle.path} was replaced meanwhile. It is looked at again.")
    return bundle


class _Told:
    """Prints the work that is begun, each time in a new last line without an end."""

    def __init__(self) -> None:
        self._models = 0

    def begin(self, text: str) -> None:
        print(f"\n{' '.join(text.split())}", end="", flush=True)

    def next_model(self, model_bytes: int) -> None:
        self._models += 1
        self.begin(f"The {self._models}. model to be loaded, of {model_bytes} bytes,")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
