"""A bundle in memory that supervisor and nurseries share: all run the same one, whatever its folder holds by then."""

import fcntl
import mmap
import os
from dataclasses import replace
from itertools import accumulate, pairwise

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import decode, encode, index_sha256

SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class SealedBundle:
    """A bundle's files, the index first, in a file in memory that nobody can change; `order` is for `sealed_bundle`."""

    def __init__(self, bundle: Bundle) -> None:
        index = encode(bundle)
        self.descriptor = os.memfd_create("polydom-bundle", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        with open(self.descriptor, "wb", closefd=False) as stream:
            for part in (index, *bundle.contents):
                stream.write(part)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, SEALS)
        folder = os.fsencode(str(bundle.path))  # names of files may be no Unicode
        self.order = {"index_bytes": len(index), "folder": folder, "sha256": index_sha256(bundle)}

    def close(self) -> None:
        """Close the file; the memory is freed when no process has it mapped any more."""
        os.close(self.descriptor)


def sealed_bundle(descriptor: int, index_bytes: int, folder: bytes, sha256: str) -> Bundle:
    """Return the bundle in a sealed file, which is closed."""
    view = memoryview(mmap.mmap(descriptor, 0, prot=mmap.PROT_READ))
    os.close(descriptor)
    bundle = decode(bytes(view[:index_bytes]), os.fsdecode(folder))
    ends = accumulate((model.size_bytes for model in bundle.models), initial=index_bytes)
    return replace(bundle, sha256=sha256, contents=tuple(view[a:b] for a, b in pairwise(ends)))
