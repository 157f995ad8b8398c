# Targets install what they use into .venv with pip; Python 3.11 or later is required, a compiler is not.
#   make demo    compare boosting with logistic regression on three data sets; writes demo/report.html
#   make test    run all tests and docstring examples, one process per core, with line coverage
#                (ARGS="-k binning" runs only those tests, without coverage)
#   make check   run ruff, mypy and import-linter
#   make lowest  run some of the tests with the lowest versions that pyproject.toml allows (ten minutes)
#   make docs    build the documentation into site/
#   make documents   run the examples of README.md and the documentation in new environments (half an hour;
#                ARGS="README.md" runs only that page)
#   make bench   compare fit time, accuracy and memory with other libraries (ARGS="--quick"; see benchmarks/)
#   make wheel   build the wheels and the source distribution of a release, and test them in new environments
#   make table   measure the comparison table of README.md again (eight minutes on an idle machine)
#   make clean   remove everything that other targets created

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

export HEDGEROW_CACHE := $(CURDIR)/.cache

# Tests start many processes that import the package; each would compile its modules without bytecode files.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := test
.PHONY: demo test check lowest docs documents bench table wheel clean

# Libraries of an earlier `make wheel`, unless a kernel changed since.
demo: export HEDGEROW_LIBRARIES := $(CURDIR)/.cache/libraries
demo: .venv/.installed-demo .cache/.gitignore
	@mkdir -p demo
	$(BIN)/hedgerow demo --out demo/report.html --force $(ARGS)

test: .venv/.installed-dev .cache/.gitignore
	$(BIN)/hedgerow warmup
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder $(or $(ARGS),--cov --cov-report=term:skip-covered)

check: .venv/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Old packages warn about newer ones; that is not an error.
lowest: .venv-lowest/.installed .cache/.gitignore
	.venv-lowest/bin/python -m pytest -p no:cacheprovider \
		-W default --disable-warnings $$($(PYTHON) tests/support/lowest.py --tests) $(ARGS)

docs: .venv/.installed-docs
	PYTHONPATH=docs $(BIN)/zensical build --clean --strict
	@echo "site/index.html; to search it: $(BIN)/python -m http.server --directory site"

documents: .venv/bin/python .cache/.gitignore
	$(BIN)/python tests/support/run_documents.py $(ARGS)

table: .venv/.installed-peers .cache/.gitignore
	$(BIN)/python benchmarks/readme_table.py --write $(ARGS)

wheel: .venv/.installed-release .cache/.gitignore
	$(BIN)/python packaging/build_wheels.py $(ARGS)

bench: .venv/.installed-peers .cache/.gitignore
	$(BIN)/python benchmarks/gradient_boosting.py $(ARGS)

clean:
	rm -rf .venv .venv-lowest .cache demo site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Hedgerow requires Python 3.11 or later; $(PYTHON) is " + sys.version.split()[0] + ". Set PYTHON=...")'
	$(PYTHON) -m venv .venv

# One stamp file for each extra; a changed pyproject.toml installs it again.
.venv/.installed-demo: pyproject.toml | .venv/bin/python
	$(PIP) install --editable '.[demo]'
	@touch $@

.venv/.installed-dev: pyproject.toml | .venv/bin/python
	$(PIP) install --editable '.[dev]'
	@touch $@

.venv/.installed-docs: pyproject.toml | .venv/bin/python
	$(PIP) install --editable '.[docs]'
	@touch $@

.venv/.installed-release: pyproject.toml | .venv/bin/python
	$(PIP) install --editable '.[release]'
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
