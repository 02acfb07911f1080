# Two virtual environments are made here: .venv for the host, .venv-node with nothing but the runtime's wheel.
PYTHON ?= python3
HOST := .venv/bin
NODE := .venv-node/bin
PIP := -m pip --quiet --disable-pip-version-check
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo vibration flights docs test test-all fuzz coverage test-x86 test-aarch64 test-armhf check bench bench-aarch64 clean
demo: .venv/.ready .venv-node/.ready
	$(HOST)/polydom demo --node $(NODE)/python --jobs -1

# Whole examples, each with a page: examples/vibration/README.md, examples/flights/README.md.
vibration flights: .venv/.ready
	$(HOST)/python -m examples.$@

# The site in build/docs, without a network once the environment is there.
docs: .venv/.ready
	$(HOST)/sphinx-build -W --keep-going -q -j auto -c docs . build/docs

# The notebook of the tutorial, run again.
docs/tutorial.ipynb: docs/tutorial.md .venv/.ready
	$(HOST)/python -m docs.extensions.notebook

# One worker a core, at most four; a file of tests stays with one worker, so that its fixtures are made once.
# Libraries with threads of their own get one, as in a worker of a build: otherwise they wait for each other.
test test-all fuzz coverage: export OMP_NUM_THREADS ?= 1
test test-all coverage: export POLYDOM_NODE_PYTHON ?= $(CURDIR)/$(NODE)/python
# The many processes that tests start are not compiled anew each time.
test test-all coverage: export PYTHONDONTWRITEBYTECODE :=
PYTEST = $(HOST)/python -m pytest
WORKERS := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Every law and every fault. Whole runs of the examples (marked end_to_end) are left to test-all.
test: .venv/.ready .venv-node/.ready
	$(PYTEST) $(WORKERS) -m "not end_to_end"

# These and the whole runs of the examples: the README's three files and three commands, the demo, the experiments.
# Then a minute of changed files.
test-all: export POLYDOM_DRAWS := every
test-all: .venv/.ready .venv-node/.ready
	$(PYTEST) $(WORKERS)
	$(HOST)/python -m tests.fuzz --minutes 1

# Changed files of every format, others each time; a finding can be repeated by the name of its file in build/fuzz.
fuzz: MINUTES ?= 10
fuzz: SEED ?= $(shell date +%s)
fuzz: .venv/.ready
	$(HOST)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED)

# All tests in one process with branch coverage, which takes half as long again.
coverage: .venv/.ready .venv-node/.ready
	$(HOST)/python -m coverage run -m pytest
	$(HOST)/python -m coverage report --skip-covered --sort=cover

# What depends on arithmetic, without newer instructions and on emulated older processors; some minutes.
test-x86: export OMP_NUM_THREADS ?= 1
test-x86: .venv/.ready
	$(HOST)/python -m tests.x86.run

# The runtime's tests and two bundles on emulated Raspberry Pi processors, in Debian's arm64 userland; a few minutes.
# Where that cannot be set up it says SKIPPED and why, and ends with "Error 77": what was skipped has not passed.
test-aarch64: .venv/.ready
	$(HOST)/python -m tests.aarch64.run

# The same on an emulated 32-bit processor, where there is no onnxruntime and models run in numpy.
test-armhf: .venv/.ready
	$(HOST)/python -m tests.armhf.run

check: .venv/.ready
	$(HOST)/ruff check .
	$(HOST)/ruff format --check .
	$(HOST)/mypy

bench: .venv/.ready .venv-node/.ready
	POLYDOM_NODE_PYTHON=$(CURDIR)/$(NODE)/python $(HOST)/python -m tests.benchmarks --record benchmarks.jsonl

# Costs of an emulated device: measured there, built here, run there; seven minutes, figures only.
bench-aarch64: .venv/.ready
	$(HOST)/python -m tests.aarch64.device

# Says what is set up, and shows the output of the commands only if one fails.
quietly = @echo "Setting up $(1) ..."; log=$$(mktemp); { $(2); } >$$log 2>&1; code=$$?; \
	[ $$code = 0 ] || cat $$log >&2; rm $$log; exit $$code

.venv/.ready: pyproject.toml runtime/pyproject.toml builder/pyproject.toml
	$(call quietly,the host's environment in .venv (about a minute),$(PYTHON) -m venv .venv \
		&& $(HOST)/python $(PIP) install --upgrade 'pip>=25.1' \
		&& $(HOST)/python $(PIP) install -e runtime -e builder --group dev)
	@touch $@

# A wheel, not an editable install: the node must run with what a user would get.
.venv-node/.ready: .venv/.ready runtime/pyproject.toml $(wildcard runtime/polydom_runtime/*.py runtime/polydom_runtime/*/*.py)
	$(call quietly,the node's environment in .venv-node (about ten seconds),rm -rf build/wheels runtime/build .venv-node \
		&& $(HOST)/python $(PIP) wheel --no-deps --wheel-dir build/wheels ./runtime \
		&& $(PYTHON) -m venv .venv-node \
		&& $(NODE)/python $(PIP) install build/wheels/*.whl)
	@touch $@

clean:
	rm -rf .venv .venv-node build .cache .coverage runtime/build builder/build
