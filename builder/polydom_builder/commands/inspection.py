"""What is in a bundle: for people and for programs."""

import math
from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import format_seconds


def description(bundle: Bundle, deadline: float | None) -> dict[str, Any]:
    """Return what `inspect` shows, as plain data; costs in seconds."""
    wanted = {b for b in bundle.promise.budgets if 0.0 < b < float("inf")} if deadline is None else {deadline}
    return {
        "features": dict(zip(bundle.names, (str(c) for c in bundle.times.worst.features), strict=True)),
        "steps": {
            s.name: {"cost": str(s.cost), "used by": [n for i, n in enumerate(bundle.names) if s.users >> i & 1]}
            for s in bundle.times.worst.steps
        },
        "classes": list(bundle.space.classes),
        "sizes": list(bundle.promise.sizes),
        "deadlines": list(bundle.promise.budgets),
        "costs": str(bundle.times.origin),
        "alpha": bundle.promise.alpha,
        "tolerance": bundle.promise.tolerance,
        "candidates": [
            {"features": list(c.features), "accuracy": c.accuracy, "cost": str(c.cost), "weights": list(c.cost.weights)}
            for c in bundle.index.candidates
        ],
        "staircases": {
            format_seconds(d): [
                {
                    "up to size": size if size < float("inf") else None,
                    "features": list(c.features),
                    "accuracy": c.accuracy,
                }
                for size, c in bundle.index.at_deadline(d).steps
            ]
            for d in sorted(wanted)
        },
    }


def as_text(document: dict[str, Any]) -> str:
    """Return the description as a person reads it."""
    lines = [document["costs"], "candidates (accuracy, worst-case cost, features in order of computation)"]
    for c in document["candidates"]:
        lines.append(f"  {c['accuracy']:.3f}  {c['cost']:<60}  {' '.join(c['features']) or '(class prior)'}")
    for deadline, steps in document["staircases"].items():
        lines.append(f"staircase at {deadline} (last size, accuracy, features)")
        for s in steps:
            end = s["up to size"] or math.inf
            size = f"{end:.0f}" if end < document["sizes"][1] else "larger"
            lines.append(f"  {size:>12}  {s['accuracy']:.3f}  {' '.join(s['features']) or '(class prior)'}")
            if size == "larger":  # what follows is for items beyond the measured sizes
                break
    return "\n".join(lines)
