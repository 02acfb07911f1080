"""The wire format of protobuf is read as it is written, and nothing beyond the end of a message."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.graph import Graph
from polydom_runtime.kernels.wire import FIRST_WINDOW, MAX_FIELDS, Field, fields, varints


def varint(number: int) -> bytes:
    number %= 1 << 64
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def read(data: bytes) -> list[Field]:
    return list(fields(memoryview(data)))


def test_fields_of_all_kinds_are_read_in_order() -> None:
    number, text, real = read(b"\x08" + varint(-5) + b"\x12\x02ab" + b"\x1d" + struct.pack("<f", 0.5))

    assert (number.tag, number.number) == (1, -5)
    assert (text.tag, text.text, bytes(text.data)) == (2, "ab", b"ab")
    assert (real.tag, real.real) == (3, 0.5)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60))
def test_packed_numbers_are_read_as_they_were_written(numbers: list[int]) -> None:
    assert varints(memoryview(b"".join(map(varint, numbers)))).tolist() == numbers


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=FIRST_WINDOW), st.binary(max_size=3))
def test_numbers_side_by_side_come_as_if_they_were_packed(numbers: list[int], text: bytes) -> None:
    data = b"".join(b"\x40" + varint(n) for n in numbers) + b"\x22" + varint(len(text)) + text
    run, other = read(data)

    assert (run.tag, varints(run.data).tolist()) == (8, numbers)
    assert (other.tag, bytes(other.data)) == (4, text)


@pytest.mark.parametrize("count", [2, 50, 51, 52, 1000])
def test_reals_side_by_side_come_as_if_they_were_packed(count: int) -> None:
    data = b"".join(b"\x3d" + struct.pack("<f", k) for k in range(count)) + b"\x08\x07"
    run, other = read(data)

    assert struct.unpack(f"<{count}f", run.data) == tuple(range(count))
    assert (other.tag, other.number) == (1, 7)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x08", "unfinished"),
        (b"\x08" + b"\xff" * 10, "at most 64 bits"),
        (b"\x08" + b"\xff" * 9 + b"\x02", "at most 64 bits"),
        (b"\x12\x05ab", "5 bytes of a field. Got 2"),
        (b"\x12" + varint(2**40), "1099511627776 bytes"),
        (b"\x1d\x00\x00", "4 bytes of a field"),
        (b"\x0b\x00", "wire type 3"),
        (b"\x40\x01\x40\x01\x40", "unfinished"),
    ],
)
def test_what_is_no_message_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(BundleFormatError, match=said):
        read(data)


@pytest.mark.parametrize("key", [b"\x88\x00", b"\x88\x80\x00", b"\x80\x01", b"\x85\x08"], ids=bytes.hex)
def test_keys_of_several_bytes_are_read_once(key: bytes) -> None:
    """Their first byte may look like a number of the same field, which is read with others at once."""
    content = b"\x01\x02\x03\x04" if key[0] & 7 == 5 else b"\x01"

    assert len(read((key + content) * 3)) == 3


def test_value_of_another_type_is_refused() -> None:
    (text,) = read(b"\x12\x01\xff")

    for of in (lambda: text.number, lambda: text.real, lambda: text.text):
        with pytest.raises(BundleFormatError, match="sound ONNX"):
            of()
    with pytest.raises(BundleFormatError, match="bytes"):
        read(b"\x08\x01")[0].data  # noqa: B018


def test_cut_off_packed_number_is_refused() -> None:
    with pytest.raises(BundleFormatError, match="64 bits"):
        varints(memoryview(b"\x01\x80"))


def test_a_model_of_very_many_fields_is_refused_before_most_of_them_are_read() -> None:
    """Each takes a microsecond or so: a file of some megabytes could keep a node busy for a minute."""
    data = b"\x08\x01\x10\x01" * (MAX_FIELDS // 2 + 1)

    with pytest.raises(BundleFormatError, match="at most 524288 fields"):
        Graph.read(data)
