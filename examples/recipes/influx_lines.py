"""Answers as InfluxDB's line protocol, to a file or to Telegraf's socket listener (TCP).

polydom-node run my.bundle my_module:space --items sensor:read | python influx_lines.py pump3 host:8094
polydom-node run my.bundle my_module:space --items sensor:read | python influx_lines.py pump3 - >> pump3.lp
"""

import json
import socket
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any


def line(node: str, answer: dict[str, Any], at_ns: int) -> str:
    """Return an answer as a line: measurement, tags, fields, time in nanoseconds since 1970."""
    fields = {
        "label": answer["label"],
        "confidence": answer["confidence"],
        "elapsed": answer["elapsed_ns"],
        "late": not answer["deadline_met"],
    }
    written = ",".join(f"{name}={field(value)}" for name, value in fields.items() if value is not None)
    return f"polydom,node={tag(node)},reason={tag(answer['reason'])} {written} {at_ns}"


def tag(value: str) -> str:
    """Return the value of a tag: commas, equal signs and spaces are escaped; line ends and backslashes replaced."""
    value = " ".join(value.replace("\\", "/").split()) or "none"
    return "".join(f"\\{c}" if c in ",= " else c for c in value)


def field(value: bool | int | float | str) -> str:
    """Return the value of a field: integers end in i, texts are quoted, with quotes and backslashes escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = " ".join(value.splitlines()).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'
    return f"{value}i" if isinstance(value, int) else repr(value)


def convert(node: str, lines: Iterable[str], write: Callable[[str], object]) -> None:
    """Write each answer of ``polydom-node run``; its summary is left out."""
    for text in lines:
        answer = json.loads(text)
        if "label" in answer:
            write(line(node, answer, time.time_ns()) + "\n")


def main(node: str, place: str) -> None:
    """Read answers from standard input, and write them to a place: HOST:PORT, or - for standard output."""
    if place == "-":
        convert(node, sys.stdin, sys.stdout.write)
        return
    host, _, port = place.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        convert(node, sys.stdin, lambda text: connection.sendall(text.encode()))


if __name__ == "__main__":
    main(*sys.argv[1:3])
