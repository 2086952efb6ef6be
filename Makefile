# Set-up, main job and tests; needs git, make, Python >= 3.11 with venv, and g++.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := $(wildcard native/*.?pp native/*/*.?pp) setup.py pyproject.toml constraints.txt

.PHONY: run test clean

run: $(VENV)/.installed
	$(BIN)/python -m experiments.run --layer mobilenetv2_l2 --objective edp

test: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror native/*.?pp native/*/*.?pp
	$(BIN)/mypy
	$(BIN)/pytest

# Everything in one go under the constraints, so that nothing pulls another torch.
$(VENV)/.installed: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info maestro_env/*.so
