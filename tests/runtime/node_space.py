"""The feature space of the small hand-made bundle, importable on a node."""

from polydom_runtime import Feature, FeatureSpace, Step

half = Step("half", lambda x: x[: max(len(x) // 2, 1)])

space = FeatureSpace(
    [
        Feature("mean", lambda x: [x.mean()], step=half),
        Feature("spread", lambda x: [x.min(), x.max()], width=2, step=half),
        Feature("ends", lambda x: [x[0], x[-1], len(x)], width=3),
    ],
    size=len,
)

other = FeatureSpace(space.features[:2], size=len)
