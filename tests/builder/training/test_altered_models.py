"""Models whose bytes are altered at random are refused, or answer as onnxruntime does."""

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from polydom_runtime.bundles.engines import InputRow
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.tensors import UnknownModel
from tests.builder.training.estimator_zoo import CLASSIFIERS, REGRESSORS, WIDTH, exported, items
from tests.draws import draws

Rows = NDArray[np.float32]

PER_MODEL, COMPARED = draws((50, 3), (100, 6))
"""So many altered models of each kind are read, and so many loaded by onnxruntime too, which takes most of the time."""

MODELS = [*((name, 2) for name in CLASSIFIERS), *((name, 0) for name in REGRESSORS)]


@pytest.mark.parametrize(("name", "n_classes"), MODELS)
def test_altered_models_are_refused_or_answer_as_in_onnxruntime(name: str, n_classes: int) -> None:
    data, rng, compared = exported(name, n_classes), np.random.default_rng(len(name)), 0
    rows = items(n_classes)[0][:8]

    for _ in range(PER_MODEL):
        changed, row = altered(data, rng), InputRow(WIDTH)
        try:
            kernel = Kernel(changed, row, WIDTH, n_classes)
        except (BundleFormatError, UnknownModel):
            continue
        found = []
        for numbers in rows:
            row.values[:] = numbers
            found.append(kernel())
        if compared < COMPARED and (theirs := answers_of_onnxruntime(changed, rows)) is not None:
            compared += 1
            is_number = np.isfinite(theirs[1])
            limit = 0.0 if n_classes else 1e-4 * np.abs(theirs[0][is_number]).max(initial=0.0)
            assert (np.abs(np.array(found) - theirs[0])[is_number] <= limit).all()


@pytest.mark.parametrize("name", ["forest", "network", "neighbours"])
def test_a_model_cut_at_any_place_is_refused(name: str) -> None:
    """Unless only what follows the graph is cut off."""
    data = exported(name, 2)
    for end in range(0, len(data) - 64, 1 + len(data) // 200):
        with pytest.raises(BundleFormatError):
            Kernel(data[:end], InputRow(WIDTH), WIDTH, 2)


def altered(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with one to three changes: a bit, a byte, some bytes less or more; half of them near its ends."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        near = min(len(found), 400) if rng.random() < 0.5 else len(found)
        at = int(rng.integers(near))
        at = len(found) - 1 - at if rng.random() < 0.5 else at
        match rng.integers(4):
            case 0:
                found[at] ^= 1 << int(rng.integers(8))
            case 1:
                found[at] = int(rng.integers(256))
            case 2:
                del found[at : at + int(rng.integers(1, 9))]
            case _:
                found[at:at] = rng.bytes(int(rng.integers(1, 9)))
    return bytes(found)


def answers_of_onnxruntime(data: bytes, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return output 0 for each row, and the sum of all its outputs; None if onnxruntime refuses the model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        outputs = [session.run(None, {name: row[None]}) for row in rows]
    except Exception:  # its own exceptions derive from Exception only
        return None
    first = [np.asarray(found[0], dtype=np.float64).reshape(-1)[0] for found in outputs]
    return np.array(first), np.array([sum(float(np.sum(o)) for o in found) for found in outputs])
