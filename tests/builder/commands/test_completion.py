"""Completion of both programs in a real shell."""

import subprocess
from pathlib import Path

import pytest

from polydom_builder.__main__ import main as host_main
from polydom_runtime.__main__ import main

COMPLETE = """
source /dev/stdin
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_POINT=0 COMP_LINE="$*"
$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/') "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("program", ["polydom", "polydom-node"])
def test_completion_works_in_bash(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_host = program == "polydom"
    with pytest.raises(SystemExit) as ended:
        (host_main if of_host else main)(["--print-completion", "bash"])
    script = capsys.readouterr().out
    assert ended.value.code == 0

    def completed(*words: str) -> list[str]:
        line = ["bash", "-c", COMPLETE, "bash", program, *words]
        done = subprocess.run(line, input=script, capture_output=True, text=True, cwd=tmp_path, check=True)
        return [word.rstrip() for word in done.stdout.splitlines()]

    assert completed("ins") == (["inspect"] if of_host else ["install"])
    assert completed("evaluate" if of_host else "run", "--pol") == ["--policy"]
