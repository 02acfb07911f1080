"""The promise of a bundle in words."""

from polydom_runtime.bundles.bundle import Bundle


def promise_text(bundle: Bundle) -> str:
    """Return the promise about the score, and how far the trained sets keep to what it rests on."""
    if bundle.is_greedy:
        return "none about the score, since the search was a greedy one"
    promise = bundle.promise
    factor = "" if promise.alpha == 1.0 else f"{promise.alpha:g} times "
    held = promise.assumption or f"it is not stated whether the tolerance of {promise.tolerance:g} does"
    return f"no set that fits scores more than {factor}the one chosen, as far as the tolerance holds; {held}"
