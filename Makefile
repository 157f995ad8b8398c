# Each target makes its own .venv from python3 (3.11 or later) with pip; no compiler is needed.
#   make demo    boosting beside logistic regression on three data sets; writes demo/report.html
#   make test    the tests and the examples in the docstrings, a process for each core (ARGS="-k binning")
#   make check   ruff, mypy, import-linter
#   make docs    the documentation as pages in site/
#   make bench   fit time, accuracy and memory beside the peers  (ARGS="--quick", see benchmarks/)
#   make table   the comparison in README.md, measured anew (seven minutes on an idle machine)
#   make clean   remove what the other targets made

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# A cached Numba caller does not notice that a callee in another file changed, so the cache
# of compiled kernels lies in a folder named by a checksum of all the kernels.
KERNELS := $(shell find src/hedgerow/kernels -name '*.py' | LC_ALL=C sort | xargs cat | cksum | cut -d' ' -f1)
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba-$(KERNELS)

.DEFAULT_GOAL := test
.PHONY: demo test check docs bench table clean

demo: .venv/.installed-demo .cache/.gitignore
	@mkdir -p demo
	$(BIN)/hedgerow demo --out demo/report.html --force $(ARGS)

test: .venv/.installed-dev .cache/.gitignore
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile $(ARGS)

check: .venv/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/.installed-docs
	PYTHONPATH=docs $(BIN)/zensical build --clean --strict
	@echo "site/index.html; to search it: $(BIN)/python -m http.server --directory site"

table: .venv/.installed-peers .cache/.gitignore
	$(BIN)/python benchmarks/readme_table.py --write $(ARGS)

bench: .venv/.installed-peers .cache/.gitignore
	$(BIN)/python benchmarks/gradient_boosting.py $(ARGS)

clean:
	rm -rf .venv .cache demo site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Hedgerow needs Python 3.11 or later; $(PYTHON) is " + sys.version.split()[0] + ". Set PYTHON=...")'
	$(PYTHON) -m venv .venv

# One stamp for each set of dependencies; a changed pyproject.toml installs it anew.
.venv/.installed-demo: pyproject.toml | .venv/bin/python
	$(PIP) install --editable '.[demo]'
	@touch $@

.venv/.installed-dev: pyproject.toml | .venv/bin/python
	$(PIP) install --editable '.[dev]'
	@touch $@

.venv/.installed-docs: pyproject.toml | .venv/bin/python
	$(PIP) install --editable '.[docs]'
	@touch $@

.venv/.installed-peers: pyproject.toml | .venv/bin/python
	$(PIP) install --editable '.[peers]'
	@touch $@

.cache/.gitignore:
	@mkdir -p .cache
	@echo '*' > $@
