"""Pictures of a search or a bundle as `Display` objects, in scikit-learn's way."""

from .display import CostDisplay, DeadlineDisplay, FeatureDisplay, SetDisplay

__all__ = ["CostDisplay", "DeadlineDisplay", "FeatureDisplay", "SetDisplay"]
