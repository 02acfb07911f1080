"""Bundles as tar files: what is unpacked, and what is refused before anything is written outside."""

import gzip
import io
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.delivery import packed
from polydom_runtime.delivery.packed import unpack_tar, unpacked
from polydom_runtime.exceptions import BundleFormatError, SignatureError, UpdateError
from polydom_runtime.trust.statement import FileDigest
from tests.runtime.trust.signer import OWNER, STATEMENT, STRANGER, public, signature, trust_in

Entry = tuple[str, bytes | None] | tarfile.TarInfo
"""A file with its content, a folder (None), or the header of anything else."""

TOP: Entry = ("b", None)


def tar(*entries: Entry, format: int = tarfile.USTAR_FORMAT) -> bytes:
    """Return a tar file of these entries."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=format) as archive:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                archive.addfile(entry)
            else:
                archive.addfile(header(entry[0], content=entry[1]), io.BytesIO(entry[1] or b""))
    return target.getvalue()


def header(name: str, kind: bytes = tarfile.REGTYPE, content: bytes | None = b"", **more: object) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = (tarfile.DIRTYPE, 0) if content is None else (kind, len(content))
    for key, value in more.items():
        setattr(entry, key, value)
    return entry


def huge(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return the header of a file that claims a size."""
    return header("b/x", kind, size=size).tobuf(tarfile.GNU_FORMAT)


SOUND = tar(TOP, ("b/index.sha256", b"12"), ("b/models", None), ("b/models/0000.onnx", bytes(range(256)) * 3))
START = tar(TOP)[: tarfile.BLOCKSIZE]

HOSTILE: dict[str, bytes] = {
    "link": tar(TOP, header("b/x", tarfile.SYMTYPE, linkname="/etc/passwd")),
    "link to a folder": tar(header("b", tarfile.SYMTYPE, linkname="/tmp"), ("b/x", b"")),
    "hard link": tar(TOP, header("b/x", tarfile.LNKTYPE, linkname="../x")),
    "device": tar(TOP, header("b/x", tarfile.CHRTYPE, devmajor=1, devminor=5)),
    "pipe": tar(TOP, header("b/x", tarfile.FIFOTYPE)),
    "contiguous": tar(TOP, header("b/x", tarfile.CONTTYPE)),
    "sparse": tar(TOP, header("b/x", tarfile.GNUTYPE_SPARSE)),
    "unknown kind": tar(TOP, header("b/x", b"Z")),
    "name above": tar(TOP, ("../x", b"")),
    "name above inside": tar(TOP, ("b/../x", b"")),
    "top above": tar(("..", None), ("../x", b"")),
    "same folder": tar(TOP, ("b/.", None)),
    "absolute": tar(("/tmp/x", b"")),
    "absolute top": tar(("/b", None)),
    "empty part": tar(TOP, ("b//x", b"")),
    "name twice": tar(TOP, ("b/x", b"1"), ("b/x", b"2")),
    "folder twice": tar(TOP, TOP),
    "file and folder": tar(TOP, ("b/x", b""), ("b/x", None)),
    "file in a file": tar(TOP, ("b/x", b""), ("b/x/y", b"")),
    "two folders": tar(TOP, ("c", None)),
    "file at the top": tar(("x", b"")),
    "no folder before": tar(("b/x", b"")),
    "too deep": tar(TOP, ("b/c", None), ("b/c/d", None), ("b/c/d/x", b"")),
    "folder with content": START + header("b/c", tarfile.DIRTYPE, size=512).tobuf(tarfile.USTAR_FORMAT) + bytes(1536),
    "larger than the file": START + huge(1 << 33) + bytes(1024),
    "larger than 2^64": START + huge(1 << 80) + bytes(1024),
    "below zero": START + huge(-512) + bytes(1024),
    "long name of GNU": tar(("b" * 300, None), format=tarfile.GNU_FORMAT),
    "long name of GNU that claims 8 GiB": START + huge(1 << 33, tarfile.GNUTYPE_LONGNAME) + bytes(1024),
    "PAX header": tar(TOP, header("b/x", pax_headers={"path": "/etc/x"}), format=tarfile.PAX_FORMAT),
    "PAX header that claims 8 GiB": START + huge(1 << 33, tarfile.XHDTYPE) + bytes(1024),
    "global PAX header": START + huge(0, tarfile.XGLTYPE) + bytes(1024),
    "no Unicode": START + header("b/x").tobuf(tarfile.USTAR_FORMAT, "latin-1").replace(b"b/x", b"b/\xff") + bytes(1024),
    "gzip": gzip.compress(SOUND),
    "text": b"index.msgpack\n" * 100,
    "nothing": b"",
    "no entries": bytes(10240),
    "cut in a header": SOUND[:700],
    "cut in a file": SOUND[:2100],
    "cut after a file": SOUND[:1536],
    "two tars": SOUND + SOUND,
    "altered name": SOUND.replace(b"models/0000", b"models/0001"),
}


def unpack_into(folder: Path, content: bytes) -> Path:
    return unpack_tar(io.BytesIO(content), Path("sensor.tar"), folder)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT])
def test_files_are_those_of_the_tar(tmp_path: Path, format: int) -> None:
    """Modes and owners do not count: nothing is executable, or somebody else's."""
    first, second = header("b/models/0000.onnx", mode=0o6777, uid=0), header("b/.hidden", mode=0, size=0)
    folder = unpack_into(tmp_path, tar(TOP, ("b/models", None), first, second, ("b/x", b"1" * 1024), format=format))

    files = {file.relative_to(tmp_path).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    assert {name: file.read_bytes() for name, file in files.items()} == {
        "b/models/0000.onnx": b"",
        "b/.hidden": b"",
        "b/x": b"1" * 1024,
    }
    assert {0} == {file.stat().st_mode & 0o7111 for file in files.values()}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_what_no_bundle_has_is_refused(tmp_path: Path, content: bytes) -> None:
    """Nothing is written outside of the folder, and what is in it are plain files."""
    (tmp_path / "into").mkdir()

    with pytest.raises(BundleFormatError, match=r"^sensor.tar must be a tar file as `polydom pack` writes it"):
        unpack_into(tmp_path / "into", content)
    assert [tmp_path / "into"] == [*tmp_path.iterdir()]
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


def test_sound_tar_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    for end in range(0, 3 * tarfile.BLOCKSIZE + 1, 100):
        (tmp_path / str(end)).mkdir()

        with pytest.raises(BundleFormatError):
            unpack_into(tmp_path / str(end), SOUND[:end])


def test_numbers_and_sizes_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_ENTRIES", 3)
    with pytest.raises(BundleFormatError, match=r"the entry 'b/models/0000\.onnx'"):
        unpack_into(tmp_path, SOUND)

    monkeypatch.setattr(packed, "MAX_TAR_BYTES", len(SOUND) - 1)
    with pytest.raises(BundleFormatError, match=f"at most {len(SOUND) - 1} bytes. Got {len(SOUND)}"):
        unpack_into(tmp_path, SOUND)


def pack(folder: Path, target: Path) -> Path:
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as archive:
        archive.add(folder, folder.name)
    return target


def test_temporary_folder_is_gone_afterwards(
    tmp_path: Path, bundles: list[Bundle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert bundles[0].path is not None
    file = pack(bundles[0].path, tmp_path / "0.tar")

    with unpacked(file) as folder:
        assert bundles[0].path.name == folder.name
        assert len(bundles[0].models) == len([*folder.glob("models/*")])
    assert [file] == [*tmp_path.iterdir()]

    file.write_bytes(file.read_bytes()[:3000])
    with pytest.raises(BundleFormatError), unpacked(file):
        pass
    assert [file] == [*tmp_path.iterdir()]


def test_what_is_no_file_is_left_to_the_loader(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with unpacked(path) as folder:
            assert path == folder


def test_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "x.tar").write_bytes(SOUND)
    monkeypatch.setattr(packed, "new_file", full)

    with (
        pytest.raises(UpdateError, match=r"space for its content in .*No space left.* TMPDIR"),
        unpacked(tmp_path / "x.tar"),
    ):
        pass


class Counting(io.BytesIO):
    """Counts the bytes that are read."""

    read_bytes = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.read_bytes += len(data)
        return data


STATED = replace(STATEMENT, files={"index": FileDigest.of(bytes(1 << 22)), "more/0": FileDigest.of(b"x")})


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ((("b/signature.json", signature(STATED, STRANGER)),), "must be signed by a trusted key"),
        ((), "There is no signature.json"),
        ((("b/signature.json", b"[" * (1 << 22)),), "as `polydom sign` writes it"),
        ((("b/signature.json", bytes(5 << 20)),), "must have at most"),
        ((("b/signature.json", signature(STATED)), ("b/y", b"")), "not signed: 'y'"),
        ((("b/signature.json", signature(replace(STATED, files={"index": STATED.files["index"]}))),), "not signed"),
        (
            (("b/signature.json", signature(replace(STATED, files={**STATED.files, "more/0": FileDigest.of(b"")}))),),
            "more/0 must be the file that was signed",
        ),
    ],
    ids=["stranger", "unsigned", "no JSON", "large", "one more file", "one file less", "another size"],
)
def test_before_the_signature_is_checked_only_headers_are_read(
    entries: tuple[Entry, ...], why: str, tmp_path: Path
) -> None:
    """Nothing is unpacked. It was all unpacked first, up to 2 GiB."""
    trust = trust_in(tmp_path, public(OWNER))
    (tmp_path / "into").mkdir()
    stream = Counting(tar(TOP, ("b/index", bytes(1 << 22)), ("b/more", None), ("b/more/0", b"x"), *entries))

    with pytest.raises(SignatureError, match=why):
        unpack_tar(stream, Path("sensor.tar"), tmp_path / "into", trust)
    signature_bytes = sum(len(entry[1] or b"") for entry in entries[:1] if isinstance(entry, tuple))
    assert stream.read_bytes <= min(signature_bytes + 8 * tarfile.BLOCKSIZE, packed.MAX_UNCHECKED_BYTES)
    assert [*(tmp_path / "into").iterdir()] == []


def test_tar_that_a_trusted_key_has_signed_is_unpacked(tmp_path: Path) -> None:
    trust, into = trust_in(tmp_path, public(OWNER)), tmp_path / "into"
    into.mkdir()
    content = tar(
        TOP, ("b/index", bytes(1 << 22)), ("b/more", None), ("b/more/0", b"x"), ("b/signature.json", signature(STATED))
    )

    assert into / "b" == unpack_tar(io.BytesIO(content), Path("sensor.tar"), into, trust)
    assert (into / "b" / "more" / "0").read_bytes() == b"x"
