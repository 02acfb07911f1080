"""Times of arrival that are not plain: converted where they are of the predictor's clock, and counted where not."""

import operator
from contextlib import suppress
from typing import Any, Protocol

from polydom_runtime.causes import Causes, shown

from .deadline import ANOTHER_CLOCK, longest_wait_ns


class CountsCauses(Protocol):
    """A predictor that counts what failed."""

    causes: Causes

    def predict_one(  # noqa: D102
        self, item: Any, *, arrived_ns: int | None = None, deadline: float | None = None
    ) -> Any: ...


def predict_arrived(
    predictor: CountsCauses, item: Any, arrived_ns: Any, now: int, deadline_ns: int, deadline: float | None = None
) -> Any:
    """Return the answer for an item whose time of arrival is no `int`, later than the call `now`, or long ago.

    Integers of numpy are converted. By at most a deadline later than the call counts as the call. If it was too long
    ago, the item either waited for so long, or the time is of another clock: the answer is made as if it came now, and
    is late. `deadline`: that of this call.
    """
    waited = None
    with suppress(TypeError):
        waited = now - operator.index(arrived_ns)
    longest = longest_wait_ns(deadline_ns)
    if waited is not None and -deadline_ns <= waited <= longest:
        return predictor.predict_one(item, arrived_ns=now - max(waited, 0), deadline=deadline)
    predictor.causes.add(
        ANOTHER_CLOCK.partition(":")[0],
        f"It must be an integer of nanoseconds by the predictor's clock, time.perf_counter_ns, and no more than "
        f"{longest // 1_000_000_000} s ago. Got {shown(arrived_ns)} at {now}: another clock. The deadline runs from "
        "the call.",
    )
    answer = predictor.predict_one(item, deadline=deadline)
    answer = answer._replace(error=answer.error or ANOTHER_CLOCK)
    if waited is None or waited < 0:
        return answer
    return answer._replace(elapsed_ns=answer.elapsed_ns + waited, waited_ns=waited, deadline_met=False)
