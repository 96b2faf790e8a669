# `make` lists what there is.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SHELLFLAGS := -eu -c
# Modules are compiled once, also where images of machines say that Python must not keep what it compiled:
# each command of a test would compile anew what changed, each process of pytest all tests.
export PYTHONDONTWRITEBYTECODE :=
MAKEFLAGS += --no-print-directory --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
WORKER := $(BIN)/datamill-worker
TRACER := $(VENV)/lib/datamill/libdatamill_trace.so
VALIDATOR := $(VENV)/validator/.packages
TARGET := $(or $(CARGO_TARGET_DIR),target)
HOST = $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
# The first interpreter that is new enough; PYTHON=... names another.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	if "$$name" -c '$(NEW_ENOUGH)' 2>/dev/null; then echo "$$name"; break; fi; done)
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates $(wildcard protocol) -type f \( -name '*.rs' -o -name '*.toml' -o -name '*.json' \))

define need-rust
@if [ -z '$(HOST)' ]; then \
	echo 'Rust 1.88 or later is needed (rustc and cargo); see https://rustup.rs.' >&2; exit 2; fi
endef

# One process more than processors, up to four: tests wait a third of their time.
PROCESSES := $(shell count=$$(nproc); if [ "$$count" -lt 4 ]; then echo $$((count + 1)); else echo 4; fi)
PYTEST := $(BIN)/pytest --numprocesses $(PROCESSES) --no-loadscope-reorder

STUDY := build/xz-vs-bzip2$(if $(FULL),-full,$(if $(QUICK),-quick))
PREPARE_OPTIONS = $(if $(FULL),--full,$(if $(QUICK),--quick)) $(if $(XZ),--xz '$(XZ)') $(if $(BZIP2),--bzip2 '$(BZIP2)') \
	$(if $(CORPUS),--corpus '$(CORPUS)')

# What crates show in their documents is text, which rustdoc need not read to find that out; programs under examples/,
# which `make lint` compiles, are not linked.
# Twice as many at once as processors, as they wait half of their time.
CARGO_TEST := RUST_TEST_THREADS=$(shell echo $$((2 * $$(nproc)))) cargo test --quiet --workspace --tests --locked

# Python without the ending.
SCRIPTS := wheels/build wheels/check studies/xz-vs-bzip2/prepare studies/memory-layout/experiment-3-guests $(wildcard studies/*/summarize studies/*/measure)

.PHONY: help setup demo installed rust-tests built test check prove hostile nightly lint lint-python lint-rust bench simulate man \
	wheel wheel-check glossary rights clean

help: ## list the targets
	@echo 'make setup   everything that the other targets need: .venv/bin/datamill and .venv/bin/datamill-worker'
	@echo 'make demo    xz against bzip2, a few minutes; ends with the path of the report'
	@echo '             FULL=1                                    the published design: 1800 trials'
	@echo '             QUICK=1                                   32 trials, to see that it works'
	@echo '             XZ=TARBALL BZIP2=TARBALL CORPUS=FOLDER    where there is no Debian archive'
	@echo 'make test    the tests that prove a change, Rust and Python; says what it leaves to make check'
	@echo 'make check   the other tests: live R, PostgreSQL, a browser, guests, attacks, kills, rates; half an hour'
	@echo 'make prove   both in one go, which takes less than one after the other'
	@echo 'make nightly the same, with everything that is random or killed repeated more often; hours'
	@echo 'make hostile the attacks alone, as strangers, users, packages and workers, and a table of them'
	@echo 'make lint    format, linters, types, import order'
	@echo 'make bench   side-by-side comparisons with other harnesses; Markdown tables'
	@echo 'make simulate   fleets in virtual time, with faults: docs/why/simulation.md'
	@echo '             SEEDS=10000                               as at night'
	@echo 'make wheel   what pip installs, into build/wheels: for this machine, and for aarch64 where that can be built'
	@echo 'make wheel-check   the same, then installed and used without Rust, home and network'
	@echo 'make man     pages of the manual, into build/man'
	@echo 'make glossary   write docs/glossary.md from the words that pages explain'
	@echo 'make rights   write docs/reference/rights.md: who may do what on a coordinator, from the table that is tried'
	@echo 'make clean   remove what is built; keeps build/, where bundles are'

# Each build leaves a processor idle in its last minutes: they run at once, also where `make` was given no -j.
AT_ONCE = $(MAKE) $(if $(findstring jobserver,$(MAKEFLAGS)),,-j3)

setup:
	+@$(AT_ONCE) installed

installed: $(VENV)/.project $(WORKER) $(TRACER)
	@:

# pip comes with the interpreter, uv from pip, everything else from uv; each checked against its hash.
$(VENV)/.uv: requirements/setup.txt
	@if [ -z '$(PYTHON)' ]; then \
		echo 'Python 3.11 or later is needed. Install it, or name one: make setup PYTHON=/path/to/python3.' >&2; exit 2; fi
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get install -y --no-install-recommends python3-venv; \
		else \
			echo 'This Python cannot make virtual environments. On Debian: apt-get install python3-venv.' >&2; exit 2; fi; fi
	@echo 'setup, step 1 of 5: an environment for Python in $(VENV) (seconds)'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/setup.txt
	@touch $@

$(VENV)/.packages: $(VENV)/.uv requirements/dev.txt
	@echo 'setup, step 2 of 5: packages of Python, downloaded once (up to 2 minutes)'
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@

# With it the kernels that Python loads are built. Cargo counts its own jobs: of `make -j` it has no pipe.
$(VENV)/.project: $(VENV)/.packages pyproject.toml $(RUST_SOURCES)
	$(need-rust)
	@echo 'setup, step 3 of 5: kernels of the analyses, compiled (1 to 5 minutes)'
	MAKEFLAGS= $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src/datamill
	@touch $@

# Static, so that the same file runs in any trial's private world.
$(WORKER): $(VENV)/.uv $(RUST_SOURCES)
	$(need-rust)
	@echo 'setup, step 4 of 5: the worker, compiled (1 to 5 minutes)'
	MAKEFLAGS= RUSTFLAGS='-C target-feature=+crt-static' \
		cargo build --quiet --release --locked --target $(HOST) --target-dir $(TARGET) -p datamill-worker
	@cp $(TARGET)/$(HOST)/release/datamill-worker $@.new
	@mv $@.new $@

# What traced programs load; the profile is that of the other library, whose frames can be unwound.
$(TRACER): $(VENV)/.uv $(RUST_SOURCES)
	$(need-rust)
	@echo 'setup, step 5 of 5: the tracer of allocations, compiled (seconds)'
	MAKEFLAGS= cargo build --quiet --profile native --locked --target-dir $(TARGET) -p datamill-trace
	@mkdir -p $(@D)
	@cp $(TARGET)/native/libdatamill_trace.so $@.new
	@mv $@.new $@

# In an environment of its own: the validator of RO-Crates wants an older rich than ours.
$(VALIDATOR): $(VENV)/.uv requirements/validator.txt
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(@D)
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --require-hashes -r requirements/validator.txt
	@touch $@

demo: setup
	@$(BIN)/python studies/xz-vs-bzip2/prepare $(PREPARE_OPTIONS)
	@$(BIN)/datamill run $(STUDY)/experiment.toml --out $(STUDY)/bundle-$$(date +%Y%m%d-%H%M%S)

built:
	+@$(AT_ONCE) installed rust-tests $(VENV)/.tests

rust-tests:
	$(need-rust)
	MAKEFLAGS= $(CARGO_TEST) --no-run

# After setup, tests are compiled by one process; else each of pytest's compiles all. It is not done again when tests
# change: each process compiles those few in less time than collecting all takes here (17 seconds).
$(VENV)/.tests: $(VENV)/.project
	@$(BIN)/pytest --collect-only --quiet >/dev/null 2>&1 || true
	@touch $@

# First those of Rust, whatever they find: their trials set the machine, and would undo what tests of Python set.
test: built
	@status=0; \
	MAKEFLAGS= $(CARGO_TEST) --no-fail-fast || status=1; \
	MAKEFLAGS= $(PYTEST) --stage change || status=1; \
	exit $$status

check: setup
	@$(MAKE) $(VALIDATOR)
	@# R itself answers what is frozen for `make test`.
	@$(PYTEST) --stage check --live-r

# Each process of pytest collects the tests once instead of twice, and none waits for the last one of a stage.
# Without R the frozen answers still prove what they prove.
prove: LIVE := $(shell command -v Rscript >/dev/null && echo --live-r)
prove: built
	@$(MAKE) $(VALIDATOR)
	@status=0; \
	MAKEFLAGS= $(CARGO_TEST) --no-fail-fast || status=1; \
	MAKEFLAGS= $(PYTEST) $(LIVE) || status=1; \
	exit $$status

hostile: setup
	$(BIN)/pytest tests/integration/hostile --attacks

# What only repetition shows: 10 000 seeds of the simulation, more kills, more examples.
nightly: export DATAMILL_NIGHTLY := 1
nightly: prove

lint: lint-python lint-rust

lint-python: setup
	$(BIN)/ruff check . $(SCRIPTS)
	$(BIN)/ruff format --check . $(SCRIPTS)
	$(BIN)/mypy
	$(BIN)/lint-imports

lint-rust: OTHER := $(if $(filter aarch64,$(shell uname -m)),x86_64,aarch64)-unknown-linux-gnu
lint-rust:
	$(need-rust)
	cargo fmt --all --check
	MAKEFLAGS= cargo clippy --quiet --workspace --all-targets --locked -- -D warnings
# What has code of its own for each processor, for the other one, where its library is installed.
	@if [ -d "$$(rustc --print sysroot)/lib/rustlib/$(OTHER)" ]; then \
	    MAKEFLAGS= cargo check --quiet --locked --target $(OTHER) -p datamill-trace; \
	else echo "datamill-trace is not checked for $(OTHER): rustup target add $(OTHER)"; fi

bench: setup
	$(BIN)/python benches/trials/harness_error.py
	$(BIN)/python benches/trials/clean_trial.py
	$(BIN)/python benches/reports/bundle_ingest.py
	$(BIN)/python benches/reports/report_time.py
	$(BIN)/python benches/analyses/anova.py
	$(BIN)/python benches/analyses/summaries.py
	$(BIN)/python benches/analyses/quantiles.py
	$(BIN)/python benches/analyses/nested.py
	$(BIN)/python benches/trials/factor_time.py
	$(BIN)/python benches/trials/quiet_trials.py
	$(BIN)/python benches/fleet/fleet_throughput.py
	$(BIN)/python benches/fleet/fleet_broker.py
	$(BIN)/python benches/fleet/fleet_planning.py
	$(BIN)/python benches/pages/request_budgets.py
	$(BIN)/python benches/fleet/fleet_worker.py
	$(BIN)/python benches/fleet/worker_choice.py
	$(BIN)/python benches/allocators/allocators.py

glossary: setup
	$(BIN)/python -m datamill.report.words.glossary > docs/glossary.md

rights: setup
	PYTHONPATH=tests $(BIN)/python -m integration.hostile.users.rights_page > docs/reference/rights.md

# Not in .venv/.packages: the linker that reaches old C libraries is large.
$(VENV)/.wheel-tools: $(VENV)/.packages requirements/wheel.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/wheel.txt
	@touch $@

wheel: setup $(VENV)/.wheel-tools
	@$(BIN)/python wheels/build --target-dir $(TARGET)

wheel-check: wheel
	@$(BIN)/python wheels/check

man: setup
	@$(BIN)/python -m datamill.cli.shell.manual build/man/man1
	@echo 'read one with: man -l build/man/man1/datamill.1'

simulate: setup
	PYTHONPATH=tests $(BIN)/python -m simulation --seeds 0..$(or $(SEEDS),200) --jobs $(or $(JOBS),2)
	PYTHONPATH=tests $(BIN)/python -m simulation.shares --seeds 0..$(or $(SEEDS),200) --jobs $(or $(JOBS),2)

clean:
	rm -rf $(VENV) $(TARGET) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
