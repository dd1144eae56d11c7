# make setup | demo | test | lint | bench | clean. Each sets up what it needs; a second run reuses it.
#
#   PYTHON=python3.12 make setup   another interpreter (3.10 to 3.13)
#   make test ARGS="-k pose"       only some tests; FILES=test/unit/memory for a folder or a file

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo test lint soak bench docs clean

PYTHON_FOR_SETUP := $(or $(shell command -v $(or $(PYTHON),python3)),python3)
ENV := . scripts/ros_env.sh
ARGS ?=
FILES ?=
BENCH ?= benchmarks/memory_bench.py
EMEM = sed -n '/"bench": \[/,/\]/s/^ *"\(.*\)",.*/\1/p' setup.py

help:
	@echo "make setup   virtual environment with ROS 2, models and tools, and the built package (3 min on two cores)"
	@echo "make demo    a robot drives through the gallery, remembers, answers and drives to an answer"
	@echo "make test    every test;  ARGS='-k pose' selects, FILES=test/unit/memory limits, FAST=1 leaves slow ones out"
	@echo "make lint    ruff, and mypy in strict mode"
	@echo "make soak    two hours of driving at full load; VLKNG_SOAK_S=600 for less"
	@echo "make bench   what the memory costs as it grows, beside eMEM;  ARGS='--observations 1e5' for less"
	@echo "             BENCH=benchmarks/identity_bench.py (or perception_bench.py) for another"
	@echo "make docs    write the tables of README.md and config/vlkng.yaml from the code"
	@echo "make clean   remove everything that make has made"

setup:
	@$(PYTHON_FOR_SETUP) scripts/setup_ros.py

demo: setup
	@$(ENV) && python scripts/demo.py $(ARGS)

test: setup
	@$(ENV) && python scripts/run_tests.py $(FILES) -- $(if $(FAST),-m "not slow and not soak") $(ARGS)

soak: setup
	@$(ENV) && VLKNG_SOAK_S=$${VLKNG_SOAK_S:-7200} python scripts/run_tests.py test/nodes/test_builder_soak.py -- $(ARGS)

lint: setup
	@$(ENV) && status=0; ruff check . || status=1; mypy || status=1; exit $$status

bench: setup
	@$(ENV) && python -c "import emem" 2>/dev/null || python -m pip install --quiet "$$($(EMEM))"
	@$(ENV) && export OPENBLAS_NUM_THREADS=1 && for file in $(BENCH); do echo "== $$file"; python $$file $(ARGS) || exit 1; done

docs: setup
	@$(ENV) && python scripts/write_tables.py

clean:
	rm -rf .venv .ros demo_output bench_output build install log dist *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find vlkng_ros test scripts launch -name __pycache__ -type d -prune -exec rm -rf {} +
