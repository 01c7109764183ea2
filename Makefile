# `make` lists the targets.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
# A Python with TensorFlow 2.21; `make tf-venv` creates the default.
VENV := .venv-tf
TF_PYTHON ?= $(VENV)/bin/python
# The tests of the Python package, without TensorFlow.
PY_VENV := .venv-py
# Notebooks and data frames.
NB_VENV := .venv-notebook
# Programs that read tables.
TABLES_VENV := .venv-tables
# TensorFlow, PyTorch and the converters between formats of models.
MODELS_VENV := .venv-models
# Dask and S3; Ray and Spark.
FLEET_VENV := .venv-fleet
FLEET_ALL_VENV := .venv-fleet-all
# XProf and JAX, to compare profiles.
XPROF_VENV := .venv-xprof
# Flags for benches/run.py.
BENCH ?=
# The seed of the differential tests: a new one each time unless given.
ifndef SEED
SEED := $(shell date +%s)
endif
MODELS ?= 200
QUESTIONS ?= 8
# Live models are built and run, so there are fewer.
LIVE_MODELS ?= $(shell expr $(MODELS) / 5)
# The Python of torch, and the one of HTA.
TORCH_VENV ?= .venv-torch
TORCH_PYTHON ?= $(TORCH_VENV)/bin/python
HTA_PYTHON ?= $(TORCH_PYTHON)
# How long each fuzz target runs.
SECONDS ?= 60

CARGO := cargo
# A build never changes the lock file.
LOCKED := --locked
BUILT := $(or $(CARGO_TARGET_DIR),target)
# Where a virtual environment keeps its programs.
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

# $(call wheel,ENVIRONMENT,PROFILE,PIP FLAGS): build the wheel with an environment's maturin and install it there, or
# elsewhere with --target.
define wheel
	rm -rf $(BUILT)/wheels
	$1/$(BIN)/maturin build --quiet $(LOCKED) --profile $2 --manifest-path python/Cargo.toml --out $(BUILT)/wheels
	$1/$(BIN)/python $(PIP_INSTALL) --no-deps $3 $(BUILT)/wheels/*.whl
endef

.DEFAULT_GOAL := help
.PHONY: help build test fmt-check licenses lint cargo-test docs-check python-test python-for-tf python-tf toolchain test-tools test-tables test-fleet test-fleet-all tools debian-tools test-tf verify-corpus checkpoints keras shapes differential tf-venv bench bench-xspace test-xprof bench-alone bench-guard growth bench-python \
        demo fuzz fuzz-check docs pictures clean
.PHONY: test-quick portability interfaces site test-site wheel install release-check
.PHONY: test-models test-notebook test-sdist web web-check test-web test-torch

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the release binary
	$(CARGO) build $(LOCKED) --release

# Leaves out the slow ones: golden, mutations and inference (over the corpus), docs (every command of the pages), hostile, terminal,
# and the Python package. No SQLite, so there is no C to compile.
test-quick: fmt-check ## the format, and the unit tests of the library: while you work
	$(CARGO) test $(LOCKED) --quiet --no-default-features --lib -p tfprof-proto -p tfprof

test: fmt-check licenses lint cargo-test docs-check python-test ## format, lints, all tests, docs; without TensorFlow

fmt-check: toolchain
	$(CARGO) fmt --all --check

licenses: ## every dependency has a licence that deny.toml allows
	$(PYTHON) scripts/licenses.py

lint: toolchain
	$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings

# The dev profile has overflow checks and debug assertions, and compiles faster than release.
cargo-test:
	$(CARGO) test $(LOCKED) --workspace

# The wheel as users install it, without TensorFlow. Most of the dev profile is compiled already.
python-test: $(PY_VENV)/ready ## the Python package, without TensorFlow
	$(call wheel,$(PY_VENV),dev,--force-reinstall)
	$(PY_VENV)/$(BIN)/pytest -q python/tests
	cd python && $(abspath $(PY_VENV))/$(BIN)/mypy tfprof
	cd $(BUILT) && $(abspath $(PY_VENV))/$(BIN)/stubtest --ignore-missing-stub tfprof._native tfprof._views

# Screenshots go to target/test-notebook.
test-notebook: debian-tools $(NB_VENV)/ready ## the Python package in a notebook, its HTML in Chromium, and data frames
	$(call wheel,$(NB_VENV),dev,--force-reinstall)
	TFPROF_PICTURES="$(abspath $(BUILT))/test-notebook" $(NB_VENV)/$(BIN)/pytest -q python/notebook_tests python/tests/test_docs.py

# Records traces on the CPU. TORCH_PYTHON is a Python with torch, HTA_PYTHON one with HolisticTraceAnalysis.
test-torch: $(if $(filter $(TORCH_VENV)/%,$(TORCH_PYTHON)),$(TORCH_VENV)/ready) $(PY_VENV)/ready ## compare traces with torch: key_averages(), flop_counter, HTA's breakdown
	$(CARGO) build $(LOCKED) --workspace
	$(TORCH_PYTHON) tests/kineto/live.py $(BUILT)/debug/tfprof $(BUILT)/test-torch/live
	$(TORCH_PYTHON) tests/kineto/flops.py $(BUILT)/debug/tfprof $(BUILT)/test-torch/flops
	$(PYTHON) tests/kineto/odd_traces.py $(BUILT)/debug/tfprof 1 200
	$(HTA_PYTHON) tests/kineto/breakdown.py $(BUILT)/debug/tfprof corpus/kineto/hta.json.gz
	rm -rf $(BUILT)/test-torch/python
	$(call wheel,$(PY_VENV),dev,--target $(BUILT)/test-torch/python)
	PYTHONPATH="$(abspath $(BUILT)/test-torch/python)" $(TORCH_PYTHON) tests/kineto/open_live.py
	PYTHONPATH="$(abspath $(BUILT)/test-torch/python)" $(TORCH_PYTHON) tests/kineto/record_live.py
	PYTHONPATH="$(abspath $(BUILT)/test-torch/python)" $(TORCH_PYTHON) tests/tutorials.py torch_profiler.py

$(TORCH_VENV)/ready:
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/$(BIN)/python $(PIP_INSTALL) torch numpy HolisticTraceAnalysis
	touch $@

# The source distribution, built without a clone.
test-sdist: $(PY_VENV)/ready ## build, install and run the source distribution of the Python package
	rm -rf $(BUILT)/sdist
	$(PY_VENV)/$(BIN)/maturin sdist --manifest-path python/Cargo.toml --out $(BUILT)/sdist
	$(PYTHON) -m venv $(BUILT)/sdist/venv
	$(BUILT)/sdist/venv/bin/python $(PIP_INSTALL) $(BUILT)/sdist/*.tar.gz
	cd / && $(abspath $(BUILT))/sdist/venv/bin/tfprof demo op -max_depth 3
	cd / && $(abspath $(BUILT))/sdist/venv/bin/python -c "import tfprof; print(tfprof.demo())"

# Virtual environments, from the first prerequisite. The stamp comes last, so an interrupted install starts over.
$(PY_VENV)/ready: python/requirements-test.txt
$(NB_VENV)/ready: python/requirements-notebook.txt python/requirements-test.txt
$(XPROF_VENV)/ready: tests/xprof/requirements.txt
$(TABLES_VENV)/ready: tests/tables/requirements.txt
$(MODELS_VENV)/ready: tests/dialects/requirements.txt
$(FLEET_VENV)/ready: tests/fleet/requirements.txt
$(FLEET_ALL_VENV)/ready: tests/fleet/requirements-all.txt
$(VENV)/ready: tests/differential/requirements.txt

%/ready:
	$(PYTHON) -m venv --clear $*
	$*/$(BIN)/python $(PIP_INSTALL) -r $<
	touch $@

# The wheel goes to a directory of its own, which leaves TensorFlow's environment unchanged.
python-for-tf: tf-venv $(PY_VENV)/ready
	rm -rf $(BUILT)/python-tf
	$(call wheel,$(PY_VENV),dev,--target $(BUILT)/python-tf/tfprof)

# Compares the package with TensorFlow's API.
python-tf: python-for-tf
	$(PY_VENV)/$(BIN)/python $(PIP_INSTALL) --target $(BUILT)/python-tf/pytest pytest ipykernel nbclient nbformat
	PYTHONPATH="$(abspath $(BUILT)/python-tf/tfprof):$(abspath $(BUILT)/python-tf/pytest)" $(TF_PYTHON) -m pytest -q tests/tf
	PYTHONPATH="$(abspath $(BUILT)/python-tf/tfprof)" $(TF_PYTHON) tests/tutorials.py keras_fit.py

# The program is the one that `cargo-test` built: without the dependencies of tests, parts of it would be compiled again.
docs-check:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(LOCKED) --workspace --no-deps --quiet
	$(CARGO) test $(LOCKED) --workspace --no-run --quiet
	$(PYTHON) scripts/pictures.py --check --binary $(BUILT)/debug/tfprof
	$(PYTHON) scripts/interfaces.py --binary $(BUILT)/debug/tfprof

interfaces: ## list the interfaces that docs/semver.md covers, for a release
	$(CARGO) build $(LOCKED) --workspace
	$(PYTHON) scripts/interfaces.py --binary $(BUILT)/debug/tfprof --write

# 32 bits, no operating system, big-endian. `rustup` downloads what is missing.
PORTABLE := wasm32-unknown-unknown i686-unknown-linux-gnu s390x-unknown-linux-gnu
portability: ## the program compiles for Windows, the library for 32-bit, WebAssembly and big-endian machines
	rustup target add $(PORTABLE)
	rustup target add x86_64-pc-windows-gnu
	$(CARGO) check $(LOCKED) --quiet -p tfprof-cli --no-default-features --target x86_64-pc-windows-gnu
	for target in $(PORTABLE); do $(CARGO) check $(LOCKED) --quiet -p tfprof --no-default-features --target $$target || exit 1; done

# Search needs a script that the theme would load from another host.
SITE_VENV := .venv-site
SITE_TOOLS := $(BUILT)/site-tools
$(SITE_VENV)/ready: docs/requirements.txt
site: $(SITE_VENV)/ready $(SITE_TOOLS)/node_modules/iframe-worker/package.json ## the documentation as a site, in target/site
	SITE_TOOLS="$(SITE_TOOLS)" NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/$(BIN)/mkdocs build --quiet --strict
	@echo "open target/site/index.html"

$(SITE_TOOLS)/node_modules/iframe-worker/package.json: | debian-tools
	npm install --silent --no-audit --no-fund --prefix $(SITE_TOOLS) iframe-worker@1.0.4

# Screenshots go to target/site-pictures.
test-site: site tests/web/node_modules/ready ## open every page of the site in Chromium: links, requests, both themes, search
	node tests/web/site.mjs target/site $(BUILT)/site-pictures

wheel: $(PY_VENV)/ready ## the wheel of the Python package for this system, in target/dist
	$(PY_VENV)/$(BIN)/maturin build --quiet $(LOCKED) --release --manifest-path python/Cargo.toml --out $(BUILT)/dist
	@ls $(BUILT)/dist/*.whl

PREFIX ?= /usr/local
install: build ## the program, its completions and its manual page, below PREFIX
	$(PYTHON) -c "import sys; sys.path.insert(0, 'scripts'); sys.dont_write_bytecode = True; import pathlib, release; \
	    release.install_files('$(BUILT)/release/tfprof', pathlib.Path('$(DESTDIR)$(PREFIX)').expanduser())"

# Slow: five release builds. As root, the demo also runs in an empty directory (chroot).
release-check: portability licenses $(PY_VENV)/ready ## everything of a release that needs no account; the results are in target/dist
	rustup target add x86_64-unknown-linux-musl
	PATH="$(abspath $(PY_VENV))/$(BIN):$$PATH" $(PYTHON) scripts/release.py $(RELEASE)

pictures: build debian-tools ## draw the pictures of the README and the docs
	$(PYTHON) scripts/pictures.py

# A minimal Rust toolchain lacks these two.
toolchain:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy

# The files go to target/test-models; LARGE=--large also makes files of 300 MB.
test-models: $(MODELS_VENV)/ready ## make models with Keras and PyTorch in all formats, and compare our figures with theirs and with peers'
	$(CARGO) build $(LOCKED) --workspace
	$(MODELS_VENV)/$(BIN)/python tests/dialects/keras_models.py $(BUILT)/test-models/keras
	$(MODELS_VENV)/$(BIN)/python tests/dialects/keras_models.py $(BUILT)/test-models/tf_keras --keras tf_keras
	$(MODELS_VENV)/$(BIN)/python tests/dialects/torch_models.py $(BUILT)/test-models/torch
	$(MODELS_VENV)/$(BIN)/python tests/dialects/compare.py $(BUILT)/debug/tfprof $(addprefix $(BUILT)/test-models/,keras tf_keras torch)
	$(MODELS_VENV)/$(BIN)/python tests/dialects/variants.py $(BUILT)/debug/tfprof $(BUILT)/test-models/variants $(LARGE)
	$(MODELS_VENV)/$(BIN)/python tests/dialects/nodes.py $(BUILT)/debug/tfprof $(BUILT)/test-models/nodes
	$(MODELS_VENV)/$(BIN)/python tests/dialects/layers.py $(BUILT)/debug/tfprof $(BUILT)/test-models/layers --seed $(SEED) --rounds 1

test-tools: tools ## open the outputs in pprof, Chromium and speedscope
	TFPROF_NEEDS_TOOLS=1 $(CARGO) test $(LOCKED) --workspace --test cli pprof
	$(CARGO) build $(LOCKED) --workspace
	node tests/tools/browser.mjs $(BUILT)/debug/tfprof corpus $(BUILT)/test-tools

test-tables: $(TABLES_VENV)/ready ## open tables in DuckDB, polars, pandas and pyarrow, from files and from Python
	$(CARGO) build $(LOCKED) --workspace
	$(TABLES_VENV)/$(BIN)/python tests/tables/readers.py $(BUILT)/debug/tfprof corpus $(BUILT)/test-tables
	$(call wheel,$(TABLES_VENV),dev,--force-reinstall)
	$(TABLES_VENV)/$(BIN)/pytest -q python/tests/test_facts.py

test-fleet: $(FLEET_VENV)/ready ## 64 hosts on processes, on Dask with two workers, and from S3 on the loopback interface
	$(call wheel,$(FLEET_VENV),dev,--force-reinstall)
	$(FLEET_VENV)/$(BIN)/pytest -q tests/fleet/test_fleet.py

# Java 17 has to be there for Spark.
test-fleet-all: test-fleet $(FLEET_ALL_VENV)/ready ## the same on Ray and Spark, which take minutes to start; tables in Spark
	$(call wheel,$(FLEET_ALL_VENV),dev,--force-reinstall)
	$(FLEET_ALL_VENV)/$(BIN)/pytest -q tests/fleet/test_fleet_all.py

web: web/node_modules/ready ## build the page of `tfprof web` from web/src into crates/tfprof-server/page
	cd web && npm run --silent check && npm run --silent build

web-check: web/node_modules/ready ## check, test and rebuild the page; fail if crates/tfprof-server/page is not what web/src builds
	cd web && npm run --silent check && npm run --silent test && node build.mjs --check

web/node_modules/ready: web/package-lock.json | debian-tools
	cd web && npm ci --silent --no-audit --no-fund
	touch $@

# Screenshots go to target/test-web.
test-web: debian-tools tests/web/node_modules/ready ## open the page of `tfprof web` and a report file in Chromium and Firefox, as a reader does
	$(CARGO) build $(LOCKED) --workspace
	TFPROF=$(BUILT)/debug/tfprof OUT=$(BUILT)/test-web node --test tests/web/page.test.mjs tests/web/screens.test.mjs tests/web/firefox.test.mjs

tests/web/node_modules/ready: tests/web/package.json | debian-tools
	cd tests/web && npm install --silent --no-audit --no-fund --no-package-lock
	touch $@

# Installs missing Debian packages.
tools: debian-tools tests/tools/node_modules/ready

debian-tools:
	@missing=; for tool in go:golang-go chromium:chromium firefox-esr:firefox-esr npm:npm; do \
	    command -v $${tool%:*} >/dev/null || missing="$$missing $${tool#*:}"; \
	done; \
	if [ -n "$$missing" ]; then \
	    echo "installing$$missing"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	fi

tests/tools/node_modules/ready: tests/tools/package.json | debian-tools
	cd tests/tools && npm install --silent --no-audit --no-fund
	touch $@

test-tf: verify-corpus checkpoints python-tf ## compare with the original, live: a fixed seed, and a sample of the corpus
	$(MAKE) shapes SEED=7
	$(MAKE) differential SEED=7 MODELS=200

# Records new files: TensorFlow with TF_PYTHON, JAX with the Python of XProf.
test-xprof: tf-venv $(XPROF_VENV)/ready ## compare profiles with XProf 2.24.2, row by row: fixtures and new recordings
	$(CARGO) build $(LOCKED) --release
	rm -rf $(BUILT)/test-xprof
	$(TF_PYTHON) benches/xspace_make.py tf $(BUILT)/test-xprof/tf 20
	$(XPROF_VENV)/bin/python benches/xspace_make.py jax $(BUILT)/test-xprof/jax 20
	$(XPROF_VENV)/bin/python tests/xprof/compare.py --tfprof $(BUILT)/release/tfprof --corpus corpus/xspace \
	    --jax $(BUILT)/test-xprof/jax $(BUILT)/test-xprof/tf
	$(XPROF_VENV)/bin/python tests/xprof/advice.py --tfprof $(BUILT)/release/tfprof

# Two files of over 100 MB, recorded once, and one of 22 MB as 16 hosts.
bench-xspace: tf-venv $(XPROF_VENV)/ready ## CPU time and memory for profiles, and XProf's
	$(CARGO) build $(LOCKED) --release
	test -d bench-data/xspace/tf || $(TF_PYTHON) benches/xspace_make.py tf bench-data/xspace/tf 6000
	test -d bench-data/xspace/jax || $(XPROF_VENV)/bin/python benches/xspace_make.py jax bench-data/xspace/jax 5000
	test -d bench-data/xspace/host || $(XPROF_VENV)/bin/python benches/xspace_make.py jax bench-data/xspace/host 960
	$(PYTHON) benches/xspace.py --xprof $(XPROF_VENV)/bin/python --binary $(BUILT)/release/tfprof \
	    --host bench-data/xspace/host/plugins/profile/*/*.xplane.pb --hosts 16 \
	    bench-data/xspace/tf/plugins/profile/*/*.xplane.pb bench-data/xspace/jax/plugins/profile/*/*.xplane.pb

verify-corpus: tf-venv
	$(TF_PYTHON) tests/differential/verify_corpus.py corpus --every 20

keras: tf-venv ## compare arrays as h5py and tfprof read them; `make test-models` compares models
	$(CARGO) build $(LOCKED) --release
	$(TF_PYTHON) tests/keras/arrays.py --tfprof $(BUILT)/release/tfprof

checkpoints: tf-venv ## compare checkpoints of TensorFlow as read by TensorFlow and by tfprof
	$(CARGO) build $(LOCKED) --release
	$(TF_PYTHON) tests/tf/checkpoints.py --tfprof $(BUILT)/release/tfprof

shapes: tf-venv ## compare inferred shapes with TensorFlow's (SEED=…), and those of recurrent models with runs
	$(CARGO) build $(LOCKED) --release -p tfprof -p tfprof-cli --example infer --bin tfprof
	$(TF_PYTHON) tests/tf/shapes.py --infer $(BUILT)/release/examples/infer --seed $(SEED)
	$(TF_PYTHON) tests/tf/recurrent.py --infer $(BUILT)/release/examples/infer --tfprof $(BUILT)/release/tfprof

differential: tf-venv python-for-tf ## compare random models and questions with the original, files and Python (SEED=… MODELS=…)
	rm -rf target/differential/$(SEED)
	@echo "seed $(SEED), $(MODELS) models, $(QUESTIONS) questions each; $(LIVE_MODELS) live models in Python"
	$(TF_PYTHON) tests/differential/random_cases.py --seed $(SEED) --models $(MODELS) --questions $(QUESTIONS) \
	    --out target/differential/$(SEED)
	TFPROF_CASES="$(CURDIR)/target/differential/$(SEED)" \
	    $(CARGO) test $(LOCKED) --release -p tfprof-tests --test golden
	PYTHONPATH="$(abspath $(BUILT)/python-tf/tfprof)" $(TF_PYTHON) tests/differential/random_python.py --seed $(SEED) \
	    --models $(LIVE_MODELS) --questions $(QUESTIONS)

tf-venv: $(if $(filter $(VENV)/%,$(TF_PYTHON)),$(VENV)/ready) ## a virtual environment with TensorFlow 2.21

bench: tf-venv ## time and memory, and the original's (BENCH="--nodes 1000000 --view code")
	TF_PYTHON="$(TF_PYTHON)" $(PYTHON) benches/run.py $(BENCH)

bench-alone: build ## scaling, large inputs, start-up (ALONE="--only growth")
	TF_PYTHON="$(wildcard $(TF_PYTHON))" $(PYTHON) benches/alone.py --binary $(BUILT)/release/tfprof $(ALONE)

bench-guard: build ## compare instruction counts with the recorded ones; needs valgrind
	$(PYTHON) benches/instructions.py --binary $(BUILT)/release/tfprof $(GUARD)

growth: build ## hostile files cost no more than they weigh; needs valgrind
	$(PYTHON) benches/growth.py --binary $(BUILT)/release/tfprof

bench-python: tf-venv $(PY_VENV)/ready ## time of the Python package and its hook, and of TensorFlow's
	rm -rf $(BUILT)/python-bench
	$(call wheel,$(PY_VENV),release,--target $(BUILT)/python-bench)
	PYTHONPATH="$(abspath $(BUILT)/python-bench)" $(TF_PYTHON) benches/python_api.py $(BENCH)
	PYTHONPATH="$(abspath $(BUILT)/python-bench)" $(TF_PYTHON) benches/hook.py

demo: ## make the sample of `tfprof demo` from the corpus
	$(PYTHON) scripts/make_demo.py

# The targets are outside of the workspace, so no other stage compiles them.
fuzz-check: ## the fuzz targets compile
	RUSTFLAGS="--cfg fuzzing" $(CARGO) check $(LOCKED) --quiet --manifest-path fuzz/Cargo.toml --bins --target-dir fuzz/target

fuzz: ## fuzz each reader (SECONDS=… per target)
	fuzz/run $(SECONDS)

docs: ## the API documentation, in target/doc
	$(CARGO) doc $(LOCKED) --workspace --no-deps

clean: ## remove everything built or installed here
	$(CARGO) clean
	rm -rf $(VENV) $(SITE_VENV) $(PY_VENV) $(NB_VENV) $(TABLES_VENV) $(FLEET_VENV) $(FLEET_ALL_VENV) $(XPROF_VENV) $(TORCH_VENV) tests/tools/node_modules tests/web/node_modules web/node_modules bench-data fuzz/target fuzz/artifacts target/differential
