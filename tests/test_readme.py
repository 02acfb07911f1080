"""The README's Python is run as it is written, file by file, in a folder of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_readme_examples_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(# (\w+\.py)\n.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert [name for _, name in blocks] == ["tones.py", "build.py", "node.py"]

    for code, name in blocks:
        (tmp_path / name).write_text(code)
        done = subprocess.run(
            [sys.executable, "-W", "error", name],
            cwd=tmp_path,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr

    assert done.stdout.split()[0] in ("low", "middle", "high")  # the prior, should the machine be too busy
