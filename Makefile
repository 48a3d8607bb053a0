# Two commands for a new user: `make run` and `make test`. Both set up what they need.
export PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOURCES := $(wildcard native/*/*.cpp native/*/*.hpp) CMakeLists.txt pyproject.toml constraints.txt

# Installed modules are compiled when they are first imported, which this would undo: each process would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test check ui setup clean system-packages

run: setup
	$(BIN)/megacpp run

setup: $(STAMP)

system-packages:
	@tools/system_packages.sh $(if $(filter test,$(MAKECMDGOALS)),test,run)

$(STAMP): $(SOURCES) | system-packages
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.test-installed: $(STAMP)
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --no-deps megatron-core==0.16.1
	touch $@

check: $(VENV)/.test-installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: check
	$(BIN)/python -m pytest -n 2 --dist loadfile

ui: setup
	$(BIN)/megacpp ui

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
