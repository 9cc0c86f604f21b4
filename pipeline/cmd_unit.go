package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
	"speceval/pipeline/slurm"
)

func (s *session) unitCommand() *cobra.Command {
	element := ""
	c := &cobra.Command{
		Use: "unit STAGE KEY | --element DIR", Short: "run one unit, fresh or not, as an element of a job does",
		Example: "  speceval unit replay 2f39e31d75e99329   the unit of that key, or of the key that begins so",
		Args: func(c *cobra.Command, words []string) error {
			if element != "" {
				return cobra.NoArgs(c, words)
			}
			return cobra.ExactArgs(2)(c, words)
		},
		ValidArgs: stages,
		RunE: func(_ *cobra.Command, words []string) error {
			if element != "" {
				return s.runElement(element)
			}
			return s.runUnit(words[0], words[1])
		},
	}
	c.Flags().StringVar(&element, "element", "", "run the rest of an element of the job in `DIR`")
	return c
}

// runUnit runs the unit of a key. It takes no lock: the run that hands out units holds it.
func (s *session) runUnit(stage, key string) error {
	o, err := s.open(ofStage(stage))
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	snapshot, err := o.graph.Scan(ctx, o.Out)
	if err != nil {
		return err
	}
	ref, err := snapshot.Find(stage, key)
	if err != nil {
		return err
	}
	m, err := snapshot.RunUnit(ctx, ref, s.origin, s.now, nil)
	if err = cmp.Or(err, o.Close(ctx)); err == nil {
		s.sayUnit(ref, m)
	}
	return err
}

// sayUnit says what came of a unit; an element may have found it done.
func (s *session) sayUnit(unit dag.Ref, m *dag.Manifest) {
	for _, note := range m.Notes {
		s.warn("%s", note)
	}
	if m.Start.IsZero() {
		s.say("%s was done before", unit)
		return
	}
	s.say("%s done in %s (CPU %s, peak memory %s)", unit,
		display.Duration(m.WallSeconds), display.Duration(m.CPUSeconds), display.Megabytes(m.PeakBytes))
}

// runElement runs the units of an element of a job that are not done yet.
func (s *session) runElement(dir string) error {
	ctx, stop := s.interruptible()
	defer stop()
	o := &opened{Experiment: new(experiment.Experiment)}
	w := slurm.Worker{Variable: s.variable, Origin: s.origin, Now: s.now, Done: s.sayUnit, Open: func(stage, logs string) (*dag.Graph, string, error) {
		s.logs = logs
		opened, err := s.open(ofStage(stage))
		if err != nil {
			return nil, "", err
		}
		o = opened
		return o.graph, o.Out, nil
	}}
	return cmp.Or(w.Run(ctx, dir), o.Close(ctx))
}
