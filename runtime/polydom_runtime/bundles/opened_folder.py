"""Reading the files of a folder that somebody else may replace meanwhile, or fill with anything."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from polydom_runtime.codec.marks import bad
from polydom_runtime.exceptions import BundleFormatError

if TYPE_CHECKING:  # it takes milliseconds to import
    from pathlib import Path

COPY_AGAIN = "Copy the whole bundle folder again."

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class OpenedFolder:
    """A folder whose files are read relative to it, so that all come from one folder, whatever its path names by then.

    `exposed`: the folder and its files that any user of this machine may write to, as far as they were opened.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._folders = {".": descriptor}
        self.exposed: list[str] = []
        self._note(".", os.fstat(descriptor))

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a file of at most `limit` bytes.

        Raises `BundleFormatError` as for `read_bounded`.
        """
        folder, _, file = name.rpartition("/")
        whole = f"{self.path}/{name}"
        try:
            data, status = _read(file, whole, limit, self._folder(folder or "."))
        except OSError as e:
            raise bad(f"{whole} must be a readable file", repr(e), COPY_AGAIN) from e
        self._note(name, status)
        return data

    def _folder(self, name: str) -> int:
        """Return the descriptor of a folder inside. It may not be a link, which `O_NOFOLLOW` checks at the end only."""
        if name not in self._folders:
            self._folders[name] = inner = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=self._folders["."])
            self._note(name, os.fstat(inner))
        return self._folders[name]

    def _note(self, name: str, status: os.stat_result) -> None:
        if status.st_mode & stat.S_IWOTH and name not in self.exposed:
            self.exposed.append(name)

    def names(self) -> list[str]:
        """Return the names of the files and folders directly inside."""
        return os.listdir(self._folders["."])

    def files(self) -> list[str]:
        """Return the names of all files, also of those in the folders directly inside, such as ``models/0000.onnx``.

        Raises `BundleFormatError` if a folder cannot be read.
        """
        files = []
        try:
            for name in self.names():
                if stat.S_ISDIR(os.stat(name, dir_fd=self._folders["."], follow_symlinks=False).st_mode):
                    files += [f"{name}/{inner}" for inner in os.listdir(self._folder(name))]
                else:
                    files.append(name)
        except OSError as e:
            raise bad(f"{self.path} must be a readable folder", repr(e), COPY_AGAIN) from e
        return files

    def was_replaced(self) -> bool:
        """Tell whether the path names another folder by now, or none."""
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(self._folders["."]))
        except OSError:
            return True

    def close(self) -> None:
        """Close the folder."""
        for descriptor in self._folders.values():
            os.close(descriptor)


@contextmanager
def opened_folder(folder: str | os.PathLike[str]) -> Iterator[OpenedFolder]:
    """Open a folder, and close it at the end of the block.

    Raises `BundleFormatError` if there is no such folder, or it cannot be opened.
    """
    path = (os.fspath(folder) or ".").rstrip("/") or "/"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NONBLOCK)
    except OSError as e:
        packed = ", which `tar -xf` unpacks" * path.endswith(".tar")
        got = f"a file{packed}" if os.path.isfile(path) else "no such folder" if not os.path.exists(path) else repr(e)
        raise no_bundle(path, got) from e
    with closing(OpenedFolder(path, descriptor)) as opened:
        yield opened


def no_bundle(path: str, got: str) -> BundleFormatError:
    """Return the error for a path that is not that of a bundle folder."""
    return bad(f"{path} must be a bundle folder", got, "Give the path of the folder, or copy it whole.")


def read_bounded(file: "Path", limit: int) -> bytes:
    """Return the content of a file of at most `limit` bytes.

    Raises `BundleFormatError` if it cannot be read, is larger, or is a link, a device or a pipe, which may point
    elsewhere or have no end.
    """
    try:
        return _read(str(file), str(file), limit)[0]
    except OSError as e:
        raise bad(f"{file} must be a readable file", repr(e), COPY_AGAIN) from e


def _read(file: str, whole: str, limit: int, folder: int | None = None) -> tuple[bytes, os.stat_result]:
    # By an opener: `open` closes its descriptor also where it then finds a folder.
    with open(file, "rb", opener=lambda name, _: os.open(name, _FLAGS, dir_fd=folder)) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise bad(f"{whole} must be a file", "something else", COPY_AGAIN)
        if status.st_size > limit:
            raise bad(f"{whole} must have at most {limit} bytes", status.st_size, COPY_AGAIN)
        return stream.read(status.st_size), status  # `read` takes memory for all bytes that it is asked for
