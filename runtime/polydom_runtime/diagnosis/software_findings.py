"""Findings about the software on the machine: Python, onnxruntime, numpy, and the models of a bundle."""

import platform
import re
import struct
import sys
from collections.abc import Mapping
from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.engines import InputRow, load_model
from polydom_runtime.bundles.model_entry import model_file
from polydom_runtime.bundles.number_types import JSON_TYPE
from polydom_runtime.device.board import Board
from polydom_runtime.device.probe import Probe
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError, ItemError
from polydom_runtime.features import FeatureSpace, check_kind, described
from polydom_runtime.findings import Finding, Level, finding
from polydom_runtime.measuring.conditions import THREAD_VARIABLES

REQUIRED = {"onnxruntime": ">=1.20,<1.29", "numpy": ">=1.24"}
"""The versions that the runtime is made for, equal to the dependencies of its package."""

OLDEST_PYTHON = (3, 11)


def check_software(found: Probe | str, python: tuple[int, int, int] = sys.version_info[:3]) -> list[Finding]:
    """Check Python, the width of its addresses, onnxruntime and numpy."""
    version = ".".join(map(str, python))
    bits = 8 * struct.calcsize("P") if isinstance(found, str) else found.bits
    findings = [
        finding(
            "Python",
            "ok" if python >= OLDEST_PYTHON else "problem",
            f"{version} on {platform.machine()}, {platform.system()}",
            "the runtime is written for Python 3.11 and newer",
            "install a system with Python 3.11 or newer (Raspberry Pi OS bookworm has it)",
        ),
        finding(
            "64 bit",
            "ok" if bits >= 64 else "warning",
            f"{bits}-bit addresses",
            "onnxruntime has no 32-bit wheels: only models for which numpy has a kernel can run",
            "install the 64-bit system on the device, if it can take one",
        ),
    ]
    if isinstance(found, str):
        lacking = "SIGILL" in found
        why = "this wheel uses instructions that the processor lacks" if lacking else "every model runs in it"
        return [*findings, finding("onnxruntime", "problem", found, why, _install("onnxruntime"))]
    for name, version in (("onnxruntime", found.onnxruntime), ("numpy", found.numpy)):
        if not version:
            why = "models for which numpy has no kernel cannot run; doctor --bundle says whether there are any"
            findings.append(finding(name, "warning", "not installed", why, _install(name)))
            continue
        level: Level = "ok" if satisfies(version, REQUIRED[name]) else "problem"
        why = f"the runtime is made and tested for {name}{REQUIRED[name]}"
        findings.append(finding(name, level, version, why, _install(name)))
    return findings


def check_threads(found: Probe | str, environment: Mapping[str, str]) -> Finding:
    """Check for thread pools that numpy's linear algebra starts, or that variables tell it to start."""
    told = [name for name in THREAD_VARIABLES if _first_number(environment.get(name, "")) > 1]
    threads = None if isinstance(found, str) else found.threads
    texts = [f"{threads or 'unknown'} in a process that has imported numpy and onnxruntime"]
    texts += [f"{name}={environment[name]}" for name in told]
    return finding(
        "BLAS threads",
        "warning" if told or (threads or 1) > 1 else "ok",
        "; ".join(texts),
        "a product split over threads ends with the slowest thread, and waits for other programs on their cores",
        f"export {' '.join(f'{name}=1' for name in dict.fromkeys([THREAD_VARIABLES[0], *told]))}",
    )


def check_bundle(bundle: Bundle, found: Probe | str) -> Finding:
    """Check that every model of a bundle opens and runs, in the engine that it has here."""
    why = "a model that does not run here cannot answer"
    if isinstance(found, str):
        return finding(
            "bundle", "warning", f"not tried without onnxruntime: {found}", why, "make onnxruntime work first"
        )
    row, broken = InputRow(sum(bundle.space.widths)), []
    for number, entry in enumerate(bundle.models):
        width, sure = sum(bundle.space.widths[i] for i in entry.order), entry.calibration is not None
        try:
            load_model(entry.engine, bundle.model_bytes(number), row, width, len(bundle.space.classes), sure)
        except BundleFormatError as e:
            broken.append(f"{model_file(number)}: {(str(e.__cause__ or e).splitlines() or [repr(e)])[0]}")
    total = f"{len(bundle.models)} models"
    text = f"{len(broken)} of {total} do not run; {broken[0]}" if broken else f"all {total} run"
    return finding(
        "bundle",
        "problem" if broken else "ok",
        f"{text}; {len(bundle.space.classes)} classes",
        why,
        f"build it again for this device: onnxruntime {found.onnxruntime} takes IR version {found.ir_version}, opset "
        f"{found.opset}, ai.onnx.ml {found.ml_opset} at most"
        if found.onnxruntime
        else "install onnxruntime, or build with an estimator for which numpy has a kernel",
    )


def check_features(bundle: Bundle, space: FeatureSpace) -> Finding:
    """Check that the features give the numbers that they gave when the bundle was built, on its reference items."""
    try:
        bundle.check_features(space)
    except BundleMismatchError as e:
        level: Level = "problem"
        text = str(e)
    else:
        n = len(bundle.references.items)
        level, text = "ok" if n else "warning", f"as at the build, on {n} items" if n else "the bundle has no items"
        if line := next(bundle.references.differences(bundle.space_of(space), JSON_TYPE), ""):
            level, text = "warning", f"{text}; but not for lines of JSON: {line}"
    return finding(
        "features",
        level,
        text,
        "models that get other numbers than those that they were trained on answer wrongly",
        "use the module that the bundle was built with, or build it again",
    )


def check_item(bundle: Bundle, space: FeatureSpace, item: Any) -> Finding:
    """Check that an item is like those of the build, and features give the same for its type of numbers."""
    try:
        check_kind(item, bundle.space.item_kind, "The first item", "those that the bundle was built with are")
        bundle.check_type(space, item)
    except ItemError as e:
        level: Level = "problem"
        text = str(e)
    else:
        text = bundle.type_doubt(space, item)
        level, text = "warning" if text else "ok", text or f"the first one is {described(item)}, as at the build"
    return finding(
        "items",
        level,
        text,
        "an item of another form gets the prior, and features that keep the type of numbers give others",
        "give items as those of the build were",
    )


def check_costs(bundle: Bundle, board: Board, found: Probe | str) -> Finding:
    """Check whether the costs of a bundle were measured on this machine with these libraries."""
    origin, doubts = bundle.times.origin, list(bundle.times.origin.notes)
    if origin.estimated:
        doubts.append("estimated, not measured")
    if origin.device and origin.device != board.device:
        doubts.append(f"of {origin.device}, this is {board.device}")
    for name, version in origin.versions.items():
        here = "" if isinstance(found, str) else getattr(found, name, version)
        if here and here != version:
            doubts.append(f"measured with {name} {version}, here is {here}")
    return finding(
        "costs",
        "warning" if doubts else "ok",
        "; ".join([str(origin), *doubts[len(origin.notes) :]]),
        "a plan keeps its deadline only if features take as long here as was planned",
        "polydom-node measure here while nothing else runs, and build with --profile NAME.costs",
    )


def satisfies(version: str, requirement: str) -> bool:
    """Tell whether a version satisfies a requirement such as ``>=LOW,<HIGH``.

    >>> [satisfies(v, ">=1.20,<1.29") for v in ("1.19.2", "1.20.0", "1.28.1", "1.29.0")]
    [False, True, True, False]
    """
    clauses = requirement.split(",")
    ours = _numbers(version)
    return all((ours < _numbers(c)) if c.startswith("<") else (ours >= _numbers(c)) for c in clauses)


def _install(name: str) -> str:
    return f"pip install --upgrade '{name}{REQUIRED[name]}'"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


def _first_number(text: str) -> int:
    start = re.match(r"\s*(\d+)", text)
    return int(start[1]) if start else 0
