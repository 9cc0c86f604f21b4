package main

import (
	"context"
	"slices"

	process "speceval/drills/lab"
)

// Servers that run while the outputs are made. Those of stand-in.toml run beside
// every page as well.
const (
	fleetCommand   = "speceval fleet --config experiments-small.toml --speed 40"
	standInCommand = "speceval fleet --config stand-in.toml --tasks mine.jsonl --speed 0"
)

// made are the commands that make outputs of every kind: of the published
// profiles, of rollouts with all five stages and a second generation, of
// evaluations, and of looking at them.
var made = []string{
	"speceval run -q",
	"cp -r out out-before",
	"speceval run generate score -q --config experiments-small.toml --out out-second --set experiment.seed=7",
	"speceval run -q --config experiments-small.toml",
	"speceval evaluate -q --config experiments-small.toml --benchmark smallbench --model qwen2_5_3b --budget 8",
	"speceval evaluate -q --benchmark mine.jsonl --model model-a --budget 16 --worker http://127.0.0.1:8001",
	"speceval evaluate -q --benchmark mine.jsonl --model model-a --budget 8 --policy hbn-async --seed 5 --worker http://127.0.0.1:8001", // computes a design
	"speceval evaluate -q --benchmark mine.jsonl --model model-b --budget 16 --worker http://127.0.0.1:8002",
	"speceval status", // some seconds after the run, which leaves the index
}

// inSlurm makes outputs that only runs on Slurm leave.
const inSlurm = "speceval run replay -q --config experiments-slurm.toml --out out-jobs"

// make makes the outputs in the copy of the repository.
func (l *lab) make(ctx context.Context) error {
	var servers []*process.Process
	defer func() {
		for _, server := range slices.Backward(servers) {
			server.Kill()
		}
	}()
	for _, text := range []string{fleetCommand, standInCommand} {
		server, err := l.serve(ctx, l.whole, text)
		if err != nil {
			return err
		}
		servers = append(servers, server)
	}
	commands := made
	if l.slurm != nil {
		commands = append(slices.Clone(made), inSlurm)
	}
	for _, text := range commands {
		err := l.run(ctx, l.whole, text)
		for again := 0; err != nil && again < tries && ctx.Err() == nil; again++ {
			err = l.run(ctx, l.whole, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tries are of a command once more. Timed runs on a busy machine may be void, and
// running again makes those alone.
const tries = 5
