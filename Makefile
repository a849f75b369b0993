# Everything is built and tested from here. "make help" lists the targets.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO  ?= go
BIN := $(CURDIR)/bin

# Tools are pinned and built from source into bin/, through the Go module proxy.
GOLANGCI_VERSION  := v2.15.0
SQLC_VERSION      := v1.31.1
BENCHSTAT_VERSION := v0.0.0-20260908200009-22c9c6c9d4da
GOLANGCI  := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)
SQLC      := $(BIN)/sqlc-$(SQLC_VERSION)/sqlc
BENCHSTAT := $(BIN)/benchstat-$(BENCHSTAT_VERSION)

FUZZTIME    ?= 30s
BENCH       ?= .
BENCHPKGS   ?= ./...
BENCHCOUNT  ?= 6
TESTTIMEOUT ?= 30m

# The race detector watches all of our code, and what it calls, but not the inside of
# packages that do nothing but compute: the phases of wazero's compiler, and SQLite, which
# is generated code. Watched too they take most of the time of the tests. None of them may
# hold an instance of a generic type of sync or sync/atomic: the linker takes one copy of
# it for the whole program, and from an unwatched package that copy would hide what it
# orders, so that everything else that uses it is reported falsely.
UNWATCHED := github.com/ncruces/go-sqlite3-wasm/... \
             $(addprefix github.com/tetratelabs/wazero/internal/engine/wazevo/,ssa frontend backend/...)
RACE := -race $(addsuffix =-race=false,$(addprefix -gcflags=,$(UNWATCHED)))

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

.PHONY: build
build: ## build bin/ao-host
	$(GO) build -trimpath -o $(BIN)/ao-host ./cmd/ao-host

.PHONY: demo
demo: build ## run a whole plan without any account: question, plan, change, implement
	$(BIN)/ao-host demo

# Many of the short tests wait more than they compute.
.PHONY: check
check: ## the quick checks: vet, lint where it is built, short tests
	$(GO) vet ./...
	@if [ -x $(GOLANGCI) ]; then $(GOLANGCI) run ./...; \
	else echo "== lint is left out: build it once with: make lint"; fi
	AO_LIVE=0 $(GO) test -short -parallel 4 ./...

.PHONY: test
test: ## all tests with the race detector; live ones where the harnesses are installed
	@$(MAKE) --no-print-directory live-notice
	$(GO) test $(RACE) -timeout $(TESTTIMEOUT) ./...
	@$(MAKE) --no-print-directory live-notice

# Tests that need a real harness skip without one, or fail when AO_LIVE=1. A skip
# must not be taken for a pass, so it is told twice.
.PHONY: live-notice
live-notice:
	@if [ ! -d lab/node_modules ]; then \
	  echo; echo "######## SKIPPED: the live tests. The real harnesses are not installed; run: make live ########"; echo; fi
	@if [ ! -f $(TS_STAMP) ]; then \
	  echo; echo "######## SKIPPED: the TypeScript compile test. The compiler is not installed; run: make ts ########"; echo; fi

.PHONY: live
live: lab-install ## install the pinned real harnesses and run the live tests against them
	@mkdir -p $(BIN)
	AO_LIVE=1 $(GO) test -count=1 -v -timeout $(TESTTIMEOUT) -run Live ./lab/... ./host/... ./cmd/... > $(BIN)/live.txt 2>&1 \
	  || { grep -vE '^(=== |ok |\?|PASS)' $(BIN)/live.txt; exit 1; }
	@grep -E '^(--- |ok )' $(BIN)/live.txt
	@grep -q '^--- PASS' $(BIN)/live.txt || { echo "no live test ran"; exit 1; }
	@if grep -q -- '--- SKIP' $(BIN)/live.txt; then echo "a live test was skipped"; exit 1; fi

.PHONY: lab-install
lab-install:
	@command -v node >/dev/null || { echo "make live needs Node 20 or newer: install it (Debian: apt-get install nodejs npm)" >&2; exit 1; }
	@command -v npm  >/dev/null || { echo "make live needs npm: install it (Debian: apt-get install npm)" >&2; exit 1; }
	lab/install.sh

# The compiler is installed anew only when the lock file or its settings changed.
TS_STAMP := api/ts/node_modules/.ao-host-ts

.PHONY: ts-install
ts-install: $(TS_STAMP) ## install the pinned TypeScript compiler of the API's compile test

$(TS_STAMP): api/ts/package.json api/ts/package-lock.json api/ts/.npmrc
	@command -v node >/dev/null || { echo "the TypeScript test needs Node 20 or newer: install it (Debian: apt-get install nodejs npm)" >&2; exit 1; }
	@command -v npm  >/dev/null || { echo "the TypeScript test needs npm: install it (Debian: apt-get install npm)" >&2; exit 1; }
	cd api/ts && npm ci --ignore-scripts --loglevel=error
	@touch $@

.PHONY: ts
ts: ts-install ## compile the API's TypeScript types with a program that uses them
	AO_TYPESCRIPT=1 $(GO) test -count=1 -run "TypeScript|CompileTest" ./api

.PHONY: lint
lint: $(GOLANGCI) ## run the linters, building them on first use
	$(GOLANGCI) run ./...

.PHONY: cross
cross: ## vet for macOS and build for Windows, where the program only refuses
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/ao-host

.PHONY: bindings
bindings: ## build the embedded bindings from bindings-src
	$(GO) run ./cmd/ao-host/internal/bindingbuild/cmd

.PHONY: bindings-check
bindings-check: ## rebuild the bindings and compare byte for byte
	$(GO) run ./cmd/ao-host/internal/bindingbuild/cmd -check

.PHONY: generate
generate: $(SQLC) ## write the generated code anew
	PATH="$(dir $(SQLC)):$$PATH" $(GO) generate ./...

.PHONY: generate-check
generate-check: generate ## fail when generated code is not what is committed
	@git diff --exit-code || { echo "generated files are not up to date; run: make generate" >&2; exit 1; }
	@new=$$(git ls-files --others --exclude-standard); \
	if [ -n "$$new" ]; then echo "files that are not committed:" >&2; echo "$$new" >&2; exit 1; fi

.PHONY: bench
bench: $(BENCHSTAT) ## run the benchmarks into bin/bench.txt and summarise them
	@mkdir -p $(BIN)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCHCOUNT) -timeout 60m $(BENCHPKGS) | tee $(BIN)/bench.txt
	$(BENCHSTAT) $(BIN)/bench.txt

.PHONY: bench-table
bench-table: ## write bin/bench.txt (see bench) into the table of README.md
	@[ -f $(BIN)/bench.txt ] || { echo "there are no results yet; run: make bench" >&2; exit 1; }
	$(GO) run ./cmd/ao-host/internal/benchtable/cmd -in $(BIN)/bench.txt -figures testdata/bench-figures.json -into README.md

.PHONY: support-table
support-table: ## write what the scenarios showed of each harness into the table of README.md
	$(GO) run ./lab/scenario/supporttable

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 30s)
	@grep -rlE '^func Fuzz' --include='*_test.go' --exclude-dir=node_modules . | sort | while read -r file; do \
	  sed -nE 's/^func (Fuzz[A-Za-z0-9_]+)\(.*/\1/p' "$$file" | while read -r target; do \
	    echo "== $$target in $$(dirname $$file)"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname $$file)" </dev/null; \
	  done; \
	done

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)

$(GOLANGCI):
	@mkdir -p $(BIN)/install
	GOBIN=$(BIN)/install GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/install/golangci-lint $@

# sqlc is called by its plain name from a go:generate line, so it gets a folder.
$(SQLC):
	@mkdir -p $(dir $@)
	GOBIN=$(patsubst %/,%,$(dir $@)) GOFLAGS= CGO_ENABLED=0 $(GO) install github.com/sqlc-dev/sqlc/cmd/sqlc@$(SQLC_VERSION)

$(BENCHSTAT):
	@mkdir -p $(BIN)/install
	GOBIN=$(BIN)/install GOFLAGS= $(GO) install golang.org/x/perf/cmd/benchstat@$(BENCHSTAT_VERSION)
	mv $(BIN)/install/benchstat $@
