"""Why an item got the answer that it got, compared with the plan that was made when it came."""

from bisect import bisect_right
from collections.abc import Collection, Sequence

from .course import Course
from .loaded_models import LoadedModel
from .states import State


def reason_of(
    state: State,
    model: LoadedModel,
    course: Course,
    *,
    names: Sequence[str],
    out: Collection[str],
    budget_ns: int,
    extends: bool,
) -> str:
    """Return the reason for an answer that was not interrupted.

    `state`: the one that was reached. `model`: gave the answer. `names`: of all features. `out`: the features that are
    out of the choice because they kept failing. `extends`: whether time that is left goes into a better set than
    planned.
    """
    planned, last, cell = course.planned, course.last, course.cell
    if planned is None or last is None:
        *_, ends, moves = state.rows[cell]
        first = moves[bisect_right(ends, budget_ns)]
        if first is None:
            return "planned"
        name = names[first.feature]
        return f"{name} failed" if name in out else f"no time for {name}"
    if model.accuracy >= planned.accuracy and extends:
        return "planned" if model.accuracy == planned.accuracy else "extended"
    if state.mask & planned.target == planned.target:
        return "planned"
    given_up = last.target if last.target & ~state.mask else planned.target
    return f"no time for {names[state.next_of(given_up, cell)]}"
