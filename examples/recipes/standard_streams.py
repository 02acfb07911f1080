"""Answers for a program in any language: items as JSON lines to standard input, answers as JSON lines from its output.

    python standard_streams.py my.bundle my_module:space

In a shell the same is: your_sensor | polydom-node run my.bundle my_module:space --items - | your_program
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any


def answers(bundle: str, space: str, items: Iterable[list[float]]) -> Iterator[dict[str, Any]]:
    """Yield the answer to each item, and the summary at the end."""
    command = [sys.executable, "-m", "polydom_runtime", "run", bundle, space, "--items", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        for item in items:
            node.stdin.write(json.dumps(item) + "\n")
            yield json.loads(node.stdout.readline())
        node.stdin.close()  # the end of the items
        yield json.loads(node.stdout.readline())


if __name__ == "__main__":
    for answer in answers(sys.argv[1], sys.argv[2], ([float(i % 7) for i in range(n)] for n in (50, 100, 200))):
        print(answer)
