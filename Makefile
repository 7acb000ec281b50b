# make run and make test set everything up by themselves: a virtual environment in .venv with this
# package (editable) and what the target needs. PYTHON=python3.12 VENV=.venv312 choose another one.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2

C_FILES := $(wildcard native/*.c include/*.h benchmarks/*/*.[ch] benchmarks/*/*/*.[ch])
NATIVE := $(wildcard native/*.c native/*.py include/*.h) setup.py pyproject.toml
INSTALLED := $(VENV)/.installed
WITH_TESTS := $(VENV)/.with-tests
WITH_LINT := $(VENV)/.with-lint
WITH_BENCH := $(VENV)/.with-bench
WITH_SANITIZE := $(VENV)/.with-sanitize

.DEFAULT_GOAL := run
.PHONY: run test sanitize mutate build lint format bench bench-peers bound docs docs-onednn clean

run: $(INSTALLED)  ## train and run LeNet on real digits
	$(BIN)/python examples/train_digits.py $(ARGS)

test: $(WITH_TESTS)  ## the whole test suite
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

sanitize: $(WITH_SANITIZE)  ## tests of storage and arrays with ASan and UBSan, in build/sanitize
	JOBS=$(JOBS) .ci/sanitize $(BIN)/python

mutate: $(WITH_TESTS)  ## which tests fail when one rule of the array contract is switched off
	$(BIN)/python -m tests.properties.mutations $(ARGS)

build: $(INSTALLED)  ## the compiled extension, in place

lint: $(WITH_LINT)  ## ruff, mypy --strict, clang-format, C warnings as errors
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)

format: $(WITH_LINT)
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(C_FILES)

bench: $(WITH_BENCH)  ## beside other runtimes and the raw C program; see benchmarks/README.md
	$(BIN)/python -m benchmarks $(ARGS)

bench-peers: $(BIN)/python  ## environments of the other runtimes, in benchmarks/.venvs
	$(BIN)/python -m benchmarks.peers $(ARGS)

bound: $(WITH_BENCH)  ## that C program alone, and the one that only counts memory
	$(BIN)/python benchmarks/bound/build.py bound
	$(BIN)/python benchmarks/bound/build.py channels

docs: $(INSTALLED)  ## what is written from the registry: lists in docs, type stubs
	$(BIN)/python docs/generate.py

docs-onednn: $(WITH_TESTS)  ## docs/onednn.md: what computes each operator in the harness's cases; some minutes
	$(BIN)/python docs/onednn.py

clean:
	rm -rf $(VENV) build dist *.egg-info ndarray_rt/*.so benchmarks/bound/build \
	    benchmarks/.cache benchmarks/.venvs

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || (rm -rf $(VENV); exit 1)

# the C sources are built with warnings as errors, so installing checks them too
$(INSTALLED): $(BIN)/python $(NATIVE)
	$(BIN)/python -m pip install --quiet --editable ".[plot,progress]"
	touch $@

$(WITH_TESTS): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

$(WITH_LINT): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[lint,test]"
	touch $@

$(WITH_SANITIZE): $(WITH_TESTS)
	$(BIN)/python -m pip install --quiet setuptools wheel --editable ".[bench]"
	touch $@

$(WITH_BENCH): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@
