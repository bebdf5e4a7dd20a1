# The two commands of the README are `make chat` and `make test`; they need Python 3.11+, git, make.
# Everything is installed into .venv from constraints.txt, every file checked against its hash.

PYTHON ?= python3
VENV ?= .venv

BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check --no-input

# A message reaches the program as it was typed: no shell and no make reads the `$` or `"` in it.
CHAT_MESSAGE := $(value MESSAGE)
export CHAT_MESSAGE
unexport MESSAGE
# Without byte code every start of the program would compile it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: chat test check format bench constraints clean
.DELETE_ON_ERROR:
.NOTPARALLEL:

# Talk to Hermes, with the built-in demo model if nothing else is configured.
# MESSAGE="..." runs one turn: the answer on stdout, all else on stderr.
chat: $(VENV)/.local
	@if [ -n "$$CHAT_MESSAGE" ]; then exec $(BIN)/hermes chat --demo --query="$$CHAT_MESSAGE"; \
	else exec $(BIN)/hermes chat --demo; fi

# Run every test. A file stays on one worker: its fixtures are made once (the demo model's process
# among them). They go in their order, so that none of the long ones comes last.
test: $(VENV)/.local $(VENV)/.test
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart=0 tests

# Format, lint, types, floors, sizes, boundaries, spelling.
check: $(VENV)/.local $(VENV)/.check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_size.py
	$(BIN)/python tools/check_boundaries.py
	$(BIN)/codespell

# Put right what can be put right by a program.
format: $(VENV)/.check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Measure what docs/performance.md says.
bench: $(VENV)/.local $(VENV)/.test
	@$(BIN)/python tests/bench/run.py

# Pin the newest versions that pyproject.toml allows, for all platforms, with the hash of each file.
constraints: $(VENV)/.made
	@$(INSTALL) uv 1>&2
	$(BIN)/uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 \
	  --extra local --extra documents --extra lsp --extra search --group build --group test --group check \
	  --generate-hashes --custom-compile-command "make constraints" -o constraints.txt

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Hermes needs Python 3.11 or newer: make PYTHON=python3.12 ..." 1>&2; exit 1; }
	@echo "Making $(VENV) ..." 1>&2
	@$(PYTHON) -m venv $(VENV) 1>&2
	@touch $@

# Hermes itself, run from this folder, with the engine of the demo model.
$(VENV)/.local: $(VENV)/.made pyproject.toml constraints.txt tools/pins.py
	@echo "Installing Hermes into $(VENV), once (40 MB) ..." 1>&2
	@$(BIN)/python tools/pins.py build local documents search lsp > $(VENV)/local.txt
	@$(INSTALL) --require-hashes -r $(VENV)/local.txt 1>&2
	@$(INSTALL) --no-deps --no-build-isolation -e . 1>&2
	@touch $@

$(VENV)/.test $(VENV)/.check: $(VENV)/.%: $(VENV)/.made pyproject.toml constraints.txt tools/pins.py
	@echo "Installing what \`make $*\` needs into $(VENV) ..." 1>&2
	@$(BIN)/python tools/pins.py $* > $(VENV)/$*.txt
	@$(INSTALL) --require-hashes -r $(VENV)/$*.txt 1>&2
	@touch $@
