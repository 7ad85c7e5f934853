# Two commands do everything on a fresh machine, the environment in .venv included.
#
#   make judge [CANDIDATE=path|module] [ENGINE=cuda|ttir|interpreter] [ARGS='more options of pytest']
#   make test                                  lint, the judge's own tests and sconv/ judged
#   make proofs                                of these, the proofs and what tests them
#   make oldest, make newest                   what touches Triton, under the oldest and newest version supported
#
# PYTHON=... chooses the Python that .venv is made from.

ROOT := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
PYTEST := .venv/bin/python -m pytest -n auto
CANDIDATE ?= sconv
ENGINE ?= auto
ARGS ?=
export PYTHON
# One worker per core and tiny tensors: torch's own threads only wait for one another (measured: 34 s instead of 70).
OMP_NUM_THREADS ?= 1
export OMP_NUM_THREADS

# The oldest Triton that is supported, and the newest, which constraints.txt pins; where pip's torch names another,
# `make test` uses that one.
OLDEST_TRITON := 3.6.0
NEWEST_TRITON := $(shell sed -n 's/^triton==//p' '$(ROOT)constraints.txt')

.PHONY: judge test proofs oldest newest lint clean

# A relative path is the caller's: $(PWD) is the directory that make was called from, also with make -C.
judge: $(ROOT).venv/judge
	@candidate='$(CANDIDATE)'; \
	case "$$candidate" in /*) ;; */* | *.py) candidate="$(PWD)/$$candidate" ;; esac; \
	cd '$(ROOT)' && $(PYTEST) tests --ignore=tests/meta --candidate "$$candidate" --engine '$(ENGINE)' $(ARGS)

test: lint
	@cd '$(ROOT)' && $(PYTEST) $(ARGS)

proofs: lint
	@cd '$(ROOT)' && $(PYTEST) $(ARGS) tests/meta/proofs tests/test_proofs.py

# What touches Triton, under its oldest and its newest supported version, laid beside the environment's own.
oldest: $(ROOT).venv/triton-$(OLDEST_TRITON)/.complete
newest: $(ROOT).venv/triton-$(NEWEST_TRITON)/.complete
oldest newest:
	@cd '$(ROOT)' && PYTHONPATH='$(dir $<)' $(PYTEST) $(ARGS) \
		tests/meta/ttir tests/meta/test_upstream_faults.py tests/test_hazards.py tests/test_values.py tests/test_metadata.py

$(ROOT).venv/triton-%/.complete: $(ROOT).venv/judge
	@cd '$(ROOT)' && .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
		--target '.venv/triton-$*' 'triton==$*' && touch $@

lint: $(ROOT).venv/lint
	@cd '$(ROOT)' && .venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy

clean:
	@cd '$(ROOT)' && rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache reports
	@find '$(ROOT)' -name __pycache__ -type d -prune -exec rm -rf {} +

$(ROOT).venv/judge: $(ROOT)constraints.txt $(ROOT).ci/environment
	@bash '$(ROOT).ci/environment' judge && touch $@

$(ROOT).venv/lint: $(ROOT).venv/judge
	@bash '$(ROOT).ci/environment' lint && touch $@
