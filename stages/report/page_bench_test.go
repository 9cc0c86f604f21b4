package report

import (
	"io"
	"testing"

	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

// BenchmarkPage writes the page of the paper's whole study, with a fleet.
func BenchmarkPage(b *testing.B) {
	s := paperStudy(b)
	with := fleetSettings(b, s)
	stages := []dag.Stage{replayed(s), systems(withFleet(paperCosts(b, s))), Stage(with)}
	dir := b.TempDir()
	dagtest.Run(b, stages, dir)
	h := history(b, stages, dir)
	for b.Loop() {
		if err := WritePage(io.Discard, dir, with, h); err != nil {
			b.Fatal(err)
		}
	}
}
