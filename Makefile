# A short front for Meson and the scripts in tools/. `make help` lists what there is.
# `make SETUP=true` leaves the machine's packages alone.

BUILD ?= build
SETUP ?= tools/setup.sh
MESON_OPTIONS ?=
SEEDS ?= 20000

all: ## build the console and the program: build/peal
	@$(SETUP) build
	@$(SETUP) console
	@tools/console.sh
	@tools/build.sh $(BUILD) $(MESON_OPTIONS)

console: ## build the console alone: web/dist, which the program embeds
	@$(SETUP) console
	@tools/console.sh

run: all ## build, then start a server to try things on
	@$(BUILD)/peal dev

test: ## unit tests, suites and end-to-end tests; the last line is "N passed, N failed"
	@$(SETUP) test
	@tools/console.sh
	@tools/build.sh $(BUILD) $(MESON_OPTIONS)
	@tools/run_tests.py --build $(BUILD)

bench: all ## measure Peal and its peers on this machine (MEASURES="drain_sqlite …" for some)
	@$(SETUP) test
	@$(SETUP) bench
	@bench/run $(MEASURES)

sim: ## the simulation, SEEDS runs of it (default 20000); a seed that fails replays exactly
	@$(SETUP) build
	@tools/build.sh $(BUILD) $(MESON_OPTIONS) -- test/sim/sim
	@$(BUILD)/test/sim/sim --seeds $(SEEDS)

lint: ## layout, folders, headers, house rules and clang-tidy
	@$(SETUP) lint
	@tools/build.sh $(BUILD) $(MESON_OPTIONS)
	@tools/lint.sh $(BUILD)

asan: ## the tests under the address and undefined-behaviour sanitizers
	@$(SETUP) test
	@tools/build.sh build-asan -Db_sanitize=address,undefined
	@tools/run_tests.py --build build-asan --quick

sanitize: ## unit tests, suites and fuzz corpora under the same two: what CI runs
	@$(SETUP) test
	@tools/build.sh build-asan -Db_sanitize=address,undefined
	@tools/run_tests.py --build build-asan --only meson --suites unit,suite,fuzz

tsan: ## the tests under the thread sanitizer
	@$(SETUP) test
	@tools/build.sh build-tsan -Db_sanitize=thread
	@tools/run_tests.py --build build-tsan --quick

fuzz: ## each fuzzer for FUZZ_SECONDS (default 60)
	@$(SETUP) fuzz
	@tools/fuzz.sh

docs: all ## renew the documents that are printed from tables
	@python3 tools/check_docs.py $(BUILD)/test/docs $(BUILD)/peal docs --write

format: ## lay the C code out as .clang-format says
	@$(SETUP) lint
	@tools/lint.sh --format

clean: ## remove what was built
	rm -rf build build-asan build-tsan build-fuzz

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

.PHONY: all console run test bench sim lint asan sanitize tsan fuzz docs format clean help
