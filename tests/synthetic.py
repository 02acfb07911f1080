"""The paper's synthetic generator, under the name by which tests and benchmarks know it."""

from examples.paper.generator import SIZES, costs, scores

__all__ = ["SIZES", "costs", "scores"]
