"""The turn of the one caller that a predictor has at a time."""

from typing import NoReturn

from .exceptions import PredictorInUseError


class Turn:
    """Taken by one caller at a time; `free` is there while nobody has it.

    To delete an attribute is one step of the interpreter. So of two threads one fails, and no signal can raise between
    it and the ``try`` after it; after the call of a lock one could, and the lock would stay locked.

    >>> turn = Turn()
    >>> with turn:
    ...     hasattr(turn, "free")
    False
    """

    __slots__ = ("__weakref__", "free")

    def __init__(self) -> None:
        self.free = True

    def __enter__(self) -> None:
        try:
            del self.free
        except AttributeError:
            refuse()

    def take(self) -> None:
        """Take it for ever, whoever has it."""
        if hasattr(self, "free"):
            del self.free

    def __exit__(self, *error: object) -> None:
        self.free = True


def refuse() -> NoReturn:
    """Refuse a caller while another one has its turn."""
    raise PredictorInUseError(
        "A predictor must answer one item at a time. It was called while it was at work, by another thread or by a "
        "feature, or in a forked process. Make a predictor in each thread and process; keep it in a threading.local()."
    ) from None


def refuse_copy(predictor: object) -> NoReturn:
    """Refuse to copy or pickle a predictor: two would answer into the same memory, with half of one state each."""
    raise PredictorInUseError(
        f"A {type(predictor).__name__} cannot be copied or pickled. Make one in each thread and process: the folder of "
        "the bundle can be passed on."
    )
