"""How good the answers of a bundle are on labelled items that it has not seen, by deadline and by size."""

from .answering import here
from .evaluate import evaluate
from .evaluation import AtDeadline, Evaluation, Part, Score, Timing
from .labelled import Labelled

__all__ = ["AtDeadline", "Evaluation", "Labelled", "Part", "Score", "Timing", "evaluate", "here"]
