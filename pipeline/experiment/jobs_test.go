package experiment

import (
	"testing"

	"speceval/pipeline/config"
)

func TestElementsHoldWhatTheConfigurationSays(t *testing.T) {
	e := &Experiment{Executor: config.Default().Executor, Servers: map[string]bool{"generate": true}}
	if got := e.ElementSeconds(); got != nil {
		t.Errorf("without Slurm: %v", got)
	}
	e.Executor.Kind = config.ExecutorSlurm
	got := e.ElementSeconds()
	if _, inJobs := got["report"]; inJobs || got["replay"] != 300 {
		t.Errorf("elements of %v seconds", got)
	}
}
