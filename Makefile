# Each target makes its own .venv from python3 (3.11 or later) with pip; no compiler is needed.
#   make demo    boosting beside logistic regression on three data sets; writes demo/report.html
#   make test    the tests and the examples in the docstrings, a process for each core, and how many lines
#                they run (with ARGS="-k binning" only those tests, and no line is counted)
#   make check   ruff, mypy, import-linter
#   make lowest  a part of the tests with the lowest versions that pyproject.toml allows (ten minutes at first)
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
.PHONY: demo test check lowest docs bench table clean

demo: .venv/.installed-demo .cache/.gitignore
	@mkdir -p demo
	$(BIN)/hedgerow demo --out demo/report.html --force $(ARGS)

test: .venv/.installed-dev .cache/.gitignore
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder $(or $(ARGS),--measure)

check: .venv/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Old packages warn of newer ones, which is no error here; compiled kernels are those of another Numba.
lowest: .venv-lowest/.installed .cache/.gitignore
	NUMBA_CACHE_DIR=$(NUMBA_CACHE_DIR)-lowest .venv-lowest/bin/python -m pytest -p no:cacheprovider \
		-W default --disable-warnings $$($(PYTHON) tests/support/lowest.py --tests) $(ARGS)

docs: .venv/.installed-docs
	PYTHONPATH=docs $(BIN)/zensical build --clean --strict
	@echo "site/index.html; to search it: $(BIN)/python -m http.server --directory site"

table: .venv/.installed-peers .cache/.gitignore
	$(BIN)/python benchmarks/readme_table.py --write $(ARGS)

bench: .venv/.installed-peers .cache/.gitignore
	$(BIN)/python benchmarks/gradient_boosting.py $(ARGS)

clean:
	rm -rf .venv .venv-lowest .cache demo site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
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

.venv-lowest/.installed: pyproject.toml tests/support/lowest.py
	$(PYTHON) -m venv --clear .venv-lowest
	@echo '*' > .venv-lowest/.gitignore
	.venv-lowest/bin/python -m pip --quiet --disable-pip-version-check install $$($(PYTHON) tests/support/lowest.py) --editable .
	@touch $@

.cache/.gitignore:
	@mkdir -p .cache
	@echo '*' > $@
