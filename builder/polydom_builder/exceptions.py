"""Every error that the builder raises on purpose, and the warnings that a caller may want to refuse."""

from polydom_runtime.exceptions import PolyDomError


class RegionError(PolyDomError, ValueError):
    """A range of sizes or budgets is reversed, negative or not finite."""


class LatticeError(PolyDomError, ValueError):
    """Parameters or scores of the lattice search are out of range, or too many feature sets would be searched."""


class FitError(PolyDomError, ValueError):
    """Cost samples cannot be fitted."""


class TrainingError(PolyDomError, ValueError):
    """The items, the labels, the estimator or a parameter do not allow a training."""


class ComparisonError(PolyDomError, ValueError):
    """Two files cannot be compared, or not by the limits that were given."""


class ExportError(PolyDomError, ValueError):
    """A model cannot be exported, or the exported model gives other answers."""


class BusyMachineWarning(UserWarning):
    """Times were measured while other work had a good part of the processor."""
