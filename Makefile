# The two commands: `make demo` shows what AskOnce does, `make test` proves it. `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PROTOGEN := $(VENV)/protogen
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install demo serve test test-thorough check lint types buf proto drift clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

install: $(VENV)/.installed ## install everything into .venv

$(VENV)/.installed: pyproject.toml client/python/pyproject.toml .ci/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "AskOnce needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --constraint .ci/constraints.txt --editable client/python --editable . --group dev
	@touch $@

proto: $(PROTOGEN)/.installed ## regenerate the Python stubs from proto/
	$(PROTOGEN)/bin/python .ci/generate.py

$(PROTOGEN)/.installed: $(VENV)/.installed
	$(PYTHON) -m venv $(PROTOGEN)
	$(PROTOGEN)/bin/pip install --quiet 'grpcio-tools==1.62.3' 'setuptools<81'
	@touch $@
