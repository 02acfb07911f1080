"""How good the answers of a bundle are on labelled items that it has not seen, by deadline and by size."""

from .evaluate import evaluate
from .evaluation import AtDeadline, Evaluation, JudgedScore, Part, Timing
from .labelled import Labelled
from .predictions import here

__all__ = ["AtDeadline", "Evaluation", "JudgedScore", "Labelled", "Part", "Timing", "evaluate", "here"]
