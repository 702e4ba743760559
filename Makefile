# Two commands do all the set-up on a fresh machine (Python 3.11+, make, g++): `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PYTHONDONTWRITEBYTECODE = 1

.PHONY: demo test gains test-all lint types docs clean

demo: $(VENV)/.base          ## install and optimise dot_product: cpu device, offline model
	$(BIN)/cudamaster optimize dot_product --device cpu --model offline

test: $(VENV)/.dev           ## the fast suite: no GPU, no network
	$(BIN)/python -m pytest -q -m "not slow and not gpu" -n 2 --dist loadgroup

gains: $(VENV)/.dev          ## twelve units that the offline model improves by the cpu device's estimate
	$(BIN)/python -m pytest -q -n 2 tests/models/offline/test_subset.py

test-all: $(VENV)/.dev       ## everything that this machine can run
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup --timeout=1200

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The checkout's folder name must not matter to the type checker: it sees the package through a link.
types: $(VENV)/.dev
	mkdir -p $(VENV)/pkg && ln -sfn "$(CURDIR)" $(VENV)/pkg/cudamaster
	MYPYPATH=$(VENV)/pkg $(BIN)/mypy --cache-dir $(VENV)/mypy -m cudamaster -m cudamaster.cli \
	  $(foreach layer,benchmark tools prompts models nodes graph evals,-p cudamaster.$(layer))

docs: $(VENV)/.docs          ## the site, in site/; any warning or dead link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cudamaster needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,postgres,community,report,ray]'
	touch $@ $(VENV)/.base

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist site *.egg-info .cudamaster
