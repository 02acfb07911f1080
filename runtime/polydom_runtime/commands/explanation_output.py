"""An explanation as text or JSON."""

import json
from dataclasses import asdict
from typing import Any

from polydom_runtime.explaining.explanation import Explanation
from polydom_runtime.explaining.text import explanation_text
from polydom_runtime.records.metrics import finite

from .terminal import show


def print_explanation(found: Explanation, as_json: bool) -> None:
    """Print an explanation."""
    if as_json:
        print(json.dumps(explanation_data(found), indent=2, allow_nan=False))
    else:
        show(explanation_text(found))


def explanation_data(found: Explanation) -> dict[str, Any]:
    """Return an explanation for JSON, all numbers of which are finite; times in nanoseconds."""
    answer = {name: finite(v) if isinstance(v, float) else v for name, v in found.answer._asdict().items()}
    return asdict(found) | {"answer": answer, "size": finite(found.size)}
