package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/protocol"
	"speceval/internal/machine/version"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
)

func (s *session) serveCommand() *cobra.Command {
	var stdio, keep bool
	var state string
	c := &cobra.Command{
		Use: "serve --stdio", Short: "run the policy for another program, by messages in JSON", Args: cobra.NoArgs,
		Long: `Run the policy for another program, by messages in JSON.

A message is a JSON object on a line, and has one reply; docs/protocol.md has them all.
With --keep or --state a killed server resumes, and evaluate lists, shows and compares the
evaluation.`,
		Example: `  speceval serve --stdio --keep
  echo '{"type":"start","protocol":1,"tasks":["a","b","c"],"budget":8}' | speceval serve --stdio`,
		RunE: s.configured(func(cfg *config.Config, _ []string) (err error) {
			if !stdio {
				return usagef("say how messages come: --stdio")
			}
			if keep && state != "" {
				return usagef("--keep names the folder itself, and --state %s another one: give one of them", state)
			}
			outside := s.evaluateOutside(cfg)
			server := &protocol.Server{Program: "speceval " + version.Tag, Reference: outside.Prior(), Setup: outside.Setup}
			if keep || state != "" {
				server.Store = &protocol.Store{Place: func(setup *evaluation.Setup) (string, func() error, error) {
					folder := cmp.Or(state, setup.Path(cfg.Experiment.Out))
					lock, err := dag.Acquire(folder, s.holder())
					if err != nil {
						return "", nil, err
					}
					return folder, lock.Release, dag.Sweep(folder)
				}, Kept: func(folder string) {
					if err := evaluate.WritePage(folder, nil); err != nil {
						s.warn("the result is stored, but not its page: %v", err)
					}
				}}
				defer func() { err = errors.Join(err, server.Store.Close()) }()
			}
			return server.Serve(s.stdin, s.stdout)
		}),
	}
	c.Flags().BoolVar(&stdio, "stdio", false, "read standard input, and reply on standard output")
	c.Flags().BoolVar(&keep, "keep", false, "keep the evaluation in the output folder, as evaluate does")
	c.Flags().StringVar(&state, "state", "", "keep the evaluation in `DIR`, and resume what is there")
	return c
}
