# `make serve` and `make test` set up everything that they need.

PYTHON ?= python3
# Each Python has its own environment: make test PYTHON=python3.13
VENV ?= .venv$(addprefix -,$(filter-out python3,$(notdir $(PYTHON))))
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
NPM = $(abspath $(VENV))/bin/npm --no-audit --no-fund
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check --quiet

# Otherwise, each of the hundred services that the suite starts would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: aliases serve test page deploy-test coded load bench-smoke lint types oldest newest clients clients-python clients-typescript examples fuzz bench bench-draw bench-quick models arrays releases page-shots pictures lines interface docs wheel sdist smoke package audit links release-check repository image image-test image-reproducible pin-base lock clean

serve: $(VENV)/service.done
	@exec $(VENV)/bin/axiscast serve

test: $(VENV)/dev.done
	$(VENV)/bin/python -m pytest -n auto --dist worksteal --ignore=tests/static --ignore=tests/deploy

# The web page in Chromium, which costs a fifth of the processor time of all tests.
page: $(VENV)/dev.done
	$(VENV)/bin/python -m pytest tests/static -n auto --dist worksteal

# The files in deploy/, with nginx, HAProxy and Prometheus, whose checks and alerts need a minute of waiting.
deploy-test: $(VENV)/dev.done
	$(VENV)/bin/python -m pytest tests/deploy -n auto --dist worksteal

# The tests of facts again, with a code instead of each sentence. A test that asserts a sentence outside tests/words fails.
coded: $(VENV)/dev.done
	cd tests && $(abspath $(VENV))/bin/python -m pytest -p coded_words -n auto --dist worksteal \
	  checks cli client comparison drawing endpoints explanation messages middleware models ops plan training \
	  translation wire test_*.py

# Services under load: many connections, a siege, steady traffic, and replaced keys and certificates.
load: $(VENV)/dev.done
	$(VENV)/bin/python -m pytest tests/load/load_*.py -n auto --dist worksteal

bench-smoke: $(VENV)/dev.done
	$(VENV)/bin/python -m pytest tests/smoke_benchmarks.py -n auto --dist worksteal

lint: $(VENV)/dev.done
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/zizmor --offline --quiet --persona=pedantic .github

types: $(VENV)/dev.done
	$(VENV)/bin/mypy
	cd tests && $(abspath $(VENV))/bin/python -m typed mypy

# The tests of code that calls dependencies, with the oldest versions that pyproject.toml allows.
VERSION_DEPENDENT = tests/checks/test_batch.py tests/cli/test_cli.py tests/client tests/endpoints tests/engine \
	tests/middleware tests/models/test_onnx_model.py tests/service/test_service.py tests/wire tests/test_*.py
oldest: $(VENV)/bin/python
	@echo "Installing the oldest supported versions ..."
	@$(PYTHON) -m venv $(VENV)-oldest
	@$(VENV)-oldest/bin/python -m pip --disable-pip-version-check --quiet install -c tests/oldest.txt -e '.[service,metrics,dev]'
	$(VENV)-oldest/bin/python -m pytest $(VERSION_DEPENDENT) -n auto --dist worksteal -W default \
	  --ignore=tests/client/test_response_memory.py

# The suite with the newest versions, each night, because pyproject.toml has no upper bounds.
newest: $(VENV)/bin/python
	@echo "Installing the newest versions ..."
	@$(PYTHON) -m venv $(VENV)-newest
	@$(VENV)-newest/bin/python -m pip --disable-pip-version-check --quiet install --upgrade --upgrade-strategy eager -e '.[service,metrics,dev]'
	$(VENV)-newest/bin/python -m pytest -n auto --dist worksteal -W default

# Generated clients of the OpenAPI document: their types are checked, and they call all endpoints.
clients: clients-python clients-typescript

clients-python: $(VENV)/clients.done
	cd tests && $(abspath $(VENV))/bin/python -m clients python

clients-typescript: $(VENV)/clients.done
	@cd tests/clients && $(NPM) ci --ignore-scripts --silent
	cd tests && $(abspath $(VENV))/bin/python -m clients typescript
	cd tests && $(abspath $(VENV))/bin/python -m typed pyright

# The examples, run with a service. They use curl, jq, go, haproxy and nginx of the machine.
examples: $(VENV)/clients.done $(VENV)-dask/dask.done
	@for folder in node typescript; do (cd examples/$$folder && $(NPM) ci --ignore-scripts --silent) || exit 1; done
	$(VENV)/bin/python -m pytest tests/run_examples.py

$(VENV)-dask/dask.done: examples/dask/requirements.txt pyproject.toml
	@echo "Installing Dask and Zarr ..."
	@$(PYTHON) -m venv $(VENV)-dask
	@$(VENV)-dask/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r examples/dask/requirements.txt
	@$(VENV)-dask/bin/python -m pip --disable-pip-version-check --quiet install --no-deps -e .
	@touch $@

# Longer fuzzing than in the suite: all parsers of input, guided by coverage, and then all endpoints by their schema.
SECONDS ?= 60
fuzz: $(VENV)/dev.done
	@$(PIP) install -e '.[fuzz]'
	cd tests && for target in msgpack json query shape answer connection; do \
	  $(abspath $(VENV))/bin/python -m fuzz.guided $$target $(SECONDS) || exit; done
	cd tests && $(abspath $(VENV))/bin/python -m fuzz.documented $(SECONDS)

# All benchmarks (docs/evidence/performance.md). A single group, such as bench-checks or bench-fresh, runs a script of benchmarks or
# benchmarks/load, and writes benchmarks/results/checks.json.
bench: bench-checks bench-library bench-engine bench-remote bench-tensors bench-scale bench-fresh bench-draw

bench-%: $(VENV)/dev.done
	$(VENV)/bin/python $(wildcard benchmarks/$*.py benchmarks/load/$*.py) -o benchmarks/results/$*.json

# Exported models of torch and transformers (docs/models.md), after watch, check_torch and check_jax with real frameworks.
# It needs gigabytes and minutes. The suite has stand-ins and recorded programs.
models:
	@$(PYTHON) -m venv $(VENV)-models
	@$(VENV)-models/bin/python -m pip --disable-pip-version-check --quiet install -r benchmarks/models.txt -e '.[onnx,dev]'
	$(VENV)-models/bin/python -m pytest tests/training/test_watching.py tests/training/test_watch_effects.py \
	  tests/training/test_pytest_plugin.py tests/training/test_watched_programs.py tests/models/test_programs.py \
	  tests/training/test_upstream.py tests/training/test_torch_functions.py tests/models/test_jax_functions.py \
	  tests/training/test_why_torch.py tests/training/test_origins.py
	$(VENV)-models/bin/python benchmarks/intent.py
	$(VENV)-models/bin/python benchmarks/models.py
	$(VENV)-models/bin/python benchmarks/probes.py

# Real arrays of torch, jax, TensorFlow, xarray, pyarrow, polars and pandas (docs/arrays.md). It needs gigabytes. The suite
# has stand-ins.
arrays:
	@$(PYTHON) -m venv $(VENV)-arrays
	@$(VENV)-arrays/bin/python -m pip --disable-pip-version-check --quiet install -r tests/arrays.txt -e '.[service,dev]'
	$(VENV)-arrays/bin/python -m pytest tests/real_arrays.py \
	  "tests/project/test_words.py::test_every_python_example_prints_the_documented_output[docs/arrays.md]"

# Comparison of all aliases with their functions: make aliases WITH="numpy=PYTHON torch=PYTHON", a Python for each framework.
aliases: $(VENV)/dev.done
	$(VENV)/bin/python tests/aliases.py $(WITH)

# Comparison of the vectors and the warning release-differs with the released frameworks, each in its own environment, and
# the explanations of programs that fail in them (tests/releases/mistakes). It needs gigabytes and an hour. The first for
# some of them: make releases FRAMEWORKS="torch onnx"
FRAMEWORKS ?=
releases: $(VENV)/dev.done
	cd tests && $(abspath $(VENV))/bin/python -m releases --environments $(abspath $(VENV))-releases $(FRAMEWORKS)
	cd tests && $(abspath $(VENV))/bin/python -m releases.mistakes --environments $(abspath $(VENV))-releases
	cd tests && $(abspath $(VENV))/bin/python -m releases.mistakes --environments $(abspath $(VENV))-releases --drawn 200

bench-draw: $(VENV)/dev.done
	$(VENV)/bin/python benchmarks/draw.py

bench-quick: $(VENV)/dev.done
	$(VENV)/bin/python benchmarks/engine.py --rounds 3 --mib 32
	$(VENV)/bin/python benchmarks/remote.py --rounds 2 --mib 64
	$(VENV)/bin/python benchmarks/checks.py --rounds 1 --seconds 1
	$(VENV)/bin/python benchmarks/library.py --rounds 3
	$(VENV)/bin/python benchmarks/scale.py --rounds 1 --mib 32 --points 4

# The pictures in README.md and docs/, each from the command above it.
pictures: $(VENV)/dev.done
	$(VENV)/bin/python docs/draw_pictures.py

# A screenshot of each state of the page, in site/page, and the tests of its layout and of its accessibility, with axe. It
# needs Chromium.
page-shots: $(VENV)/clients.done
	@cd tests/static && $(NPM) ci --ignore-scripts --silent
	$(VENV)/bin/python tests/page_shots.py site/page
	$(VENV)/bin/python -m pytest tests/static/test_states.py

# The lines of the product at two commits, by folder: make lines AT=v0.1.0 BESIDE=HEAD
AT ?= HEAD
BESIDE ?=
lines:
	@$(PYTHON) benchmarks/lines.py $(AT) $(BESIDE)

# The snapshot of the public interface, after a change that docs/versions.md allows or CHANGELOG.md notes.
interface: $(VENV)/dev.done
	$(VENV)/bin/python tests/project/public_interface.py

# The documentation as a site in site/html. zensical has its own environment.
docs: $(VENV)-docs/docs.done
	@$(VENV)-docs/bin/python docs/build.py

$(VENV)-docs/docs.done: docs/requirements.txt pyproject.toml
	@echo "Installing the tools for the documentation ..."
	@$(PYTHON) -m venv $(VENV)-docs
	@$(VENV)-docs/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r docs/requirements.txt
	@$(VENV)-docs/bin/python -m pip --disable-pip-version-check --quiet install --no-deps -e .
	@touch $@

# The wheel and the source distribution, which have the same bytes for the same source: hatchling, with a locked version,
# sets equal dates.
wheel: $(VENV)-build/build.done
	@rm -f dist/*.whl
	@$(VENV)-build/bin/hatchling build --target wheel --directory dist
	@sha256sum dist/*.whl

sdist: $(VENV)-build/build.done
	@rm -f dist/*.tar.gz
	@$(VENV)-build/bin/hatchling build --target sdist --directory dist
	@sha256sum dist/*.tar.gz

$(VENV)-build/build.done: deploy/requirements-build.txt
	@$(PYTHON) -m venv $(VENV)-build
	@$(VENV)-build/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r deploy/requirements-build.txt
	@touch $@

# The wheel in a bare environment: the import name and the console script.
smoke: $(VENV)/bin/python wheel
	cd tests && $(abspath $(VENV))/bin/python -m package --quick

# The wheel and the source distribution in bare environments: each extra, on each Python, without a compiler, by pip, uv
# and pipx. For some of the Pythons: make package PYTHONS="python3.11 python3.14"
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
package: wheel sdist $(VENV)-package/package.done
	$(VENV)-package/bin/twine check --strict dist/*
	$(VENV)-package/bin/check-wheel-contents dist/*.whl
	cd tests && $(abspath $(VENV))-package/bin/python -m package --pythons $(PYTHONS)

# Known vulnerabilities in the locked packages, from the package index. A package without an answer is an error.
audit: $(VENV)-package/package.done
	for lock in $$(git ls-files '*requirements*.txt'); do \
	  $(VENV)-package/bin/pip-audit --strict --require-hashes --disable-pip --requirement $$lock || exit; done

# The external links of the documentation. It needs the internet.
links: $(VENV)/dev.done
	$(VENV)/bin/python docs/check_links.py

$(VENV)-package/package.done: tests/package/requirements.txt
	@$(PYTHON) -m venv $(VENV)-package
	@$(VENV)-package/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

# The reasons why a tag cannot be released: make release-check TAG=v0.1.0
TAG ?=
release-check:
	@$(PYTHON) deploy/release_check.py --tag "$(TAG)"

# The address of the repository, in place of the placeholder: make repository URL=https://github.com/OWNER/axiscast
repository:
	@$(PYTHON) deploy/release_check.py --repository "$(URL)"

# The image, with labels, and its SBOM in dist-image/: make image TAG=registry.example.org/axiscast:0.1.0 ENGINE=podman
image:
	@$(PYTHON) deploy/image.py build $(if $(TAG),--tag "$(TAG)")

image-test:
	deploy/image_test.sh

# Two builds of the image from two folders, whose layers must be equal.
image-reproducible:
	@$(PYTHON) deploy/image.py compare --stand-in

# The newest digest of the base image, in the Dockerfile. For another image: make pin-base BASE=python:3.13-slim-bookworm
pin-base:
	@$(PYTHON) deploy/pin_base.py $(BASE)

# The lock files have versions and hashes, and no registry.
LOCK = $(VENV)/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --upgrade
lock: $(VENV)/clients.done
	@$(PIP) install pip-tools
	$(LOCK) pyproject.toml --extra service --extra metrics --extra otel -o deploy/requirements.txt
	$(LOCK) pyproject.toml --extra service --extra metrics --extra otel --extra dev -o tests/requirements.txt
	$(LOCK) pyproject.toml --extra docs -o docs/requirements.txt
	$(LOCK) pyproject.toml --only-build-deps --build-deps-for wheel -o deploy/requirements-build.txt
	$(LOCK) deploy/requirements-sbom.in -o deploy/requirements-sbom.txt
	$(LOCK) tests/package/requirements.in -o tests/package/requirements.txt
	$(LOCK) pyproject.toml examples/dask/requirements.in -c tests/requirements.txt -o examples/dask/requirements.txt
	$(LOCK) tests/clients/requirements.in -c tests/requirements.txt -o tests/clients/requirements.txt
	for folder in tests/clients tests/static examples/node examples/typescript; do (cd $$folder && \
	  $(NPM) update --package-lock-only --omit-lockfile-registry-resolved && \
	  $(abspath $(VENV))/bin/python -c "$$WITHOUT_HOSTS") || exit; done
define WITHOUT_HOSTS
import json, pathlib
lock = json.loads((file := pathlib.Path("package-lock.json")).read_text())
for package in lock["packages"].values():
    package.pop("funding", None)
file.write_text(json.dumps(lock, indent=2) + "\n")
endef
export WITHOUT_HOSTS

clean:
	rm -rf .venv .venv-* dist dist-image site

$(VENV)/bin/python:
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  rm -rf $(VENV); echo "Installing Debian's python3-venv, which venv needs ..."; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -qq -y python3-venv >/dev/null && $(PYTHON) -m venv $(VENV); }

$(VENV)/service.done: deploy/requirements.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing the service ..."
	@$(PIP) install --require-hashes -r deploy/requirements.txt
	@$(PIP) install --no-deps -e .
	@touch $@

$(VENV)/clients.done: tests/clients/requirements.txt $(VENV)/dev.done
	@echo "Installing the generators of clients, and Node.js ..."
	@$(PIP) install --require-hashes -r tests/clients/requirements.txt
	@touch $@

$(VENV)/dev.done: tests/requirements.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing the service and its tests ..."
	@$(PIP) install --require-hashes -r tests/requirements.txt
	@$(PIP) install --no-deps -e .
	@touch $@ $(VENV)/service.done
