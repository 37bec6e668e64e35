# The two commands: `make demo` shows what AskOnce does, `make test` proves it. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PROTOGEN := $(VENV)/protogen
CONFIG ?=
PAIRS ?=
TESTS ?=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install demo serve browser test test-thorough test-go test-node torture soak check lint format types buf proto proto-go proto-node docs ghz bench-ratio bench-keys quality clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

install: $(VENV)/.installed ## install everything into .venv

demo: install ## start a sidecar, play real requests through it, print each decision
	@$(BIN)/askonce demo

serve: install ## start the sidecar for real (CONFIG=askonce.yaml; without it the embedded default)
	$(BIN)/askonce serve $(if $(CONFIG),--config $(CONFIG))

test: install $(PROTOGEN)/.installed ## run all tests (TESTS="tests/core tests/rpc": those alone)
	$(BIN)/pytest $(TESTS)

test-go: install ## run the tests of the Go client alone
	$(BIN)/pytest tests/gateways

test-node: install ## run the tests of the Node client alone
	$(BIN)/pytest tests/gateways/test_node.py

test-thorough: install $(PROTOGEN)/.installed ## many examples, 200 rounds of kill -9, Go's race detector (takes long)
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -m 'thorough or not thorough' --timeout 3600

browser: install ## install what tries the page in a real browser (Chromium itself: your system has it)
	$(BIN)/pip install --quiet --constraint .ci/constraints.txt --group browser

torture: install ## everything at once for five minutes, against a model of what must hold
	TORTURE_SECONDS=300 $(BIN)/pytest -s tests/faults/test_torture.py --timeout 900

soak: install ## a steady load for ten minutes, after which no more may be held than before
	SOAK_SECONDS=600 $(BIN)/pytest -s -m thorough tests/faults/test_soak.py --timeout 2400

check: lint types buf ## lint, types, contract (generated code is compared in `make test`)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: install ## format the code
	$(BIN)/ruff format .

types: install
	$(BIN)/mypy

buf: install
	$(BIN)/buf lint proto
	$(BIN)/buf format --diff --exit-code proto

proto: $(PROTOGEN)/.installed ## regenerate the Python stubs from proto/
	$(PROTOGEN)/bin/python .ci/generate.py

proto-go: install ## regenerate the Go stubs from proto/ (needs Go)
	$(BIN)/python .ci/generate_go.py

proto-node: install ## regenerate the Node stubs from proto/ (needs Node)
	cd client/node && npm ci --no-audit --no-fund
	$(BIN)/python .ci/generate_node.py

docs: install ## regenerate docs/configuration.md
	$(BIN)/askonce config document > docs/configuration.md

ghz: install ## load-test a real sidecar with ghz (built with Go the first time)
	$(BIN)/python -m benchmarks.ghz.run

bench-ratio: install ## an exact hit against a server that answers without deciding
	$(BIN)/python -m benchmarks.ghz.ratio

bench-keys: install ## key derivation against the plain library calls
	$(BIN)/python benchmarks/micro/keys.py

quality: install ## right and wrong semantic hits on labelled data (PAIRS="file ..."; default: the tests' own pairs)
	$(BIN)/python -m benchmarks.quality.run $(PAIRS)

clean: ## remove .venv and what tools left behind
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis benchmarks/out client/node/node_modules client/node/dist client/node/build

# Everything below makes files that the targets above need.
$(VENV)/.installed: pyproject.toml client/python/pyproject.toml .ci/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "AskOnce needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@echo "installing into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/pip install --quiet --constraint .ci/constraints.txt --editable client/python --editable . --group dev
	@touch $@

# The oldest supported tools, so that the stubs load under every later runtime.
$(PROTOGEN)/.installed: $(VENV)/.installed
	@echo "installing the stub generator into $(PROTOGEN) ..."
	@$(PYTHON) -m venv $(PROTOGEN)
	@$(PROTOGEN)/bin/pip install --quiet 'grpcio-tools==1.62.3' 'setuptools<81'
	@touch $@
