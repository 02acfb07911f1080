"""The outlook of a bundle: what it gives within a deadline, as replays on the host showed."""

from typing import NamedTuple


class Outlook(NamedTuple):
    """The answers to expect at one deadline in one regime."""

    deadline: float
    """In seconds."""
    score: float
    """The mean expected score; a late answer counts as 0."""
    prior_share: float
    """The share of answers by the prior, from 0 to 1."""
    features: tuple[str, ...]
    """The set that answers most often; empty if that is the prior."""
    late: float
    """The share of late answers, from 0 to 1."""
