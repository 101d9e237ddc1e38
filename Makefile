# Needs git, make and Python 3.11 or newer; everything else goes into .venv. Another Python: make test PYTHON=python3.12
PYTHON ?= python3
# One more than there are cores: tests wait for processes and disks.
PYTEST_ARGS ?= -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
CHECKED := draftfs tests bench
BIN := .venv/bin

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test check bench clean .python .base .dev .base-locked .dev-locked

help: ## print this list (the default)
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1 \2/p' Makefile | awk '{ printf "  %s %-6s ", $$1, $$2; $$1 = $$2 = ""; print substr($$0, 3) }'

demo: .base ## see a store at work, in a throw-away repository
	@$(BIN)/draftfs demo

test: check ## run all checks, then the tests (PYTEST_ARGS='-k claims' for some)
	@echo '== pytest'
	@$(BIN)/pytest $(PYTEST_ARGS)

check: .dev ## run ruff, mypy and the contracts between layers
	@echo '== ruff check'
	@$(BIN)/ruff check $(CHECKED)
	@echo '== ruff format --check'
	@$(BIN)/ruff format --check $(CHECKED)
	@echo '== mypy'
	@$(BIN)/mypy
	@echo '== lint-imports'
	@$(BIN)/lint-imports

bench: .base ## measure what the operations cost
	@$(BIN)/python bench/bench.py

clean: ## remove .venv, caches and what was built
	@rm -f .venv/ready
	@rm -rf .venv dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find draftfs tests bench hooks sample_repo -name __pycache__ -type d -prune -exec rm -rf {} +

# .venv belongs to one Python, one place and one pyproject.toml. .venv/ready says which, and is there only while the
# environment is whole: what was killed half-way, or has moved, is made anew. One make at a time works on it.
LOCKED = $(PYTHON) -c 'import fcntl, os, sys; fd = os.open("Makefile", os.O_RDWR); fcntl.flock(fd, fcntl.LOCK_EX); os.set_inheritable(fd, True); os.execvp(sys.argv[1], sys.argv[1:])'
WANTED = { $(PYTHON) -c 'import sys; print(sys.version)'; pwd -P; cat pyproject.toml; }

.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo 'draftfs needs Python 3.11 or newer, and "$(PYTHON)" is not: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11' >&2; exit 1; }

.base .dev: .python
	@$(LOCKED) $(MAKE) --no-print-directory $@-locked

.base-locked:
	@if [ "$$($(WANTED))" != "$$(cat .venv/ready 2>/dev/null)" ] || ! $(BIN)/python -c '' 2>/dev/null; then \
		echo '== setting up .venv' && rm -f .venv/ready && rm -rf .venv && \
		$(PYTHON) -m venv .venv && $(BIN)/python -m pip install -q -e . && \
		{ $(WANTED); } >.venv/making && mv .venv/making .venv/ready; \
	fi

.dev-locked: .base-locked
	@if [ ! -e .venv/dev ]; then \
		echo '== adding the tools of development to .venv' && mv .venv/ready .venv/making && \
		$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' >.venv/dev.txt && \
		$(BIN)/python -m pip install -q -r .venv/dev.txt && \
		mv .venv/dev.txt .venv/dev && mv .venv/making .venv/ready; \
	fi
