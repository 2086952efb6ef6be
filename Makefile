# Set-up, main job and tests; needs git, make, Python >= 3.11 with venv, and g++ >= 11.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard native/*/*.?pp native/*/*/*.?pp)
CPP := $(NATIVE) $(wildcard tests/native/*.?pp)
FUZZ_SECONDS ?= 600
# Modules are compiled once, not by each of the processes that tests begin.
unexport PYTHONDONTWRITEBYTECODE
# Python with the packages of build/sanitized, and tests of what they do in the core.
SANITIZED = PYTHONPATH=$(CURDIR)/build/sanitized ASAN_OPTIONS=detect_leaks=0 \
	LD_PRELOAD="$(foreach each,asan stdc++,$(shell g++ -print-file-name=lib$(each).so))" $(BIN)/python
CORE := batch exact hierarchy masks optima optimum prior quantised solving sparse verify

.PHONY: run test test-core check lint docs fuzz sanitize sanitized threads clean

run: $(VENV)/.installed
	$(BIN)/python -m experiments.run --layer mobilenetv2_l2 --objective edp

# Linters, types and the suite, in minutes; on all processors.
test: lint
	$(BIN)/pytest -rs -n auto --dist worksteal

# The same without the wing: what four papers need, which no other part imports.
test-core: lint
	$(BIN)/pytest -rs -n auto --dist worksteal --ignore tests/papers

# Everything, slow tests included.
check: lint docs
	$(BIN)/pytest -rs -n auto --dist worksteal -m "slow or not slow"

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy

# The site of docs/, in build/site; a link that leads nowhere is an error. A fresh environment, as
# Sphinx warns only about pages that it reads again.
docs: $(VENV)/.installed
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env -d build/doctrees docs build/site

# Needs clang with libFuzzer; installs atheris, which is libFuzzer for Python. It learns nothing under
# sanitizers, so they see what it has learnt.
fuzz: sanitized
	$(BIN)/pip install --quiet --constraint constraints.txt atheris onnx
	$(BIN)/python tests/fuzz_evaluator.py --seconds $(FUZZ_SECONDS)
	$(BIN)/python tests/fuzz_files.py --seconds $(FUZZ_SECONDS)
	$(SANITIZED) tests/fuzz_files.py --seconds 1

# The address and undefined-behaviour sanitizers: random inputs, searches, proofs and their checker.
sanitize: sanitized
	$(SANITIZED) tests/fuzz.py --actions 100000 --lists 10000
	$(SANITIZED) -P -m pytest -rs -k "not under_a_second" $(wildcard $(CORE:%=tests/test_%*.py))

# Copies of the packages, with a core of their own.
sanitized: $(VENV)/.installed
	MAPPING_SANITIZE=1 $(BIN)/python setup.py --quiet build --build-lib build/sanitized

# Threaded batches under ThreadSanitizer.
threads: $(VENV)/.installed
	$(BIN)/python tests/threads.py

# The objects of the last build are kept: what no edit concerns is not compiled again.
$(VENV)/.installed: $(VENV)/.packages $(NATIVE) setup.py
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

# What builds comes first and stays: in an environment of the build's own, whose headers are gone
# afterwards, the bindings would be compiled twice. The rest in one go under the constraints, so
# that nothing pulls another torch.
$(VENV)/.packages: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt 'pybind11>=2.13' 'setuptools>=77'
	$(BIN)/pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info maestro_env/*.so
