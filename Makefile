# GlassMQ. `make` lists the targets; `make run` is all that a user needs.
#
# Needs Python 3.11 or newer and nothing else: every target first installs what it uses. Finished steps leave a
# stamp file in .venv/stamps, so they run again only when what they depend on has changed.

PYTHON  ?= python3
WORKERS ?= 3
SERVE   ?=
TESTS   ?=
CHANGED ?=
FORM    ?=
BENCH   ?=
SITE    ?= build/site
SOAK    ?=

VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check install
PINNED := --constraint constraints.txt --prefer-binary --editable
PYTEST := $(BIN)/python -m pytest
# One worker for each core, and one more for tests that wait.
SPREAD   = -n $(WORKERS) --no-loadscope-reorder $(if $(CI),--durations=20)
SELECTED = $(if $(CHANGED),$$($(BIN)/python -m scripts.changed_tests),$(TESTS))

# A hundred processes that tests start need not compile the same files again, nor need pytest: `make clean` removes
# what is kept in __pycache__.
unexport PYTHONDONTWRITEBYTECODE
# FORM=compiled: tests run what `make fast` has built.
export GLASSMQ_FORM := $(FORM)

PAGE_PACKAGES := static/vendor/.version
INSTALLED     := $(STAMPS)/installed
DEVELOPMENT   := $(STAMPS)/development
JAVA          := $(STAMPS)/java
PAGE_TOOLS    := node_modules/.package-lock.json
# Where the machine has no Node.js that is new enough, .venv/bin has one.
NODE          := PATH="$(CURDIR)/$(BIN):$$PATH" node_modules/.bin
MODULES       := "static/**/*.js" "!static/vendor" "tests/static/**/*.js" "app/**/*.mjs" "tests/**/*.mjs" eslint.config.js

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory


##@ Use

.PHONY: run
run: install  ## Start name server, broker and page; the page may inject faults, because only this machine can connect (more options: make run SERVE="--http-port 8080")
	@exec $(BIN)/glassmq serve $(if $(findstring --http-host,$(SERVE)),,--allow-faults) $(SERVE)

.PHONY: install
install: $(INSTALLED) $(JAVA) $(PAGE_PACKAGES) film  ## Make .venv with GlassMQ in it, fetch the page's packages and make the start page's film

.PHONY: fast
fast: $(DEVELOPMENT)  ## Compile the engine's hot path; glassmq serve uses it then (needs a C compiler; once, a minute or two)
	@$(BIN)/python -m scripts.fast

.PHONY: site
site: install $(PAGE_TOOLS)  ## Write lessons and lab as a site that needs no server (elsewhere: make site SITE=/tmp/site)
	@$(BIN)/glassmq site --out $(SITE)


##@ Develop

.PHONY: check
check: format-check lint types test  ## Everything that must pass before a commit: format, lint, types, tests

.PHONY: test
test: tools-of-tests  ## Run the tests of every change, in minutes (a part: TESTS=tests/lab; what differs from main: CHANGED=1; after `make fast`: FORM=compiled)
	@$(PYTEST) -m quick $(SPREAD) $(SELECTED)

.PHONY: test-rest
test-rest: export GLASSMQ_ALL_SCENARIOS = 1
test-rest: tools-of-tests databases-of-tests $(PAGE_TOOLS)  ## Run what `make test` leaves out, and its properties and sweeps with more examples
	@$(PYTEST) -m rest $(SPREAD) $(SELECTED)

.PHONY: test-again
test-again:  ## Run those that failed in the last run again, one after the other; with more than ten, fail at once
	@$(BIN)/python -m scripts.failed_tests 10
	@$(PYTEST) -m "" --last-failed --last-failed-no-failures=none

.PHONY: test-services
test-services: tools-of-tests databases-of-tests $(PAGE_TOOLS)  ## Run `make test` and, next to it, what needs Spark, a browser, a client or a database (of sweeps a part)
	@$(PYTEST) -m "quick or services and not further" $(SPREAD) $(SELECTED)

.PHONY: test-thorough
test-thorough: tools-of-tests $(PAGE_TOOLS)  ## Run what is left of `make test-rest`: it computes for minutes
	@$(PYTEST) -m "rest and not services" $(SPREAD) $(SELECTED)

.PHONY: tools-of-tests
tools-of-tests: install $(DEVELOPMENT)
	@$(BIN)/python -m scripts.chromium

.PHONY: databases-of-tests
databases-of-tests: install
	@$(BIN)/python -m scripts.databases

.PHONY: interop
interop: install $(DEVELOPMENT)  ## Run RocketMQ's Java clients, the real broker and a real Kafka against GlassMQ (needs Java, Maven, Go)
	@$(PYTEST) -m interop_java tests/interop

.PHONY: bench
bench: install $(DEVELOPMENT)  ## Measure GlassMQ next to the real RocketMQ, and its Spark source (more: make bench BENCH=--help)
	@$(BIN)/python -m tests.benchmarks.run $(BENCH)

.PHONY: soak
soak: install $(DEVELOPMENT)  ## Load, kill and judge a broker for an hour, with a report (shorter: make soak SOAK="--minutes 3")
	@$(BIN)/python -m tests.soak.run $(SOAK)

.PHONY: format
format: $(DEVELOPMENT) $(PAGE_TOOLS)  ## Format the Python and JavaScript files and sort Python's imports
	@$(BIN)/ruff check --quiet --select I --fix .
	@$(BIN)/ruff format .
	@$(NODE)/prettier --log-level warn --write $(MODULES)

.PHONY: format-check
format-check: $(DEVELOPMENT) $(PAGE_TOOLS)  ## Fail where `make format` would change something
	@$(BIN)/ruff format --check .
	@$(NODE)/prettier --log-level warn --check $(MODULES)

.PHONY: lint
lint: $(DEVELOPMENT) $(PAGE_TOOLS)  ## Look for likely mistakes
	@$(BIN)/ruff check .
	@$(NODE)/eslint static tests/static "app/**/*.mjs" "tests/**/*.mjs" eslint.config.js

.PHONY: types
types: $(DEVELOPMENT) $(PAGE_TOOLS)  ## Check the types: Python's strictly, and those of the page's modules that say // @ts-check
	@$(BIN)/mypy
	@$(BIN)/python -m scripts.picture_types
	@$(NODE)/tsc --project .
	@$(NODE)/tsc --project tsconfig.strict.json
	@$(NODE)/tsc --project tsconfig.workers.json

.PHONY: coverage
coverage: install $(DEVELOPMENT)  ## Measure what the engine's own tests reach of it; fail below the floor in pyproject.toml
	@$(PYTEST) -n $(WORKERS) --cov --cov-report= --ignore tests/engine/pipeline tests/engine
	@$(BIN)/coverage report

.PHONY: wheel
wheel: $(DEVELOPMENT) $(PAGE_PACKAGES) film  ## Build a wheel with the page in it, one with the compiled modules too, and glassmq-spark; their version follows the newest git tag
	@$(BIN)/python -m pip --quiet --disable-pip-version-check wheel --no-deps --wheel-dir dist .
	@if $(BIN)/python -m scripts.fast; then \
	  GLASSMQ_COMPILED_WHEEL=1 $(BIN)/python -m pip --quiet --disable-pip-version-check wheel --no-deps --wheel-dir dist .; fi
	@$(BIN)/python -m scripts.spark_wheel dist
	@ls dist/*.whl


##@ Housekeeping

.PHONY: lock
lock: $(INSTALLED)  ## Pin the newest versions that pyproject.toml allows in constraints.txt
	@$(PIP) uv
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --no-annotate \
	  --no-emit-package pip --custom-compile-command "make lock" --output-file constraints.txt pyproject.toml

.PHONY: clean
clean:  ## Remove everything that the other targets made, except ./data
	@rm -rf $(VENV) .cache node_modules static/vendor app/built build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache test-results
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help:  ## List the targets
	@awk 'BEGIN { FS = ":.*  ## " } \
	     /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	     /^[a-z-]+:.*  ## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo


# ------------------------------------------------------------------------------------- installation

define NO_PYTHON
There is no $(PYTHON) here. Install Python 3.11 or newer (Debian: apt-get install python3 python3-venv).
endef
define OLD_PYTHON
GlassMQ needs Python 3.11 or newer, and this is $$($(PYTHON) --version). Name a newer one: make PYTHON=python3.12
endef

$(STAMPS)/environment: scripts/create_environment.py
	@command -v $(PYTHON) >/dev/null || { echo "$(NO_PYTHON)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(OLD_PYTHON)" >&2; exit 1; }
	@$(PYTHON) -m scripts.create_environment $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# Spark is for the pipeline alone: where it cannot be installed, everything else still can.
define NO_SPARK
Spark cannot be installed here (pip says why, above): the pipeline will not run, all else will.
endef

$(INSTALLED): $(STAMPS)/environment pyproject.toml constraints.txt
	@echo "Installing GlassMQ and the Python packages it uses into $(VENV) (Spark is large: one to three minutes) ..."
	@$(PIP) $(PINNED) '.[page,idempotence,spark]' || { echo "$(NO_SPARK)" >&2; $(PIP) $(PINNED) '.[page,idempotence]'; } \
	  || { echo "Could not install GlassMQ's Python packages: pip says why, above." >&2; exit 1; }
	@touch $@

$(DEVELOPMENT): $(INSTALLED)
	@echo "Installing the developers' tools into $(VENV) ..."
	@$(PIP) $(PINNED) '.[dev]' || { echo "Could not install the developers' tools: pip says why, above." >&2; exit 1; }
	@touch $@

$(JAVA): $(INSTALLED) scripts/java.py
	@$(BIN)/python -m scripts.java
	@touch $@

$(PAGE_PACKAGES): package.json package-lock.json scripts/fetch_page_packages.py | $(STAMPS)/environment
	@$(BIN)/python -m scripts.fetch_page_packages

# The script compares a digest of the sources, which also notices a deleted one. Without the film a server makes it on request.
.PHONY: film
film: $(INSTALLED)
	@$(BIN)/python -m scripts.start_page_film || echo "The start page's film was not made, see above." >&2

$(PAGE_TOOLS): package.json package-lock.json scripts/page_tools.py | $(STAMPS)/environment
	@$(BIN)/python -m scripts.page_tools
	@touch $@
