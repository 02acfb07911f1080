"""What models buy: the mean score of a bundle against the number of its models and their bytes."""

from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.shipping import Amount


def model_data(bundle: Bundle) -> dict[str, Any]:
    """Return what the bundle states of its models, as plain data."""
    stated = bundle.shipping
    return {
        "shipped": shipped(bundle)._asdict(),
        "curve": [amount._asdict() for amount in stated.curve],
        "limits": stated.limits._asdict(),
        "mean score without limits": stated.whole,
        "mean score of the best choice at most": stated.bound,
        "left out": [
            {
                "features": [name for i, name in enumerate(bundle.names) if left.mask >> i & 1],
                "accuracy": left.accuracy,
                "estimator": left.estimator or None,
            }
            for left in stated.left_out
        ],
    }


def model_table(bundle: Bundle) -> str:
    """Return the curve of the mean score as a table, with the models that are shipped, and what was left out."""
    stated = bundle.shipping
    if not stated.curve:
        return f"models: {stated}"
    grid = f"{len(stated.sizes)} sizes and {len(stated.deadlines)} deadline{'s' * (len(stated.deadlines) > 1)}"
    lines = [f"models, MB of their files, mean score over {grid}, if chosen well"]
    rows = [*((amount, "") for amount in stated.curve), (shipped(bundle), "shipped")]
    for amount, note in sorted(rows):
        lines.append(f"  {amount.models:>6} {amount.size_bytes / 1e6:>9.3f}  {amount.score:.4f}  {note}".rstrip())
    return "\n".join([*lines, str(stated)])


def shipped(bundle: Bundle) -> Amount:
    """Return the number of models of a bundle, their bytes and the mean score."""
    return Amount(len(bundle.models), sum(model.size_bytes for model in bundle.models), bundle.shipping.score)
