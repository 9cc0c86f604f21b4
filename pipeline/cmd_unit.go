package main

import (
	"speceval/pipeline/dag"
)

func unitCommand() command {
	return command{
		name:  "unit",
		args:  "STAGE KEY",
		about: "run one unit, fresh or not: what an element of a Slurm array calls",
		examples: `  speceval unit replay 2f39e31d75e99329   the unit of that key, or of the key that begins so
`,
		run: runUnit,
	}
}

// runUnit takes no lock: the run that hands out units holds it.
func runUnit(s *session, words []string) error {
	if err := wantWords(words, 2, 2, "a stage and a key"); err != nil {
		return err
	}
	o, err := s.open(dag.Selection{Stages: words[:1]})
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	snapshot, err := o.graph.Scan(ctx, o.out)
	if err != nil {
		return err
	}
	m, err := snapshot.RunUnit(ctx, words[0], words[1], s.origin, s.now)
	if closed := o.close(ctx); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	for _, note := range m.Notes {
		s.warn("%s", note)
	}
	s.say("%s/%s done in %s (CPU %s, peak memory %s)", words[0], m.Parts.Unit,
		duration(m.WallSeconds), duration(m.CPUSeconds), megabytes(m.PeakBytes))
	return nil
}
