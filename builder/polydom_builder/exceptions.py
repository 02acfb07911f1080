"""Every error that the builder raises on purpose."""

from polydom_runtime.exceptions import PolyDomError


class RegionError(PolyDomError, ValueError):
    """A range of sizes or budgets is impossible."""


class LatticeError(PolyDomError, ValueError):
    """The lattice search got impossible parameters or scores, or too many feature sets."""


class FitError(PolyDomError, ValueError):
    """Cost samples cannot be fitted."""


class TrainingError(PolyDomError, ValueError):
    """Items, labels or estimator cannot be trained on."""


class ExportError(PolyDomError, ValueError):
    """A model cannot be exported, or its exported form disagrees with it."""
