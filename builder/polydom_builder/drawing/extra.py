"""The check that packages which only pictures and pages need are installed."""

from importlib.util import find_spec

from polydom_builder.exceptions import FitError


def check_extra(*modules: str) -> None:
    """Check that modules of the extra ``report`` are there.

    Raises `FitError` if one is not installed.
    """
    if missing := [name for name in modules if find_spec(name) is None]:
        raise FitError(
            f"Pictures and reports need {' and '.join(modules)}. Not installed: {', '.join(missing)}. "
            "Run pip install 'polydom-builder[report]'."
        )
