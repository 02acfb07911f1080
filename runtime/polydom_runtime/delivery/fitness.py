"""Whether a bundle can work on this machine, before it is installed."""

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.device.board import Board
from polydom_runtime.device.probe import Probe
from polydom_runtime.diagnosis.machine_findings import check_free_memory
from polydom_runtime.diagnosis.software_findings import check_bundle, check_costs, check_features
from polydom_runtime.exceptions import UpdateError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.findings import Finding

from .succession import check_device, stated_in


def check_fitness(bundle: Bundle, board: Board, found: Probe | str, space: FeatureSpace | None = None) -> list[Finding]:
    """Return the doctor's warnings about a bundle on this machine; `UpdateError` if it cannot work here."""
    assert bundle.path is not None
    check_device(stated_in(bundle.path), board)
    models = check_bundle(bundle, found)
    others = [
        check_free_memory(board, [model.size_bytes for model in bundle.models]),
        check_costs(bundle, board, found),
    ]
    if space is not None:
        bundle.check_features(space)
        others.append(check_features(bundle, space))
    problems = [models] * (models.level != "ok") + [finding for finding in others if finding.level == "problem"]
    if problems:
        got, fix = "; ".join(f"{finding.check}: {finding.found}" for finding in problems), problems[0].fix
        raise UpdateError(f"The bundle must be able to work on this machine. Got {got}. {fix[:1].upper()}{fix[1:]}.")
    return [finding for finding in others if finding.level != "ok"]
