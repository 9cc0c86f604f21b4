package main

import (
	"context"

	"github.com/spf13/pflag"

	"speceval/internal/phrase"
	"speceval/pipeline/dag"
)

// unitOptions are the flags of unit.
type unitOptions struct{ element string }

func unitCommand() command {
	u := new(unitOptions)
	return command{
		name:  "unit",
		args:  "STAGE KEY | --element DIR",
		about: "run one unit, fresh or not: what an element of a Slurm array calls",
		examples: `  speceval unit replay 2f39e31d75e99329   the unit of that key, or of the key that begins so
`,
		complete: completeStages,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&u.element, "element", "", "run what is not done of an element of the job array in `DIR`; Slurm says which element")
		},
		run: u.run,
	}
}

// run takes no lock: the run that hands out units holds it.
func (u *unitOptions) run(s *session, words []string) error {
	if u.element != "" {
		if err := wantWords(words, 0, 0, "nothing with --element"); err != nil {
			return err
		}
		return s.runElement(u.element)
	}
	if err := wantWords(words, 2, 2, "a stage and a key"); err != nil {
		return err
	}
	o, err := s.open(dag.Selection{Stages: words[:1]})
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	m, err := s.unitOfKey(ctx, o, words[0], words[1])
	if closed := o.close(ctx); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	s.sayUnit(m)
	return nil
}

// unitOfKey finds a unit and runs it.
func (s *session) unitOfKey(ctx context.Context, o *opened, stage, key string) (*dag.Manifest, error) {
	snapshot, err := o.graph.Scan(ctx, o.Out)
	if err != nil {
		return nil, err
	}
	ref, err := snapshot.Find(stage, key)
	if err != nil {
		return nil, err
	}
	return snapshot.RunUnit(ctx, ref, s.origin, s.now, nil)
}

// sayUnit says what came of a unit.
func (s *session) sayUnit(m *dag.Manifest) {
	for _, note := range m.Notes {
		s.warn("%s", note)
	}
	s.say("%s/%s done in %s (CPU %s, peak memory %s)", m.Parts.Stage, m.Parts.Unit,
		phrase.Duration(m.WallSeconds), phrase.Duration(m.CPUSeconds), phrase.Megabytes(m.PeakBytes))
}
