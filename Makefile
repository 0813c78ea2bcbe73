# Needs python3 (3.11 or later) with pip and venv, and make; `hosts` also needs npm. Nothing outside this folder is
# changed: Python's things are made in .build/, the real hosts in .hosts/.
#
#   make demo     two sessions with a crash between them, offline
#   make test     the tests, against the built wheel in an environment of its own; ARGS="-k log" picks some
#   make check    lint, format, types
#   make bench    ratios, measured on this machine; ARGS=--check makes a missed bound a failure
#   make hosts    two versions of the real pi, for the tests that drive it
#   make clean    take .build/ and .hosts/ away

PYTHON ?= python3
BUILD := .build
VENV := $(BUILD)/venv
TOOLS := $(BUILD)/tools
HOSTS := .hosts
# More than there are processors: the tests that drive real hosts mostly wait for them.
WORKERS ?= 4

# Folders are listed with the files: their times tell that a file was taken away.
PACKAGE := $(shell find carryover -name __pycache__ -prune -o -print) pyproject.toml README.md LICENSE
BENCHMARKS := $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py))

# Once the hosts are here, the tests that drive them run without being asked.
export CARRYOVER_PI_HOSTS ?= $(wildcard $(CURDIR)/$(HOSTS))

.PHONY: demo test check bench hosts clean

demo: $(BUILD)/installed
	@$(VENV)/bin/carryover demo

# The pytest command, not `python -m pytest`: that would put this folder, and so the checkout, before the wheel.
test: $(BUILD)/installed $(BUILD)/test-dependencies
	CARRYOVER_TEST_WHEEL=1 $(VENV)/bin/pytest --numprocesses $(WORKERS) $(ARGS)

check: $(BUILD)/check-dependencies
	$(TOOLS)/bin/ruff check
	$(TOOLS)/bin/ruff format --check
	$(TOOLS)/bin/mypy

bench: $(BUILD)/installed
	@status=0; for script in $(BENCHMARKS); do $(VENV)/bin/python "$$script" $(ARGS) || status=1; done; exit $$status

hosts: $(HOSTS)/node22

clean:
	rm -rf $(BUILD) $(HOSTS) .mypy_cache .ruff_cache .pytest_cache .hypothesis

# pip is brought up to date inside, because --group came with pip 25.1.
$(BUILD)/%/bin/pip:
	$(PYTHON) -m venv --clear $(BUILD)/$*
	$(BUILD)/$*/bin/python -m pip install --quiet --upgrade 'pip>=25.1'

$(BUILD)/wheel: $(PACKAGE) $(VENV)/bin/pip
	rm -rf $(BUILD)/dist
	$(VENV)/bin/pip wheel --quiet --no-deps --wheel-dir $(BUILD)/dist .
	touch $@

# Two steps: the first replaces a wheel of the same version, the second adds what it depends on.
$(BUILD)/installed: $(BUILD)/wheel
	$(VENV)/bin/pip install --quiet --no-deps --force-reinstall $(BUILD)/dist/*.whl
	$(VENV)/bin/pip install --quiet $(BUILD)/dist/*.whl
	touch $@

$(BUILD)/test-dependencies: pyproject.toml $(VENV)/bin/pip
	$(VENV)/bin/pip install --quiet --group test
	touch $@

$(BUILD)/check-dependencies: pyproject.toml $(TOOLS)/bin/pip
	$(TOOLS)/bin/pip install --quiet --editable '.[llm]' --group check
	touch $@

# Without install scripts: none of these packages needs one, Node itself included.
$(HOSTS)/node22: tests/hosts/package.json tests/hosts/package-lock.json
	mkdir -p $(HOSTS)
	cp tests/hosts/package.json tests/hosts/package-lock.json $(HOSTS)/
	cd $(HOSTS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	cd $(HOSTS) && ln -sfn node_modules/node-linux-*/bin/node node22 && ./node22 --version
	touch $@
