# `make demo` and `make test` work on a fresh machine: each sets up .venv first.
PY ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUDO := $(if $(filter 0,$(shell id -u)),,sudo -n)
# two test processes side by side: linear algebra on two threads each would be several times slower
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help demo serve test test-browser test-slow bench lint types imports wheel clean setup setup-dev

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	$(PY) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-serve: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[serve]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[report,serve,dev]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[report,serve,dev,bench]'
	@touch $@

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

DEMO := build/demo-shop
demo: setup ## generate a shop, train, evaluate, answer some queries
	@rm -rf $(DEMO)
	$(BIN)/xmach demo --model $(DEMO)
	@echo "to search this shop in a browser: make serve"

$(DEMO)/manifest.json: | $(VENV)/.installed
	$(BIN)/xmach demo --model $(DEMO)

serve: $(DEMO)/manifest.json $(VENV)/.installed-serve ## the shop of the demo as a service, with a search page
	$(BIN)/xmach serve $(DEMO)

lint: setup-dev ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint ## every check and test but the slow ones
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: setup-dev ## the tests that need long runs or much memory
	$(BIN)/python -m pytest -m slow

BROWSER := env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium chromium-driver
test-browser: setup-dev ## the search page in a headless Chromium, which is installed from the distribution if missing
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  echo "installing chromium and chromium-driver"; \
	  $(SUDO) apt-get update -qq && $(SUDO) $(BROWSER) -qq >/dev/null || echo "they cannot be installed: tests will be skipped"; }
	$(ONE_THREAD) $(BIN)/python -m pytest -m browser tests/browser

bench: $(VENV)/.installed-bench ## the benchmarks and the paper's tables; writes build/bench
	$(BIN)/python -m benchmarks

wheel: setup-dev ## build the wheel into dist/
	$(BIN)/python -m build --wheel

clean: ## remove what was built
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache
