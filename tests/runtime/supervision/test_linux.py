"""System calls that a container or an old kernel does not give are named, before anything is started."""

import ctypes
import errno
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from polydom_runtime import SupervisedPredictor
from polydom_runtime.exceptions import WorkerError
from polydom_runtime.supervision import linux


def denied(number: int) -> Callable[..., Any]:
    def call(*arguments: object) -> Any:
        raise OSError(number, os.strerror(number))

    return call


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS])
@pytest.mark.parametrize(
    ("module", "name"), [(os, "memfd_create"), (os, "pidfd_open"), (signal, "pidfd_send_signal")], ids=lambda x: str(x)
)
def test_call_that_is_denied_is_named_with_what_to_do(
    module: Any, name: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, denied(number))

    with pytest.raises(WorkerError, match=f"must allow .*{name}.*{os.strerror(number)}.*seccomp") as caught:
        SupervisedPredictor("nowhere", "no:space")
    assert "without supervision" in str(caught.value)


def test_call_that_python_itself_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    with pytest.raises(WorkerError, match="must allow pidfd_open"):
        linux.check_calls()


@pytest.mark.parametrize("name", ["ppoll", "prctl"])
def test_call_of_the_c_library_that_is_denied_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Denying:
        def __getattr__(self, asked: str) -> Any:
            if asked != name:
                return lambda *arguments: 0
            return lambda *arguments: (ctypes.set_errno(errno.EPERM), -1)[1]

    monkeypatch.setattr(linux, "_libc", Denying())

    with pytest.raises(WorkerError, match=f"must allow {name}.*{os.strerror(errno.EPERM)}"):
        linux.check_calls()


def test_check_leaves_no_descriptor_open() -> None:
    linux.check_calls()
    before = sorted(os.listdir("/proc/self/fd"))
    linux.check_calls()

    assert sorted(os.listdir("/proc/self/fd")) == before
