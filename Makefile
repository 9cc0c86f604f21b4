# Targets:
#   reproduce   run everything that is stale, then compare with the paper
#   generate, score, replay, report   that stage again, and no other
#   tables      every table again, from stored results only
#   verify      the results beside the paper's, with verdicts
#   build       bin/speceval
#   test, bench, clean
#
# Variables: CONFIG=file.toml  OUT=folder  J=units at a time
#            SET="replay.draws=1024 experiment.seed=7"

.DEFAULT_GOAL := reproduce
.PHONY: reproduce generate score replay report tables verify test bench build clean

GO ?= go
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
DIRTY := $(if $(shell git status --porcelain 2>/dev/null),true,false)
LDFLAGS := $(if $(COMMIT),-X main.linkedCommit=$(COMMIT) -X main.linkedDirty=$(DIRTY))

FLAGS := $(strip $(if $(CONFIG),--config $(CONFIG)) $(if $(OUT),--out $(OUT)) $(foreach set,$(SET),--set '$(set)'))
JOBS := $(if $(J), -j $(J))

reproduce: build
	bin/speceval run $(FLAGS)$(JOBS)
	bin/speceval verify $(FLAGS)

generate score replay report: build
	bin/speceval run $@ --force $(FLAGS)$(JOBS)

tables: build
	bin/speceval tables $(FLAGS)

verify: build
	bin/speceval verify $(FLAGS)

# The Go tool rebuilds what has changed and nothing else.
build:
	$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/speceval ./pipeline

test:
	$(GO) test ./...

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf bin out
