# The one list of commands. `make demo` and `make test` need git, make and Python >= 3.11 with venv, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test soak soak-short check bench bad-input model-lab screenshots system-deps test-device test-adbd clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,parquet,notify,postgres]'
	touch $@

# The main job on two virtual phones with two models; ends with the report.
demo: $(STAMP)
	$(BIN)/python -m orchestrator.variants.samples build/models
	$(BIN)/orch run build/models --device virtual:pixel-8 --device virtual:redmi-go --preset quick --rounds 3
	$(BIN)/orch virtual down

test: check
	$(BIN)/python -m pytest -n 4 --dist loadgroup

# Twenty phones through 500 faults while the host's process and the adb server are killed; nothing may be lost (docs/soak.md).
soak: $(STAMP)
	$(BIN)/python -m tests.soak

# The same in about a minute, with eight phones.
soak-short: $(STAMP)
	$(BIN)/python -m tests.soak --short

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bad-input: $(STAMP)
	$(BIN)/python -m pytest tests/bad_input -v

# Prints goal, figure, met or missed for each row of the speed table.
bench: $(STAMP)
	$(BIN)/python -m benchmarks

# The table of docs/model-lab.md: every sample model through every recipe, in about two minutes.
model-lab: $(STAMP)
	$(BIN)/python -m orchestrator.variants.samples build/lab --all
	$(BIN)/orch model table build/lab --home build/lab-home > build/model-lab.md
	sed -i '/^<!-- Below this line/q' docs/model-lab.md
	cat build/model-lab.md >> docs/model-lab.md

# Pictures of the newest run's report (after `make demo`), in headless Chromium, for docs/report.md.
screenshots: $(STAMP)
	$(BIN)/python -m tests.browser.screenshots orch-runs

# The same contract and integration tests on a phone, an emulator or any adb device.
test-device: $(STAMP)
	@test -n "$(SERIAL)" || { echo 'give the serial: make test-device SERIAL=…'; exit 2; }
	ORCH_TEST_SERIAL='$(SERIAL)' $(BIN)/python -m pytest -m device tests/contract tests/integration

# The same on a true adbd, Debian's, which `make system-deps` unpacks into build/: on a network of its own, with a server
# of its own.
test-adbd: $(STAMP)
	$(BIN)/python -m tests.real_adbd $(MAKE) --no-print-directory test-device SERIAL={serial}

# System tools that some tests use (mksh and toybox are Android's own shell and tools). Needs root, on Debian or Ubuntu.
# On Debian also its adbd, unpacked beside the build and not installed, out of this machine's own apt source.
system-deps:
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mksh toybox busybox util-linux shellcheck chromium postgresql systemd
	$(PYTHON) -m tests.real_adbd.fetch build/adbd-root

clean:
	rm -rf $(VENV) build
