"""Small sound files of each format."""

import json
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from polydom_builder.verification.proof_file import encode_proof
from polydom_runtime.bundles.bundle import StoredIndex
from polydom_runtime.bundles.index_file import INDEX_FILE, encode, load_bundle
from polydom_runtime.device import tiny_models as tiny
from polydom_runtime.device.device_profile import PROFILES
from polydom_runtime.items.packing import write_packed
from polydom_runtime.learning import learned_file
from polydom_runtime.learning.learned_file import Circumstances, LearnedFile, this_machine
from tests.builder.lattice.noisy_world import noisy_world
from tests.builder.lattice.test_proof import example
from tests.builder.verification.test_margin_checks import proof_of
from tests.runtime.bundles.test_shipping import SHIPPING
from tests.runtime.certification.test_certificate import TWENTIETH, Scripted, certified, late_at
from tests.runtime.conftest import make_bundle
from tests.runtime.learning.test_learned_file import learned_of
from tests.runtime.measuring.test_costs_file import written
from tests.runtime.records.test_recorder import recorded

GOLDEN = Path(__file__).parents[1] / "golden" / "format_1.bundle"
WIDTH = 6  # as in `estimator_zoo`


def _from_file(*writers: Callable[[Path], object]) -> list[bytes]:
    """Return what functions write to a file."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.npz" for number in range(len(writers))]
        for write, file in zip(writers, files, strict=True):
            write(file)
        return [file.read_bytes() for file in files]


@cache
def indexes() -> Sequence[bytes]:
    """Return indexes of bundles: of one regime, the golden one, and greedy ones."""
    small, _ = make_bundle()
    greedy = replace(small, stored=StoredIndex(sequences=((0, 1, 2),), median_size=50.0))
    limited = replace(small, shipping=SHIPPING)
    return encode(small), encode(greedy), encode(limited), (GOLDEN / INDEX_FILE).read_bytes()


@cache
def models() -> Sequence[bytes]:
    """Return models of each kind, the number of their classes before each."""
    return (
        b"\3" + tiny.linear_classifier(WIDTH, 3),
        b"\3" + tiny.linear_pipeline(WIDTH, 3, scalers=2),
        b"\3" + tiny.tree_classifier(WIDTH, 3, trees=2, depth=2),
        b"\2" + tiny.tree_classifier(WIDTH, 2, trees=1, depth=3),
        b"\3" + tiny.kernel_classifier(WIDTH, 3, vectors=6),
        b"\3" + tiny.dense_classifier(WIDTH, 3, hidden=(4,)),
        b"\2" + tiny.constant_classifier(WIDTH, 1),
    )


@cache
def typed() -> Sequence[bytes]:
    """Return models that both engines run, the number of their classes and their width before each."""
    return (
        bytes([3, WIDTH]) + tiny.linear_classifier(WIDTH, 3),
        bytes([3, WIDTH]) + tiny.tree_classifier(WIDTH, 3, trees=2, depth=2),
        bytes([3, WIDTH]) + tiny.dense_classifier(WIDTH, 3, hidden=(4,)),
    )


@cache
def estimators() -> Sequence[bytes]:
    """Return models of scikit-learn, as the builder exports them."""
    from tests.builder.training import estimator_zoo  # only here, since scikit-learn takes a second

    kinds = {"neighbours": 3, "naive Bayes": 2, "calibrated linear SVC": 3, "scaler, logistic regression": 3}
    kinds |= {"logistic network": 2, "adaboost": 2, "ridge": 2, "normalizer, logistic regression": 3}
    found = [bytes([n]) + estimator_zoo.exported(name, n) for name, n in kinds.items()]
    return *found, *(b"\0" + estimator_zoo.exported(name, 0) for name in ("tree", "SVR", "network", "scaler, ridge"))


@cache
def learned() -> Sequence[bytes]:
    """Return what was learned of the golden bundle."""
    made = learned_of(load_bundle(GOLDEN), engines=("numpy", "onnxruntime", "numpy"))
    how = Circumstances(0.75, 0, 1.0, ("performance",), 61.5, 64, 0.02)
    return (learned_file.encode(LearnedFile(this_machine(), "2026-11-29T12:00:00Z", how, ("warm",), made)),)


@cache
def costs() -> Sequence[bytes]:
    """Return a file of cost samples."""
    return _from_file(lambda file: written(file.with_suffix(".costs")).rename(file))


@cache
def flights() -> Sequence[bytes]:
    """Return a recording that is full, and one that is not."""
    return _from_file(lambda file: recorded(file, range(9)), lambda file: recorded(file, range(2)))


@cache
def certificates() -> Sequence[bytes]:
    """Return certificates with and without late answers."""
    made = [certified(Scripted(late_at(*late)), TWENTIETH) for late in ((), (5, 6, 300))]
    made = [replace(made[0], period=0.1, waited_share={"p50": 0.1}), replace(made[1], context={"load": "cpu:2"})]
    return _from_file(*(certificate.write for certificate in made))


@cache
def proofs() -> Sequence[bytes]:
    """Return proofs with costs that are sums, with costs in a table, and with a margin."""
    with_margin = proof_of(noisy_world(0, n_features=4, n_blocks=5))
    return encode_proof(example()), encode_proof(example(ruled=True)), encode_proof(with_margin)


@cache
def profiles() -> Sequence[bytes]:
    """Return the profile of a device."""
    return [(PROFILES / "raspberry_pi_4b.toml").read_bytes()]


@cache
def energies() -> Sequence[bytes]:
    """Return a file of energies of the golden bundle."""
    features = {"mean": 1e-4, "spread": [1e-4, 0, 1e-7, 0, 0, 0], "ends": 2e-4}
    return [json.dumps({"features": features, "steps": {"half": 1e-5}, "dispatch": 1e-6, "model": 1e-5}).encode()]


@cache
def lines() -> Sequence[bytes]:
    """Return items as lines of JSON."""
    return b'[1, 2.5, 3]\n"a text"\n\n[[1, 2], [3, 4]]\n[1e3]\n', b"[]\n[0, -1, 2, 3, 4, 5]"


@cache
def archives() -> Sequence[bytes]:
    """Return packed items: flat ones with labels, and pictures."""
    flat = [np.arange(1.0, n) for n in (3, 9, 5)]
    pictures = [np.ones((2, 3), np.float32), np.ones((1, 4), np.float32)]
    labels, groups, weights = [0, 1, 0], ["a", "b", "b"], [1.0, 2.0, 0.5]
    return _from_file(
        lambda file: write_packed(file, flat, labels, groups, weights), lambda file: write_packed(file, pictures)
    )


@cache
def tars() -> Sequence[bytes]:
    """Return a packed bundle, the same from every copy of this tree: entries have no times, owners and rights."""

    def bare(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime = entry.uid = entry.gid = entry.mode = 0
        entry.uname = entry.gname = ""
        return entry

    def pack(file: Path) -> None:
        with tarfile.open(file, "w", format=tarfile.USTAR_FORMAT) as archive:
            archive.add(GOLDEN, "newest", filter=bare)

    return _from_file(pack)
