"""A finding about a machine, and the report of several."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from polydom_runtime.causes import printable
from polydom_runtime.codec.marks import AnyText

Level = Literal["ok", "warning", "problem"]
WORST_FIRST: tuple[Level, ...] = ("problem", "warning", "ok")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: the state that was found, and why it matters for deadlines."""

    check: AnyText
    level: Level
    """``problem``: answers will fail or miss deadlines; ``warning``: they may be late at times; ``ok``."""
    found: AnyText
    why: AnyText
    fix: AnyText = ""
    """The command or setting that corrects it; empty if all is ok."""


def finding(check: str, level: Level, found: str, why: str, fix: str = "") -> Finding:
    """Return a finding; without the fix if the level is ``ok``."""
    return Finding(check, level, found, why, "" if level == "ok" else fix)


def as_text(findings: Iterable[Finding]) -> str:
    """Return a report, the worst findings first; a finding that is ok takes one line.

    >>> print(as_text([Finding("numpy", "ok", "2.4.6", ""), Finding("swap", "warning", "1 GB", "slow", "swapoff -a")]))
    warning  swap   1 GB
                    why: slow
                    fix: swapoff -a
    ok       numpy  2.4.6
    problem: 0, warning: 1, ok: 1
    """
    ranked = sorted(findings, key=lambda f: WORST_FIRST.index(f.level))
    width = max((len(f.check) for f in ranked), default=0)
    margin = " " * (9 + width + 2)
    lines = []
    for f in ranked:
        lines.append(f"{f.level:8} {f.check:{width}}  {printable(f.found)}")
        if f.level != "ok":
            lines += [f"{margin}why: {printable(f.why)}", f"{margin}fix: {printable(f.fix)}"]
    levels = [f.level for f in ranked]
    return "\n".join([*lines, ", ".join(f"{level}: {levels.count(level)}" for level in WORST_FIRST)])


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 1 if there is a problem, else 0: a script should not stop at warnings."""
    return int(any(f.level == "problem" for f in findings))
