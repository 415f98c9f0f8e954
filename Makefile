# Requirements: Python 3.11 or later, make, and apt if the venv module is missing.
# PYTHON=python3.12 chooses the interpreter; `make clean` first if .venv already exists.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash

PY := .venv/bin/python
# Three workers on two cores, because many tests wait for servers.
PYTEST_ARGS ?= -n 3 --dist loadfile
SOURCES = $(wildcard app tests loadtest)
TYPESCRIPT := openapi/clients/typescript

.PHONY: help serve dev test test-fast lowest check lint format fuzz docs shown clients examples openapi openapi-check bench chaos soak goals wheel image lock clean

help: ## List the targets
	@sed -nE -e 's/^##@ (.*)/\n\1/p' -e 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

# One stamp per requirements file, so that nothing is installed twice. dev.txt contains serve.txt, which contains main.txt.
.venv/.main: requirements/main.txt .ci/venv
	.ci/venv $<
	@touch $@
.venv/.serve: requirements/serve.txt .ci/venv
	.ci/venv $<
	@touch .venv/.main $@
.venv/.dev: requirements/dev.txt .ci/venv
	.ci/venv $<
	@touch .venv/.main .venv/.serve .venv/.build $@

.venv/.build: requirements/build.txt .ci/venv
	.ci/venv $<
	@touch $@

##@ Run

serve: .venv/.serve ## Start the service on EXACTPERM_HOST:EXACTPERM_PORT (127.0.0.1:8000)
	@$(PY) -m compileall -q app
	exec $(PY) -m exactperm

# With uvicorn's protocol; only `make serve` has the deadlines of clients and limits of connections of the edge.
dev: .venv/.dev ## Start the service with uvicorn's reload, which restarts it when a file of app/ changes
	$(PY) -m uvicorn exactperm.main:create_app --factory --reload --reload-dir app \
		--host $${EXACTPERM_HOST:-127.0.0.1} --port $${EXACTPERM_PORT:-8000}

##@ Check

# Compile once, regardless of PYTHONDONTWRITEBYTECODE: the tests start a few hundred processes, and each of pytest's
# workers imports all test files, which takes 10 s of processor time without bytecode.
test test-fast: export PYTHONDONTWRITEBYTECODE =
test: .venv/.dev ## Run all tests (PYTEST_ARGS="tests/unit -k fft" for some)
	@$(PY) -m compileall -q app
	$(PY) -m pytest $(PYTEST_ARGS)

test-fast: PYTEST_ARGS = -n 2 --dist loadfile
test-fast: .venv/.dev ## Run one case of each unit and api test, without slow ones, servers and browsers
	@$(PY) -m compileall -q app
	$(PY) -m pytest tests/unit tests/api --one-case -m "not slow and not process and not browser" $(PYTEST_ARGS)

# The lowest versions that pyproject.toml allows: numpy 2.0, scipy 1.13, ... Libraries that tests compare with are newer.
.venv-lowest/.done: requirements/lowest.txt .ci/venv
	.ci/venv $< .venv-lowest
	@touch $@
LOWEST_ARGS ?= tests/unit/inference tests/unit/statistics tests/api/test_files_of_tools.py -n 3 --dist loadfile
lowest: .venv-lowest/.done ## Run one case of each test of inference with the oldest allowed libraries
	.venv-lowest/bin/python -m pytest --one-case -m "not slow" -p no:cacheprovider $(LOWEST_ARGS)

check: lint openapi-check ## Run the checks of continuous integration besides the tests

lint: .venv/.dev ## Check style, types and imports between packages
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy $(SOURCES)
	.venv/bin/lint-imports

format: .venv/.dev ## Fix and format with ruff
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

openapi-check: .venv/.main ## Fail if openapi/openapi.json or the types of clients differ from the code
	PY=$(PY) .ci/openapi-check

##@ Measure and stress

FUZZ_TIMES ?= 100
fuzz: .venv/.dev ## Run tests/fuzz with 100,000 requests: FUZZ_TIMES=100 times as many, new examples
	FUZZ_TIMES=$(FUZZ_TIMES) $(PY) -m pytest tests/fuzz -n 2

chaos: .venv/.dev ## Kill 1,000 workers under mixed load (CHAOS_ARGS)
	$(PY) -m loadtest.chaos $(CHAOS_ARGS)

soak: .venv/.dev ## Run an hour of mixed load, and sample memory and descriptors (SOAK_ARGS="--minutes 10")
	$(PY) -m loadtest.soak $(SOAK_ARGS)

goals: .venv/.dev ## Measure memory, liveness, goodput, deadlines and slow clients on a real server (GOALS_ARGS="--quick")
	$(PY) -m loadtest.goals $(GOALS_ARGS)

bench: .venv/.dev ## Run the benchmarks, and write loadtest/RESULTS.md and the figures of the pages (BENCH_ARGS=--quick)
	$(PY) -m loadtest.bench $(BENCH_ARGS)

##@ Write and build

openapi: export PATH := $(PATH):$(CURDIR)/.venv/bin
openapi: .venv/.main ## Write openapi/openapi.json, and the types of its clients if npm is installed
	$(PY) -m exactperm.api.openapi_export
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory clients; \
	else echo "the types of $(TYPESCRIPT) were not written: npm is not installed"; fi

# The tools are those of package-lock.json. To install npm: .ci/venv requirements/node.txt
clients: export PATH := $(PATH):$(CURDIR)/.venv/bin
clients: $(TYPESCRIPT)/node_modules/.package-lock.json ## Write the types of openapi/clients/typescript (needs npm)
	node $(TYPESCRIPT)/generate.mjs
$(TYPESCRIPT)/node_modules/.package-lock.json: $(TYPESCRIPT)/package-lock.json
	npm ci --prefix $(TYPESCRIPT)
	@touch $@

examples: .venv/.dev ## Write openapi/examples/small/
	$(PY) -c "from openapi.make_examples import write_small; write_small()"

docs: .venv/.dev ## Write the tables of docs/ that follow from the code
	$(PY) -m tests.docs_tables

shown: .venv/.dev ## Write the texts of answers that README.md and docs/ show; those in JSON are laid out by hand
	$(PY) -m pytest -q --rewrite tests/api/test_docs.py tests/process/test_docs_console.py -k "shown_answer or shown_output"

wheel: .venv/.build ## Build the package exactperm: dist/exactperm-*.whl
	$(PY) -m hatchling build --target wheel

REQUIREMENTS ?= main
image: ## Build the container image exactperm:latest (REQUIREMENTS=serve: with jobs and the readers of asr, mt and trec)
	docker build --build-arg REQUIREMENTS=$(REQUIREMENTS) --tag exactperm .

# One file for every Python and platform, with one NumPy and one SciPy, so that digits and types are the same everywhere.
# Existing pins are kept unless UPGRADE=--upgrade.
COMPILE = $(PY) -m uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 \
	--generate-hashes --no-emit-index-url --custom-compile-command "make lock" $(UPGRADE)
LOCK = $(COMPILE) pyproject.toml
SERVER = --extra server --extra pictures
lock: .venv/.dev ## Pin pyproject.toml's dependencies again (UPGRADE=--upgrade for newer versions)
	$(LOCK) --all-extras --group dev --output-file requirements/dev.txt
	$(LOCK) $(SERVER) --extra asr --extra mt --extra tables --extra trec --group dev --resolution lowest-direct --output-file requirements/lowest.txt
	$(LOCK) --constraint requirements/dev.txt $(SERVER) --output-file requirements/main.txt
	$(LOCK) --constraint requirements/dev.txt $(SERVER) --extra asr --extra jobs --extra mt --extra tables --extra trec --output-file requirements/serve.txt
	$(LOCK) --constraint requirements/dev.txt --extra asr --extra mt --extra trec --output-file requirements/gate.txt
	$(COMPILE) --constraint requirements/dev.txt --group build --output-file requirements/build.txt
	$(COMPILE) --group node --output-file requirements/node.txt
	@! grep -nE 'https?://|file:|find-links|index-url' requirements/*.txt

clean: ## Remove .venv, dist and caches
	rm -rf .venv .venv-lowest $(TYPESCRIPT)/node_modules dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
