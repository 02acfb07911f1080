"""Scores of a bundle that its scoring cannot give."""

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed, outlook
from tests.runtime.conftest import US, make_bundle


def scored(scoring: str, score: float) -> Bundle:
    """Return the small bundle with a score for all models and the prior."""
    bundle, _ = make_bundle()
    models = tuple(model._replace(accuracy=score) for model in bundle.models)
    return changed(bundle, scoring=scoring, models=models, prior=(0, score), shipped=(), intervals=())


@pytest.mark.parametrize(
    ("scoring", "score"),
    [
        ("accuracy", 1.01),
        ("accuracy", -0.01),
        ("balanced_accuracy", 55.0),
        ("f1_macro", 1.5),
        ("roc_auc_ovr_weighted", 2.0),
        ("r2", 1.5),
        ("d2_log_loss_score", 1.5),
        ("neg_log_loss", 0.5),
        ("", 1e300),
        ("shop.profit", 1e300),
    ],
)
def test_a_score_that_the_scoring_cannot_give_is_refused(scoring: str, score: float) -> None:
    with pytest.raises(BundleFormatError, match=r"A score by|accuracy must be a float"):
        decode(encode(scored(scoring, score)))


@pytest.mark.parametrize(
    ("scoring", "score"),
    [
        ("accuracy", 1.0 + 1e-16),
        ("accuracy", 0.0),
        ("cost_saved", 0.0),
        ("r2", -3.0),
        ("neg_log_loss", -0.0),
        ("matthews_corrcoef", -0.5),
        ("positive_likelihood_ratio", 30.0),
        ("neg_costs.accuracy", 70.0),
        ("make_scorer(accuracy, response_method='predict')", 70.0),
        ("", -7.0),
    ],
)
def test_a_possible_score_is_let_in(scoring: str, score: float) -> None:
    bundle = scored(scoring, score)

    assert decode(encode(bundle)) == bundle


def test_an_outlook_has_a_possible_score() -> None:
    bundle = changed(make_bundle()[0], scoring="accuracy", outlook=(outlook(100 * US, 1.2, 0.0, (), 0.0),))

    with pytest.raises(BundleFormatError, match=r"from 0 to 1\. Got 1\.2"):
        decode(encode(bundle))
