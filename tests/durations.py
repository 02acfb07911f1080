"""How long the tests of each folder took: ``python -m tests.durations build/tests.xml``, as pytest wrote it.

``make test PYTEST_ADDOPTS=--junitxml=build/tests.xml`` writes such a file. The seconds are those of all workers.
"""

import sys
from collections import Counter, defaultdict
from xml.etree import ElementTree

DEEPEST = 3
"""Parts of the names of folders, such as ``tests/runtime/loop``."""


def main(file: str) -> None:
    """Print a line for each folder, the slowest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for case in ElementTree.parse(file).iter("testcase"):
        parts = case.get("classname", "").split(".")[:-1]
        folder = "/".join(parts[: DEEPEST if parts[0] == "tests" else 1])
        seconds[folder] += float(case.get("time", 0.0))
        counts[folder] += 1
    print(f"{'folder':28}{'tests':>7}{'seconds':>9}")
    for folder, took in [*sorted(seconds.items(), key=lambda item: -item[1]), ("all", sum(seconds.values()))]:
        print(f"{folder:28}{counts[folder] or sum(counts.values()):7,}{took:9.1f}")


if __name__ == "__main__":
    main(sys.argv[1])
