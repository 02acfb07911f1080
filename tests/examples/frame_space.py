"""The features of the small hand-made bundle, for arrays of any number of dimensions."""

from polydom_runtime import Feature, FeatureSpace, Step

half = Step("half", lambda x: x[: max(len(x) // 2, 1)])

space = FeatureSpace(
    [
        Feature("mean", lambda x: [x.mean()], step=half),
        Feature("spread", lambda x: [x.min(), x.max()], width=2, step=half),
        Feature("ends", lambda x: [x.flat[0], x.flat[-1], x.size], width=3),
    ],
    size=lambda x: x.size,
)
