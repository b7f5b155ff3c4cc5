# Two commands set everything up on a machine with Python 3.11+, a C++ compiler and make:
#   make demo   installs the package (no PyTorch) into .venv and enhances a synthetic underwater picture
#   make test   installs what the tests need as well, then runs every quality gate
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
SOURCES := pyproject.toml constraints.txt $(wildcard CMakeLists.txt native/* native/training/*)

.PHONY: demo test lint types pytest clean

demo: .venv/installed
	@echo "== rendering a synthetic underwater scene"
	$(BIN)/pic-uie synth --count 1 --size 960x640 --seed 21 -o demo -q
	@echo "== enhancing it"
	$(BIN)/pic-uie enhance demo/input -o demo/enhanced --overwrite
	$(BIN)/pic-uie compare demo/input/000021_960x640_any.png demo/enhanced/000021_960x640_any.png \
		-o demo/before-after.jpg --overwrite
	@echo "== before and after: demo/before-after.jpg"

test: lint types pytest
	@echo "== all quality gates passed"

lint: .venv/installed-test
	@echo "== ruff"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-test
	@echo "== mypy --strict"
	$(BIN)/mypy

pytest: .venv/installed-test
	@echo "== pytest"
	$(BIN)/pytest -n 2

.venv/bin/python:
	@echo "== creating .venv"
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(SOURCES)
	@echo "== installing pic-uie (no PyTorch)"
	$(PIP) --editable .
	@touch $@

.venv/installed-test: .venv/bin/python $(SOURCES)
	@echo "== installing pic-uie with what training and the tests need"
	$(PIP) --editable '.[train,test]'
	@touch $@ .venv/installed

clean:
	rm -rf .venv build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
