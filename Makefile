# Everything that is done with this checkout. Needs Python 3.11 or later and make; the rest is set up here.
SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input install --quiet --only-binary=:all: --require-hashes
KAFKA_LIBS := .cache/kafka-libs
UV := .cache/uv/bin/uv
FUZZER := .cache/fuzz
ARGS ?=
WORKERS ?= 3
FAULT_WORKERS ?= 2

# The first Python that is new enough and can make an environment; PYTHON=… names another one.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.14 python3 python; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help run test test-faults model fuzz check bench screenshots lock clean kafka-jars

help: ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

run: $(VENV)/run.stamp ## start everything and play the demo: open the address it prints, Ctrl-C stops it
	@exec $(PY) -m server serve $(ARGS)

test: $(VENV)/dev.stamp ## run all rings of tests (ARGS="tests/core -x" for some, WORKERS=0 in one process)
	@exec $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-faults: $(VENV)/dev.stamp ## break services and processes under load: minutes (ARGS="tests/faults/test_redis.py" for some)
	@exec $(PY) -m pytest -n $(FAULT_WORKERS) --dist loadfile $(or $(ARGS),tests/faults)

model: $(VENV)/dev.stamp ## try random schedules of faults (N=100000 SEED=1 WORKERS=2; a failing one prints its seed: N=1 SEED=… again)
	@exec $(PY) -m tests.model.search --n $(or $(N),2000) --seed $(or $(SEED),1) --workers $(or $(WORKERS),2)

fuzz: $(FUZZER)/complete ## let atheris look for bytes that a parser does not survive (ARGS="-max_total_time=600" for longer)
	PYTHONPATH=$(FUZZER) $(PY) -m tests.wild.fuzz .cache/corpus $(or $(ARGS),-max_total_time=120 -max_len=1000)

check: $(VENV)/dev.stamp ## lint, formatting, types, and which layer may import which
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy server tests bench scripts
	$(PY) -m pytest -q tests/test_layers.py

bench: $(VENV)/dev.stamp ## measure what the README's figures say (ARGS="…" goes to the benchmark)
	@exec $(PY) -m bench $(ARGS)

screenshots: $(VENV)/dev.stamp ## take a picture of every page in every state (ARGS="overlay" for some)
	@exec $(PY) -m scripts.screenshots $(ARGS)

kafka-jars: $(KAFKA_LIBS)/complete ## bring Apache Kafka for the tests through Maven

lock: $(UV) ## make locks/*.txt anew from pyproject.toml (ARGS="--upgrade" for newer releases)
	$(UV) pip compile $(ARGS) $(LOCK_OPTIONS) --output-file locks/production.txt
	$(UV) pip compile $(ARGS) $(LOCK_OPTIONS) --extra embedded --output-file locks/run.txt
	$(UV) pip compile $(ARGS) $(LOCK_OPTIONS) --extra embedded --extra dev --output-file locks/dev.txt

clean: ## remove the environment and all caches; boards in .rankcast stay
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find server tests bench scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

LOCK_OPTIONS := pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

$(PY):
	@test -n "$(PYTHON)" || { echo "Rankcast needs Python 3.11 or later with venv (Debian: python3 python3-venv);" \
		"none of python3.11 to python3.14, python3, python is one. PYTHON=/path/to/python names another."; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) …"
	@$(PYTHON) -m venv --clear $(VENV)

define new_enough
$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "$(VENV) holds a Python older than 3.11: remove it (make clean) and try again."; exit 1; }
endef

# Without a wheel of an embedded service for this platform the rest is still of use, with outside services.
$(VENV)/run.stamp: locks/run.txt locks/production.txt scripts/link_checkout.py | $(PY)
	@$(new_enough)
	@echo "Installing locks/run.txt …"
	@if $(PIP) -r locks/run.txt; then touch $@.new; \
	elif $(PIP) -r locks/production.txt; then \
		echo "Not every embedded service could be installed on this platform: name outside ones by" \
			"REDIS_URL, DATABASE_URL and KAFKA_BOOTSTRAP_SERVERS."; \
	else echo "The packages of locks/production.txt could not be installed: see above."; exit 1; fi
	@$(PY) scripts/link_checkout.py
	@if test -f $@.new; then mv $@.new $@; fi

$(VENV)/dev.stamp: locks/dev.txt scripts/link_checkout.py | $(PY)
	@$(new_enough)
	@echo "Installing locks/dev.txt …"
	@$(PIP) -r locks/dev.txt || { echo "The packages of locks/dev.txt could not be installed: see above."; exit 1; }
	@$(PY) scripts/link_checkout.py
	@touch $@ $(VENV)/run.stamp

$(KAFKA_LIBS)/complete: tests/kafka/pom.xml
	@command -v mvn >/dev/null || { echo "Maven is not installed (Debian package: maven)."; exit 1; }
	@rm -rf $(KAFKA_LIBS)
	mvn --batch-mode --quiet -f tests/kafka/pom.xml dependency:copy-dependencies \
		-DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$(KAFKA_LIBS)
	@touch $@

$(FUZZER)/complete: | $(VENV)/dev.stamp
	@$(PY) -m pip --quiet install --no-deps --only-binary=:all: --target $(FUZZER) atheris==3.0.0 || \
		{ echo "atheris has no wheel for this Python and platform: it is optional."; exit 1; }
	@touch $@

$(UV):
	@test -n "$(PYTHON)" || { echo "Rankcast needs Python 3.11 or later with venv."; exit 1; }
	@$(PYTHON) -m venv --clear .cache/uv && .cache/uv/bin/python -m pip --quiet install uv
