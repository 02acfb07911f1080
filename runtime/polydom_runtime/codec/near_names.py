"""The names that a misspelt one may stand for, for messages; imported only where an error is made."""

from collections.abc import Iterable
from difflib import get_close_matches

from polydom_runtime.causes import shown

MOST = 3
"""The most names that are told."""

ALIKE = 0.7
"""The least likeness of a near name, by `difflib`, from 0 to 1."""

ALIKE_ENOUGH = 0.9
"""A name that is as much like it is the one that was meant."""

LEAST_PART = 3
"""The fewest characters that count as a part of a name."""

LONGEST = 100

LISTED = 20
"""The most names that are listed."""


def near_names(name: str, names: Iterable[str], alike: float = ALIKE) -> list[str]:
    """Return the names that are like one, or that it is a part of; the nearest first. Case does not count.

    >>> near_names("--dealine", ["--deadline", "--items"]), near_names("MAX", ["max-models", "cv"])
    (['--deadline'], ['max-models'])
    """
    known, given = {one.casefold(): one for one in names}, name.casefold()[:LONGEST]
    part = given.strip("-_ ")
    found = get_close_matches(given, known, 1, ALIKE_ENOUGH) or get_close_matches(given, known, MOST, alike)
    if not found and len(part) >= LEAST_PART:
        found = [one for one in known if part in one]
    return [known[one] for one in found[:MOST]]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the question whether a near name was meant, after a space; an empty text if there is none.

    >>> did_you_mean("anytim", ["anytime", "strict"]), did_you_mean("no", ["anytime", "strict"])
    (' Did you mean anytime?', '')
    """
    found = near_names(name, names)
    return f" Did you mean {' or '.join(found)}?" if found else ""


def one_of(what: str, names: Iterable[object], got: object) -> str:
    """Return the message that something must be one of some names.

    >>> one_of("The policy", ["anytime", "strict"], "anytim")
    'The policy must be one of anytime, strict. Got anytim. Did you mean anytime?'
    >>> one_of("The label", [1, 2], "1")
    "The label must be one of 1, 2. Got '1'. Did you mean 1?"
    """
    given = [*names]
    is_plain = isinstance(got, str) and got and got not in map(str, given)  # else quotes tell a text from a number
    known, text = [*map(str if is_plain else shown, given)], str(got) if is_plain else shown(got)
    listed = ", ".join(known[:LISTED]) + ", ..." * (len(known) > LISTED)
    return f"{what} must be one of {listed}. Got {text}.{did_you_mean(str(got), known)}"
