# `make demo` and `make test` work on a fresh machine: each sets up .venv first.
PY ?= python3
VENV := .venv
BIN := $(VENV)/bin
# two test processes side by side: linear algebra on two threads each would be several times slower
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help demo test test-slow bench lint types imports wheel clean setup setup-dev

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	$(PY) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[report,serve,dev]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[report,serve,dev,bench]'
	@touch $@

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

demo: setup ## generate a shop, train, evaluate, answer some queries
	$(BIN)/xmach demo

lint: setup-dev ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint ## every check and test but the slow ones
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: setup-dev ## the tests that need long runs or much memory
	$(BIN)/python -m pytest -m slow

bench: $(VENV)/.installed-bench ## the benchmarks and the paper's tables; writes build/bench
	$(BIN)/python -m benchmarks

wheel: setup-dev ## build the wheel into dist/
	$(BIN)/python -m build --wheel

clean: ## remove what was built
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache
