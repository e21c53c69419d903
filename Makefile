# `make` lists the targets. Each one makes or renews the virtual environment it needs.

PYTHON = python3
VENV = .venv
PORT ?= 8787

BIN = $(VENV)/bin
SETUP = setup.cfg pyproject.toml sift/__init__.py

.DEFAULT_GOAL := help
.PHONY: help run test versions lint type gate contract bench bench-peers bench-extract soak openapi fuzz man image image-check clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Loopback only. Unless the environment says otherwise authentication is off, the page is on, and without a source the demo
# is.
# `exec`, so that Ctrl-C and signals reach gunicorn itself.
run: $(VENV)/installed  ## serve on 127.0.0.1:8787; PORT=8788 chooses another port
	@export SIFT_AUTH="$${SIFT_AUTH:-off}" SIFT_DEMO="$${SIFT_DEMO:-auto}" SIFT_PAGE="$${SIFT_PAGE:-on}"; \
	exec $(BIN)/python -m sift.server -c python:sift.run_conf -b 127.0.0.1:$(PORT)

test: $(VENV)/installed-test  ## run all tests
	$(BIN)/python -m pytest

versions:  ## run the unit tests on each Python that is here, and with the lowest dependencies
	$(PYTHON) -m tests.versions

lint: $(VENV)/installed-lint  ## check style and form
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/hadolint deploy/Dockerfile

type: $(VENV)/installed-lint  ## check types
	$(BIN)/mypy

gate: lint type test  ## lint, type and test

contract: $(VENV)/installed-test  ## check a running service from outside, with curl
	$(BIN)/python -m tests.contract

bench: $(VENV)/installed-test  ## measure speed
	$(BIN)/python -m tests.bench

bench-peers: $(VENV)/installed-test  ## the same, with searx and LiteLLM beside it where they are installed
	$(BIN)/python -m tests.bench --peers

bench-extract: $(VENV)/installed-test  ## how much of real pages is extracted
	$(BIN)/python -m tests.bench_extract

soak: $(VENV)/installed-test  ## run under load for a while and watch for leaks
	$(BIN)/python -m tests.soak

openapi: $(VENV)/installed-test  ## make sift/api/openapi.json anew
	$(BIN)/python -m tests.openapi

fuzz: $(VENV)/installed-fuzz  ## send a running service what schemathesis makes of its OpenAPI document
	$(BIN)/python -m tests.fuzz

man: $(VENV)/installed  ## write the manual pages of the command anew
	$(BIN)/python -m tests.man

image:  ## build the container image `sift`
	@for tool in "podman build --format docker" "buildah build --format docker" "docker build"; do \
	    if command -v $${tool%% *} >/dev/null; then exec $$tool -f deploy/Dockerfile -t sift .; fi; \
	done; echo "make image needs podman, buildah or docker" >&2; exit 1

image-check: $(VENV)/installed-test  ## build the image on a base made here, and ask a service in it; as root
	$(BIN)/python -m tests.image

clean:  ## remove the virtual environments and what was built
	rm -rf .venv .venv-* build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The marks are newer than the files they were installed from; they are set last, so a broken installation is repeated.
$(VENV)/installed: $(SETUP)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Sift needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fetch,metrics,pdf]'
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/installed-lint: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lint]'
	@touch $@

$(VENV)/installed-fuzz: $(VENV)/installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	@touch $@
