package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/slurm"
	"speceval/pipeline/status"
)

// unitOptions are the flags of unit.
type unitOptions struct{ element string }

func unitCommand() command {
	u := new(unitOptions)
	return command{
		name:  "unit",
		args:  "STAGE KEY | --element DIR",
		about: "run one unit, fresh or not: what an element of a job calls",
		examples: `  speceval unit replay 2f39e31d75e99329   the unit of that key, or of the key that begins so
`,
		complete: completeStages,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&u.element, "element", "", "run what is not done of an element of the job in `DIR`; SPECEVAL_ELEMENT or Slurm says which")
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
		display.Duration(m.WallSeconds), display.Duration(m.CPUSeconds), display.Megabytes(m.PeakBytes))
}

// runElement runs the units of an element of a job array that are not done yet.
func (s *session) runElement(dir string) error {
	w, err := slurm.NewWorker(dir, s.variable, s.origin, s.now)
	var none *slurm.RefusedError
	if errors.As(err, &none) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	return errors.Join(s.work(w), w.Close())
}

// work runs the units of a worker.
func (s *session) work(w *slurm.Worker) error {
	if err := w.SameProgram(); err != nil {
		return w.Refuse(err)
	}
	s.logs = w.Logs
	o, err := s.open(dag.Selection{Stages: []string{w.Stage}})
	if err != nil {
		return w.Refuse(err)
	}
	ctx, stop := s.interruptible()
	defer stop()
	err = w.Run(ctx, o.graph, o.Out, &elementLines{session: s, long: status.Running{}})
	return errors.Join(err, o.close(ctx))
}

// elementLines writes what happens to the units of an element into its log for
// people.
type elementLines struct {
	dag.NoObserver
	*session
	long status.Running
}

// Advanced writes a line about a long unit.
func (e *elementLines) Advanced(unit dag.Ref, p dag.Progress) {
	now := e.now()
	e.say("%s %s %s", status.Dated(now), unit, e.long.Note(unit, p, now).Text(now))
}

// Finished writes what came of a unit.
func (e *elementLines) Finished(done dag.Outcome) {
	if done.Manifest == nil {
		e.say("%s was done before", done.Unit)
		return
	}
	e.sayUnit(done.Manifest)
}
