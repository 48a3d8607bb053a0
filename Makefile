# Two commands for a new user: `make run` and `make test`. Both set up what they need.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# An environment keeps its Python until another is named: `make test PYTHON=python3.12` makes it anew with that one.
ifeq ($(wildcard $(BIN)/python),)
export PYTHON ?= $(shell tools/newest_python.sh)
else
export PYTHON ?= $(BIN)/python
version = $(shell $(1) -c 'import sys; print(*sys.version_info[:2])')
ifneq ($(call version,$(PYTHON)),$(call version,$(BIN)/python))
OTHER_PYTHON := other-python
endif
endif
# An installation for editing names the file of each module. One that is gone, as after a pull that moved it, fails imports.
MODULES := $(wildcard $(VENV)/lib/python*/site-packages/_editable_skbc_*.py)
ifneq ($(MODULES),)
MOVED := $(shell grep -o "'/[^']*\.py'" $(MODULES) | tr -d "'" | while read -r file; do [ -e "$$file" ] || { echo moved; break; }; done)
endif
NATIVE := $(wildcard native/*/*.cpp native/*/*.hpp)
SOURCES := $(NATIVE) CMakeLists.txt pyproject.toml constraints.txt
# What tests need is installed in one go with the rest: a second installation would compile native code again.
EXTRA := $(if $(filter test test-full fuzz check snapshots,$(MAKECMDGOALS)),test,line)
# Newer than the one of pyproject.toml, whose headers are those of libclang 18: it leaves out what other headers declare.
# That takes a third of the CPU time. Its own folder keeps the two apart.
CLANG_TIDY_VERSION := 23.1.4
CLANG_TIDY_FOLDER := $(VENV)/clang-tidy-$(CLANG_TIDY_VERSION)
CLANG_TIDY := $(CLANG_TIDY_FOLDER)/clang_tidy/data/bin/clang-tidy
TIDY := $(patsubst native/%/,build/tidy/%.ok,$(sort $(dir $(filter %.cpp,$(NATIVE)))))

# Installed modules are compiled when they are first imported, which this would undo: each process would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-full fuzz check types style snapshots ui setup clean system-packages other-python moved

run: setup
	$(BIN)/megacpp run

setup: $(STAMP)

system-packages:
	@tools/system_packages.sh $(if $(filter test test-full,$(MAKECMDGOALS)),test,run)

other-python:
	rm -rf $(VENV)

moved:
	@echo "Modules have moved since $(VENV) was set up"

$(STAMP): $(SOURCES) $(OTHER_PYTHON) $(MOVED) | system-packages
	@# Without pip, its creation was interrupted: it is made anew.
	$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Setting up $(VENV) with $$($(BIN)/python --version) ($(PYTHON)); packages and compilation take some minutes"
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRA)]'
	echo '$(EXTRA)' > $@

$(VENV)/.test-installed: $(STAMP)
	grep -q test $< || \
		$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --no-deps megatron-core==0.16.1
	touch $@

# What tests compare with the code: generated pages, sources of the reports, graphs of Dagster, hashes of the sample's files.
snapshots: $(VENV)/.test-installed
	$(BIN)/python tools/write_docs.py
	$(BIN)/python -m megacpp_assets.reports.sources_file
	$(BIN)/python -m tests.defs.reports.graph
	$(BIN)/python -m tests.defs.test_definitions
	$(BIN)/python tests/pipeline/golden.py --write

check: $(VENV)/.test-installed
	@$(MAKE) --jobs=2 --output-sync --no-print-directory types style $(TIDY)

$(CLANG_TIDY): | $(VENV)/.test-installed
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --no-deps --target $(CLANG_TIDY_FOLDER) \
		clang-tidy==$(CLANG_TIDY_VERSION)

types:
	$(BIN)/mypy

style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	@$(BIN)/clang-format --dry-run --Werror $(NATIVE)

# The files of a folder are one unit: most of the time goes to the headers of the standard library and of nanobind, which
# are read once a folder, not once a file. A folder is looked at again when it, a header or the rules have changed.
.SECONDEXPANSION:
build/tidy/%.ok: $$(wildcard native/%/*.cpp) $(filter %.hpp,$(NATIVE)) .clang-tidy pyproject.toml | $(VENV)/.test-installed $(CLANG_TIDY)
	@echo "clang-tidy native/$*"
	@mkdir -p $(@D)
	@printf '#include "../../%s" // NOLINT(bugprone-suspicious-include)\n' $(filter native/$*/%.cpp,$^) > build/tidy/$*.cpp
	@$(CLANG_TIDY) --quiet build/tidy/$*.cpp -- -std=c++20 -isystem $$($(BIN)/python -m nanobind --include_dir) \
		-isystem $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))') >$@.log 2>&1 \
		|| { cat $@.log; exit 1; }
	@mv $@.log $@

# An hour is the end: pytest prints what failed so far. One worker more than cores, as tests also wait.
PYTEST := $(BIN)/python -m pytest -n $$(($$(nproc) + 1)) --dist loadfile --no-loadscope-reorder --durations=25

test: check
	timeout --foreground --signal=INT 3600 $(PYTEST)

# With the long campaigns: every fault at every place, every seed, and hostile inputs at their full size.
test-full: export MEGACPP_FULL_TESTS := 1
test-full: check
	$(PYTEST) -m "campaign or not campaign"

# New random examples for the property tests: `make fuzz MINUTES=60`.
MINUTES ?= 10
fuzz: $(VENV)/.test-installed
	@tools/fuzz.sh $(BIN)/python $(MINUTES)

ui: setup
	$(BIN)/megacpp ui

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
