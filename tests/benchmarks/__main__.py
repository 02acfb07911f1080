"""``python -m tests.benchmarks [name ...]``: side by side in one run, printed as ratios; nothing here is asserted."""

import importlib
import sys

NAMES = (
    "lookup",
    "predict",
    "startup",
    "supervised",
    "faults",
    "wakeups",
    "records",
    "search",
    "trainings",
    "indexes",
    "scale",
)

for name in sys.argv[1:] or NAMES:
    print(f"\n== {name}")
    importlib.import_module(f"tests.benchmarks.{name}").main()
