"""Pictures of a search or a bundle as `Display` objects, in scikit-learn's way."""

from .cost_display import CostDisplay
from .deadline_display import DeadlineDisplay
from .feature_display import FeatureDisplay
from .set_display import SetDisplay

__all__ = ["CostDisplay", "DeadlineDisplay", "FeatureDisplay", "SetDisplay"]
