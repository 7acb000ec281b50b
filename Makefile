# make run and make test set everything up by themselves: a virtual environment in .venv with this
# package (editable) and what the target needs. PYTHON=python3.12 VENV=.venv312 choose another one.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
SHARE ?= today/7

SHIM := $(shell find native include -name '*.[ch]')
C_FILES := $(SHIM) $(wildcard tests/*/*.c benchmarks/*/*.[ch] benchmarks/*/*/*.[ch])
NATIVE := $(SHIM) $(wildcard native/*.py) setup.py pyproject.toml
INSTALLED := $(VENV)/.installed
WITH_TESTS := $(VENV)/.with-tests
WITH_LINT := $(VENV)/.with-lint
WITH_BENCH := $(VENV)/.with-bench

# what `make quick` runs; the other tiers select from all tests (docs/testing.md#tiers)
QUICK := tests/test_quick.py tests/test_floors.py tests/test_tiers.py

.DEFAULT_GOAL := run
.PHONY: run quick test test-all test-share check-onednn sanitize avx2 mutate fuzz build lint format bench \
    bench-guard bench-peers bound docs docs-onednn wheel clean

run: $(INSTALLED)  ## train and run LeNet on real digits
	$(BIN)/python examples/train_digits.py $(ARGS)

quick: $(WITH_TESTS)  ## in a minute: each operator once, some graphs, what may import what
	$(BIN)/python -m pytest -q -n $(JOBS) $(QUICK) $(ARGS)

test: $(WITH_TESTS)  ## a sample of all tests, each day another: every operator, kind and request
	$(BIN)/python -m pytest -n $(JOBS) --tier test $(ARGS)

test-all: $(WITH_TESTS)  ## every test, with sanitizers, with the kernels of AVX2, with each mutation
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)
	$(MAKE) sanitize avx2 mutate

test-share: $(WITH_TESTS)  ## of what make test leaves out today one part of SHARE
	$(BIN)/python -m pytest -n $(JOBS) --tier rest --share $(SHARE) $(ARGS)

avx2: $(WITH_TESTS)  ## operators as a machine without AVX-512 computes them, and on levels between
	JOBS=$(JOBS) .ci/avx2 $(BIN)/python $(ARGS)

# a thread that waits for another should not spin: there are processes beside it
check-onednn: $(WITH_TESTS)  ## oneDNN's kernels in guarded memory, against NumPy (docs/testing.md)
	GOMP_SPINCOUNT=0 $(BIN)/python -m tests.onednn --jobs $(JOBS) $(ARGS)

sanitize: $(WITH_TESTS)  ## tests of storage and arrays with ASan and UBSan, in build/sanitize
	JOBS=$(JOBS) .ci/sanitize $(BIN)/python

mutate: $(WITH_TESTS)  ## which tests fail when one rule of the array contract is switched off
	$(BIN)/python -m tests.properties.mutations $(ARGS)

fuzz: $(WITH_TESTS)  ## readers of files under random bytes, ten minutes each; needs atheris
	$(BIN)/python -m pip install --quiet --editable ".[dev-fuzz]"
	$(BIN)/python -m tests.fuzz $(ARGS)

build: $(INSTALLED)  ## the compiled extension, in place

lint: $(WITH_LINT)  ## ruff, mypy --strict, clang-format, C warnings as errors
	$(BIN)/ruff check .
	$(BIN)/mypy
	NDRT_WERROR=1 $(BIN)/python setup.py --quiet build_ext --build-temp build/lint --build-lib build/lint
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)

format: $(WITH_LINT)
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(C_FILES)

bench: $(WITH_BENCH)  ## beside other runtimes and the raw C program; see benchmarks/README.md
	$(BIN)/python -m benchmarks $(ARGS)

bench-guard: $(WITH_BENCH)  ## what each pass and kernel gains here, and whether one costs more than it gains
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.guard $(ARGS)

bench-peers: $(BIN)/python  ## environments of the other runtimes, in benchmarks/.venvs
	$(BIN)/python -m benchmarks.peers $(ARGS)

bound: $(WITH_BENCH)  ## that C program alone, and the one that only counts memory
	$(BIN)/python benchmarks/bound/build.py bound
	$(BIN)/python benchmarks/bound/build.py channels

docs: $(INSTALLED)  ## what is written from the registry: lists in docs, type stubs
	$(BIN)/python docs/generate.py

docs-onednn: $(WITH_TESTS)  ## docs/onednn.md: what computes each operator in the harness's cases; some minutes
	$(BIN)/python docs/onednn.py

wheel: $(BIN)/python  ## dist/*.whl as an index takes it
	$(BIN)/python .ci/build_wheel.py . dist

clean:
	rm -rf $(VENV) build dist *.egg-info ndarray_rt/*.so benchmarks/bound/build \
	    benchmarks/.cache benchmarks/.venvs

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || (rm -rf $(VENV); exit 1)

$(INSTALLED): $(BIN)/python $(NATIVE)
	$(BIN)/python -m pip install --quiet --editable ".[plot,progress]"
	touch $@

$(WITH_TESTS): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[dev-test]"
	touch $@

$(WITH_LINT): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[dev-lint]"
	touch $@

$(WITH_BENCH): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[dev-build,onnx]"
	touch $@
