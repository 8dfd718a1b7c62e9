# `make conformance` runs the suite against an operator; `make test` tests the suite itself.
# Both need only Python >= 3.11, prepare everything else, and reuse it the next time.

PYTHON ?= python3
OPERATOR ?= reference
CLUSTER ?= auto
RESULTS ?= results
WORKERS ?= auto
# Further options for pytest, such as ARGS='--operator-binary=./manager -k add'.
ARGS ?=

# Workers start a second sooner with compiled modules, so they are written even if the environment forbids it.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: conformance test lint unit mutants in-kind programs lock clean

# Builds kind and the node image if the image can neither be found nor pulled, unless the user names another.
PINNED_NODE = $$($(BIN)/python -c 'from conformance.cluster.kind import KindOptions; print(KindOptions().node_image)')
WITH_KIND = $(if $(findstring --kind-image,$(ARGS))$(findstring --kubernetes-version,$(ARGS)),,tools/kind-offline/where-needed.sh "$(PINNED_NODE)")

# Every worker would load the plugin of the extra `kind`, so it is switched off where it is not needed.
conformance: $(STAMP) programs
	$(if $(filter kind,$(CLUSTER)),$(WITH_KIND)) $(BIN)/python -m pytest cases -n $(WORKERS) $(addprefix --operator=,$(OPERATOR)) \
	  $(if $(filter kind,$(CLUSTER)),,-p no:pytest-kind-ng) \
	  --cluster=$(CLUSTER) --results=$(RESULTS) --alluredir=$(RESULTS)/allure-results \
	  --junit-xml=$(RESULTS)/junit.xml $(ARGS)

test: $(STAMP) programs lint unit mutants conformance

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture

# --dist=loadfile, so that the tests of one file share its control plane.
unit: $(STAMP) programs
	$(BIN)/python -m pytest tests --ignore=tests/mutants -m "not docker" -n 2 --dist=loadfile $(ARGS)

mutants: $(STAMP) programs
	$(BIN)/python -m pytest tests/mutants -n 2 $(ARGS)

# All tests that need a kind cluster. One cluster at a time is enough for two cores.
in-kind: $(STAMP) programs
	$(if $(DGD_CONFORMANCE_NO_DOCKER),,$(WITH_KIND)) $(BIN)/python -m pytest tests/kind tests/in_kind -m docker $(ARGS)

programs: $(STAMP)
	@$(BIN)/python -m conformance.cluster.programs

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python %d.%d is too old: the suite needs 3.11 or newer; set PYTHON=" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

# Needed only when dependencies change: resolves them again for all supported Pythons.
lock: $(STAMP)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header \
	  --group dev --python-version 3.11 pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) results .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
