# The commands of the project. `make` lists them.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP_INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes

PORT ?= 8000
CLUSTER ?= dev
YES ?=
DATA ?= .run
FRESH ?=
T ?=
BROWSER ?= auto
ORDERS ?= 100000
RATE ?= 40
ROUNDS ?= 50
B ?= ledger placement gateway order_to_bound pages controller_memory
UV_VERSION := 0.13.9
COMPILE = .cache/uv/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11

# What speaks to the database runs a second time on PostgreSQL.
DATABASE_SUITES := tests/portal tests/catalog tests/claims
# What holds on the dev server and on a real one.
CLUSTER_SUITES := tests/kube/test_contract*.py tests/cluster tests/controller
# Both halves mostly wait, so they run side by side, each on servers of its own. The last line is of a half that failed, if one did.
define CLUSTER_TESTS
mkdir -p .cache; \
$(PY) -m pytest --cluster real tests/system >.cache/system-half.txt 2>&1 & system=$$!; \
trap 'kill $$system 2>/dev/null' INT TERM; \
{ $(PY) -m pytest --cluster real $(CLUSTER_SUITES); echo $$? >.cache/ended; } | tee .cache/first-half.txt; \
ended=$$(cat .cache/ended); wait $$system || ended=$$?; \
cat .cache/system-half.txt; \
[ "$$(cat .cache/ended)" = 0 ] || tail -n 1 .cache/first-half.txt; \
exit $$ended
endef
STYLES := $(shell find templates static -path static/build -prune -o -type f -print 2>/dev/null)

##@ Use

run: $(VENV)/.base static/build ## Start everything with demo data. PORT=8000 DATA=.run CLUSTER=dev|real|kubeconfig FRESH=1 starts over
	@exec $(PY) -m tools.run --port $(PORT) --data $(DATA) --cluster $(CLUSTER) $(if $(FRESH),--fresh)

install-cluster: $(VENV)/.base ## Put CRDs and rights into a cluster, asking first. CLUSTER=path/to/kubeconfig YES=1
	@exec $(PY) -m tools.install $(if $(filter-out dev real,$(CLUSTER)),--kubeconfig $(CLUSTER)) $(if $(YES),--yes)

setup: $(VENV)/.dev static/build ## Make .venv with everything that run, test and check need

clean: ## Remove what make made: .venv, caches, built styles, screenshots (not the data of run)
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache static/build staticfiles screenshots

##@ Work

test: $(VENV)/.dev static/build ## Run the tests. T=tests/gpu for some of them, BROWSER=required makes a missing Chromium a failure
	@$(if $(T),,$(PY) -m pytest $(DATABASE_SUITES) --postgres --quiet)
	@BROWSER=$(BROWSER) $(PY) -m pytest $(or $(T),tests)

test-cluster: $(VENV)/.dev static/build ## Run what holds on a real API server, built here with Go or from KUBEBUILDER_ASSETS. T=tests/cluster
	@$(PY) -m tools.envtest.build etcd kube-apiserver kube-controller-manager
	@$(if $(T),$(PY) -m pytest --cluster real $(T),$(CLUSTER_TESTS))

check: $(VENV)/.dev ## Lint, format, templates, types, room walls, Django's own checks, Dockerfile
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	find templates -name '*.html' -exec $(BIN)/djade --check --target-version 5.2 {} +
	$(BIN)/mypy .
	$(BIN)/lint-imports --no-logo
	HTTPS=1 DATABASE_URL=sqlite://:memory: ALLOWED_HOSTS=portal.example.org SECRET_KEY=$$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n') \
		$(PY) manage.py check --deploy --fail-level WARNING
	DATABASE_URL=sqlite://:memory: $(PY) manage.py makemigrations --check --dry-run
	$(BIN)/hadolint Dockerfile

bench: $(VENV)/.dev ## Measure what the docs promise, beside a floor. B=ledger for one; figures go to bench/results
	@mkdir -p bench/results
	@set -e; for name in $(B); do \
		echo "== $$name"; $(PY) -m bench.$$name >bench/results/$$name.txt; cat bench/results/$$name.txt; \
	done

soak: $(VENV)/.dev ## Load a real API server for long, then fault it often; figures go to bench/results. ORDERS=100000 RATE=40 ROUNDS=50
	@$(PY) -m tools.envtest.build
	@mkdir -p bench/results
	@$(PY) -m bench.oversell --cluster real --scheduler --orders $(ORDERS) --rate $(RATE) >bench/results/oversell.txt; \
		ended=$$?; cat bench/results/oversell.txt; exit $$ended
	@FAULT_ROUNDS=$(ROUNDS) STALL_SECONDS=60 $(PY) -m pytest --cluster real tests/system/test_faults.py -s

mutants: $(VENV)/.dev ## Run the suite against seeded bugs; it has to catch every one
	@$(PY) -m tests.system.mutants

screenshots: $(VENV)/.dev static/build ## Picture every page (light, dark, phone) into screenshots/
	BROWSER=required $(PY) -m tests.journeys.screenshots screenshots

lock: .cache/uv/bin/uv ## Compile requirements/*.txt anew from pyproject.toml, keeping the versions that still fit
	$(COMPILE) --extra dev pyproject.toml -o requirements/dev.txt
	$(COMPILE) --constraint requirements/dev.txt pyproject.toml -o requirements/base.txt

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Stamps: each step runs again only when what it is made from is newer.

$(PY):
	@test -n "$(PYTHON)" || { echo "Python 3.11 is needed (python3.11 or python3 on the PATH)." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than Python 3.11." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: requirements/base.txt | $(PY)
	$(PIP_INSTALL) -r $<
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.base
	$(PIP_INSTALL) -r $<
	@touch $@

static/build: tools/build_css.py $(STYLES) | $(VENV)/.base
	$(PY) -m tools.build_css
	@touch $@

.cache/uv/bin/uv:
	$(PYTHON) -m venv .cache/uv
	.cache/uv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.PHONY: bench check clean help install-cluster lock mutants run screenshots setup soak test test-cluster
