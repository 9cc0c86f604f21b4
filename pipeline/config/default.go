package config

import "speceval"

// Default is the shipped experiment: the paper's setting on the published profiles.
func Default() *Config {
	c := &Config{Executor: Executor{Stages: make(map[string]Resources)}}
	for _, stage := range executorStages {
		c.Executor.Stages[stage] = Resources{Where: WhereJobs, CPUs: 1, MemoryMiB: 4000, Minutes: 60, GPUs: 8, Exclusive: true}
	}
	if err := c.read([]byte(speceval.Experiments()), "experiments.toml", nil); err != nil {
		panic(err) // tests read it
	}
	return c
}
