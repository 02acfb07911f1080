"""Searches and bundles draw themselves, in scikit-learn's way."""

from pathlib import Path
from typing import Any

import html5lib
import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError

from polydom_builder import GreedySearch, PolyDomSearch
from polydom_builder.displays import CostDisplay, DeadlineDisplay, FeatureDisplay, SetDisplay
from polydom_builder.displays.display import places
from polydom_builder.drawing import extra
from polydom_builder.exceptions import FitError
from polydom_runtime import load_bundle
from tests.builder import task
from tests.builder.board import samples
from tests.builder.searches import LOGISTIC, fit, search

matplotlib.use("Agg")
US = task.US
METHODS = ("plot_deadlines", "plot_sets", "plot_features", "plot_costs")
DISPLAYS = (DeadlineDisplay, SetDisplay, FeatureDisplay, CostDisplay)


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    pyplot.close("all")


@pytest.mark.parametrize("method", METHODS)
def test_a_fitted_search_draws_itself(method: str, fitted: PolyDomSearch) -> None:
    display = getattr(fitted, method)()

    assert display.ax_.figure is display.figure_
    assert display.ax_.has_data()


def test_a_greedy_search_draws_itself_into_given_axes() -> None:
    greedy = fit(GreedySearch(LOGISTIC, task.space, deadline=(50 * US, 400 * US), cv=3))
    for method in METHODS:
        _, ax = pyplot.subplots()

        assert getattr(greedy, method)(ax=ax).ax_ is ax
        assert ax.has_data()


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_bundle_is_drawn(display: Any, folder: Path) -> None:
    assert display.from_bundle(load_bundle(folder)).ax_.has_data()


@pytest.mark.parametrize("method", METHODS)
def test_an_unfitted_search_is_not_drawn(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(search(), method)()


def test_without_matplotlib_an_error_says_what_to_install(
    fitted: PolyDomSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)

    with pytest.raises(FitError, match=r"polydom-builder\[report\]"):
        fitted.plot_sets()


def test_lines_are_the_scores_that_the_index_plans(fitted: PolyDomSearch) -> None:
    axes = fitted.plot_deadlines().ax_
    strict = next(line for line in axes.get_lines() if line.get_label() == "strict")
    x, y = strict.get_data()

    planned = [np.mean([fitted.index_.best(n, float(d)).accuracy for n in fitted.sizes_]) for d in x]
    assert np.allclose(y, planned)


def test_the_map_shows_the_set_of_the_index_everywhere(fitted: PolyDomSearch) -> None:
    view = SetDisplay.from_search(fitted).view
    columns, rows = np.geomspace(50 * US, 400 * US, 8), np.geomspace(*fitted.region_.sizes, 10)
    found = places(view, columns, rows)

    assert sum(place.area for place in found) == pytest.approx(1.0)
    for i, deadline in enumerate(np.sqrt(columns[:-1] * columns[1:])):
        for n in np.sqrt(rows[:-1] * rows[1:]):
            (here,) = (place for place in found if place.low[i] <= n <= place.high[i])
            assert here.candidate.accuracy == fitted.index_.best(n, float(deadline)).accuracy


@pytest.mark.parametrize("fits", [True, False])
def test_notebooks_show_a_search(fits: bool, fitted: PolyDomSearch) -> None:
    page = (fitted if fits else search())._repr_mimebundle_()["text/html"]

    assert ("sets</caption>" in page) is fits
    assert "LogisticRegression" in page


def test_notebooks_show_a_bundle_and_costs(folder: Path) -> None:
    for shown, words in ((load_bundle(folder), ("roughness", "50 µs to 400 µs")), (samples(), ("roughness", "median"))):
        page = shown._repr_html_()
        html5lib.HTMLParser(strict=True).parseFragment(page)
        assert all(word in page for word in words)
