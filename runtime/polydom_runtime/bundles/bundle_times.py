"""The times of a bundle: the same units four times, each for another purpose, and where they come from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from polydom_runtime.costs import CostFunction
from polydom_runtime.unit_times import UnitTimes


@dataclass(frozen=True, slots=True)
class CostOrigin:
    """Where the costs of a bundle come from.

    Parameters
    ----------
    device : str
        The machine whose costs they are.
    estimated : bool
        Whether they were carried over from another machine instead of measured.
    notes : tuple of str
        Reasons to doubt them.
    versions : dict of str to str
        Of numpy and onnxruntime, where they were measured.
    """

    device: str = ""
    estimated: bool = False
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        how = "estimated, not measured" if self.estimated else "measured" if self.device else "given"
        where = f" for {self.device}" if self.estimated else f" on {self.device}" if self.device else ""
        return "; ".join([f"costs {how}{where}", *self.notes])


@dataclass(frozen=True, slots=True)
class BundleTimes:
    """How long units take on the device that the bundle was built for. Make it with `of` where some are not known.

    Parameters
    ----------
    worst : UnitTimes
        Their sums are the worst case of sets; the index is built on them.
    planned : UnitTimes
        The any-time policy plans the rest of a set with these.
    guarded : UnitTimes
        It begins a unit only if this much time is left for it.
    typical : UnitTimes
        A slow-down is measured against these.
    reference_seconds : float
        The stated worst case of the reference model on the device; 0 if not known.
    origin : CostOrigin
    """

    worst: UnitTimes
    planned: UnitTimes
    guarded: UnitTimes
    typical: UnitTimes
    reference_seconds: float = 0.0
    origin: CostOrigin = field(default_factory=CostOrigin)

    @classmethod
    def of(
        cls,
        worst: UnitTimes,
        planned: UnitTimes | None = None,
        guarded: UnitTimes | None = None,
        typical: UnitTimes | None = None,
        *,
        reference_seconds: float = 0.0,
        origin: CostOrigin | None = None,
    ) -> "BundleTimes":
        """Make the times of a bundle; those not given are the worst case, and the typical ones the planned ones.

        Parameters
        ----------
        worst : UnitTimes
        planned, guarded, typical : UnitTimes, optional
        reference_seconds : float
        origin : CostOrigin, optional
            Costs that were given if not said.
        """
        planned = planned or worst
        return cls(worst, planned, guarded or worst, typical or planned, reference_seconds, origin or CostOrigin())

    def plus_dispatch(self, more: CostFunction) -> "BundleTimes":
        """Return the times with more of dispatch, for every purpose."""
        changed = {name: getattr(self, name).plus_dispatch(more) for name in ("worst", "planned", "guarded", "typical")}
        return replace(self, **changed)
