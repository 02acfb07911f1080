"""The proof of a build as the file ``proof.npz`` beside the bundle's index: plain arrays, which numpy alone reads."""

import math
import os
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from polydom_builder.lattice.proof import Proof
from polydom_builder.sets.inputs import check_parameters
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts, TabledCosts
from polydom_runtime.codec.marks import bad
from polydom_runtime.costs import BASIS, HUGE, ZERO, CostFunction, basis_terms
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.features import MAX_FEATURES

from .grounds_file import GROUNDS, grounds_arrays, grounds_from

PROOF_FILE = "proof.npz"
VERSION = 1

MAX_BYTES = 1 << 30
"""The most bytes of all arrays together, so that a bad file cannot fill the memory."""

MAX_HEADER_BYTES = 1000
"""The most bytes of the header of each array."""

Array = NDArray[Any]

FORMS: dict[str, tuple[str, tuple[int, ...]]] = {
    # version, number of features, whether all sets are listed, whether costs are a table, whether `GROUNDS` follow
    "counts": ("<i8", (5,)),
    "numbers": ("<f8", (6,)),  # alpha, tolerance, sizes, budgets
    "masks": ("<i8", (-1,)),
    "lower": ("<i4", (-1,)),
    "upper": ("<i4", (-1,)),
    "expanded": ("<i8", (-1,)),
    "scores": ("<f8", (-1,)),
    "kept": ("<i8", (-1,)),
    "exported": ("<f8", (-1,)),
    "features": ("<f8", (-1, len(BASIS))),
    "shared": ("<f8", (-1, len(BASIS))),
    "users": ("<i8", (-1,)),
    "base": ("<f8", (len(BASIS),)),
    "tabled": ("<i8", (-1,)),
    "table": ("<f8", (-1, len(BASIS))),
}
"""Kind and shape of each array; -1 stands for any length."""

EQUALLY_LONG = (
    ("masks", "lower"),
    ("masks", "upper"),
    ("expanded", "scores"),
    ("kept", "exported"),
    ("shared", "users"),
    ("tabled", "table"),
)
"""Pairs of arrays that must have the same length."""


def encode_proof(proof: Proof) -> bytes:
    """Return the content of ``proof.npz``; costs that are no SetCosts are written as a table of sets."""
    stream = BytesIO()
    np.savez_compressed(stream, **_arrays(proof))
    return stream.getvalue()


def load_proof(folder: str | os.PathLike[str]) -> Proof:
    """Read the proof in the folder of a bundle and check its form; `verify` checks what it proves."""
    file = Path(folder) / PROOF_FILE
    if not file.is_file():
        raise bad(f"A bundle to verify must have the file {PROOF_FILE}", f"{folder}, built without it", "Build again.")
    try:
        with ZipFile(file) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
                raise bad(f"{file} must hold at most {MAX_BYTES} bytes", "more")
            _check_version(archive)
            arrays = {name: _array(archive, name, *form) for name, form in FORMS.items()}
            if arrays["counts"][4]:
                arrays |= {name: _array(archive, name, *form) for name, form in GROUNDS.items()}
        return _proof(arrays)
    except BundleFormatError:
        raise
    except Exception as e:  # a broken archive raises many kinds of errors
        raise bad(f"{file} must be a proof as it was written", repr(e)) from e


def _arrays(proof: Proof) -> dict[str, Any]:
    costs = proof.costs
    values: dict[str, Any] = {
        "counts": (
            VERSION,
            costs.n_features,
            proof.complete,
            isinstance(costs, TabledCosts),
            proof.grounds is not None,
        ),
        "numbers": (proof.alpha, proof.tolerance, *proof.region.sizes, *proof.region.budgets),
        **{name: getattr(proof, name) for name in ("masks", "lower", "upper", "expanded", "scores")},
        "kept": proof.kept,
        "exported": proof.exported,
        **(_table_of(costs) if isinstance(costs, TabledCosts) else _sums_of(costs)),
    }
    written = {name: np.asarray(values[name], dtype=kind).reshape(shape) for name, (kind, shape) in FORMS.items()}
    return written | grounds_arrays(proof.grounds)


def _sums_of(costs: SetCosts) -> dict[str, Any]:
    return {
        "features": [cost.weights for cost in costs.features],
        "shared": [cost.weights for cost, _ in costs.shared],
        "users": [users for _, users in costs.shared],
        "base": costs.base.weights,
        "tabled": (),
        "table": (),
    }


def _table_of(costs: TabledCosts) -> dict[str, Any]:
    nothing = {"features": (), "shared": (), "users": (), "base": ZERO.weights}
    return nothing | {"tabled": costs.masks, "table": costs.table}


def _check_version(archive: ZipFile) -> None:
    """Check the version before anything whose form may depend on it: the first of `counts`, however many there are."""
    version, *_ = _array(archive, "counts", "<i8", (-1,)).tolist() or [None]
    if version != VERSION:
        raise bad(f"A proof must have format version {VERSION}", version, "Build again, or upgrade polydom-builder.")


def _array(archive: ZipFile, name: str, kind: str, shape: tuple[int, ...]) -> Array:
    """Read one array without trust in its header: the shape that it claims must match the bytes that follow."""
    data = archive.read(f"{name}.npy")
    stream = BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise bad(f"Array {name!r} must be in the first npy format", data[:8])
    found, by_columns, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=MAX_HEADER_BYTES)
    body = data[stream.tell() :]
    fits = len(found) == len(shape) and all(n in (-1, m) for n, m in zip(shape, found, strict=True))
    if by_columns or dtype != np.dtype(kind) or not fits or math.prod(found) * dtype.itemsize != len(body):
        raise bad(f"Array {name!r} must be {kind} of shape {shape}", f"{dtype} of shape {found}")
    return np.frombuffer(body, dtype=dtype).reshape(found)


def _proof(arrays: dict[str, Array]) -> Proof:
    _, n_features, complete, tabled, grounded = arrays["counts"].tolist()
    if not 0 <= n_features <= MAX_FEATURES:
        raise bad(f"The number of features must be from 0 to {MAX_FEATURES}", n_features)
    alpha, tolerance, smallest, largest, least, most = arrays["numbers"].tolist()
    check_parameters(n_features, alpha, tolerance)
    _check_sets(arrays, 1 << n_features)
    costs = _tabled(arrays, n_features) if tabled else _summed(arrays, n_features)
    rows = arrays["table"] if tabled else np.vstack([arrays[name] for name in ("features", "shared", "base")])
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(rows.sum(axis=0) @ basis_terms(np.array([largest]))[0]):
            raise bad("Costs must be finite at the largest size", f"others at {largest}")
    return Proof(
        masks=arrays["masks"],
        lower=arrays["lower"],
        upper=arrays["upper"],
        complete=bool(complete),
        expanded=arrays["expanded"],
        scores=arrays["scores"],
        kept=arrays["kept"],
        exported=arrays["exported"],
        costs=costs,
        region=QueryRegion((smallest, largest), (least, most)),
        alpha=alpha,
        tolerance=tolerance,
        grounds=grounds_from(arrays) if grounded else None,
    )


def _check_sets(arrays: dict[str, Array], end: int) -> None:
    """Check that arrays that belong together are equally long, and that every set and every position exists."""
    for one, other in EQUALLY_LONG:
        if len(arrays[one]) != len(arrays[other]):
            raise bad(f"Arrays {one!r} and {other!r} must be equally long", len(arrays[other]))
    kept, expanded = len(arrays["kept"]), len(arrays["expanded"])
    limits = {"masks": end, "expanded": end, "kept": end, "users": end, "tabled": end, "lower": kept, "upper": expanded}
    for name, limit in limits.items():
        if not ((arrays[name] >= 0) & (arrays[name] < limit)).all():
            raise bad(f"Array {name!r} must be of integers from 0 to {limit - 1}", "others")
    for name in ("masks", "expanded", "kept", "tabled"):
        if len(np.unique(arrays[name])) != len(arrays[name]):
            raise bad(f"Array {name!r} must hold no set twice", "one that it does")
    if not (np.abs(arrays["scores"]) < HUGE).all():  # the difference of two larger ones may be no number any more
        raise bad(f"Array 'scores' must hold numbers below {HUGE:g}", "others")


def _summed(arrays: dict[str, Array], n_features: int) -> SetCosts:
    if len(arrays["features"]) != n_features:
        raise bad(f"Array 'features' must have {n_features} rows", len(arrays["features"]))
    features, shared = _costs(arrays["features"]), _costs(arrays["shared"])
    users = arrays["users"].tolist()
    return SetCosts(features, list(zip(shared, users, strict=True)), _costs(arrays["base"][None])[0])


def _costs(rows: Array) -> list[CostFunction]:
    return [CostFunction((a, b, c, d, e, f)) for a, b, c, d, e, f in rows.tolist()]


def _tabled(arrays: dict[str, Array], n_features: int) -> TabledCosts:
    table = arrays["table"]
    if not ((table >= 0.0) & np.isfinite(table)).all():
        raise bad("Array 'table' must hold finite, non-negative weights", "others")
    for name in ("masks", "kept", "expanded"):
        if not np.isin(arrays[name], arrays["tabled"]).all():
            raise bad(f"The table must hold the cost of every set in {name!r}", "one without")
    return TabledCosts(n_features, arrays["tabled"], table)
