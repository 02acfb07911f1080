"""The parameters of estimators that are given by name, as scikit-learn names those of the parts of a pipeline."""

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator

START = "estimator__"


class NamedParameters(BaseEstimator):  # type: ignore[misc]
    """A search whose parameter `estimator` may be a mapping of names to estimators."""

    estimator: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, such as ``estimator__trees__max_depth`` if `deep`."""
        found: dict[str, Any] = super().get_params(deep)
        parts = self.estimator if deep and isinstance(self.estimator, Mapping) else {}
        for name, model in parts.items():
            known = model.get_params() if hasattr(model, "get_params") and not isinstance(model, type) else {}
            found |= {f"{START}{name}": model, **{f"{START}{name}__{key}": value for key, value in known.items()}}
        return found

    def set_params(self, **params: Any) -> "NamedParameters":
        """Set parameters by the names that `get_params` returns.

        Raises `ValueError` if there is no such parameter or estimator.
        """
        given = params.get("estimator", self.estimator)
        nested = {key: params.pop(key) for key in [*params] if isinstance(given, Mapping) and key.startswith(START)}
        super().set_params(**params)
        for key in sorted(nested):  # an estimator before its parameters
            name, _, parameter = key.removeprefix(START).partition("__")
            if name not in self.estimator:
                known = ", ".join(self.estimator)
                raise ValueError(f"The name of an estimator must be one of {known}. Got {name!r}.")
            if parameter:
                self.estimator[name].set_params(**{parameter: nested[key]})
            else:
                self.estimator = {**self.estimator, name: nested[key]}
        return self
