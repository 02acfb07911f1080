"""Whole lines on standard output, which may be full, or set by another process not to block."""

import os
import select
from collections.abc import Callable
from functools import partial
from typing import TextIO

from polydom_runtime.causes import report_failure

WAIT_MS = 1000
"""The longest wait for a reader after which it is asked whether to give up."""


class Lines:
    """Writes whole lines, each by one system call; `lost` is the number of those that the stream did not take.

    If the stream does not block, a line waits for a slow reader all the same, until `gives_up` returns True. Where a
    line cannot be written, as on a full disk, that is counted and reported. A line that was cut then is ended before
    the next one.
    """

    def __init__(self, stream: TextIO, gives_up: Callable[[], bool] = lambda: False) -> None:
        self.lost = 0
        self._gives_up, self._is_cut = gives_up, False
        try:
            stream.flush()
            self._descriptor = stream.fileno()
            self._put: Callable[[bytes], int] = partial(os.write, self._descriptor)
        except OSError:  # no file, as in tests
            self._put = lambda data: stream.write(data.decode()) and len(data)

    def write(self, text: str) -> None:
        """Write a line, with its end; BrokenPipeError if the reader has gone."""
        data, written = text.encode(), 0
        if self._is_cut:
            data = b"\n" + data
        while written < len(data):
            try:
                written += self._put(data[written:])
            except BrokenPipeError:
                raise
            except OSError as e:
                if isinstance(e, BlockingIOError) and (self._has_room() or not self._gives_up()):
                    continue
                self._lose(e, data[:written])
                return
        self._is_cut = False

    def flush(self) -> None:
        """Do nothing: lines are written at once."""

    def _has_room(self) -> bool:
        """Wait until the stream takes more, but not for ever."""
        room = select.poll()
        room.register(self._descriptor, select.POLLOUT)
        return bool(room.poll(WAIT_MS))

    def _lose(self, error: OSError, written: bytes) -> None:
        self._is_cut = not written.endswith(b"\n") if written else self._is_cut
        self.lost += 1
        report_failure("a line of standard output", self.lost, f"{error}. It is lost.")
