package main

import (
	"errors"

	"github.com/spf13/cobra"

	"speceval/internal/protocol"
	"speceval/internal/version"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
)

func (s *session) serveCommand() *cobra.Command {
	var stdio bool
	var state string
	c := &cobra.Command{
		Use: "serve --stdio", Short: "tell another program which rollouts to run next, and what they come to", Args: cobra.NoArgs,
		Long: `Tell another program which rollouts to run next, and what they come to.

The program starts speceval and sends messages, one JSON object a line, to its standard
input; for each there is one reply on its standard output. docs/protocol.md has them all.
With --state a server that is killed goes on where it was when it is started again.`,
		Example: `  speceval serve --stdio --state mine/state
  echo '{"type":"start","protocol":1,"tasks":["a","b","c"],"budget":8}' | speceval serve --stdio`,
		RunE: func(*cobra.Command, []string) error {
			if !stdio {
				return usagef("say how messages come: --stdio")
			}
			return s.serve(state)
		},
	}
	c.Flags().BoolVar(&stdio, "stdio", false, "read messages from standard input, and reply on standard output; there is no other way")
	c.Flags().StringVar(&state, "state", "", "keep the evaluation in the folder `DIR`, and go on with the one that is there")
	return c
}

// serve serves until the input ends.
func (s *session) serve(state string) (err error) {
	outside, stop, err := s.evaluateOutside()
	if err != nil {
		return err
	}
	defer stop()
	reference, err := neyman.NewPrior(outside.Config.Replay.QuadratureOrder)
	if err != nil {
		return err
	}
	server := &protocol.Server{Program: "speceval " + version.Tag, Reference: reference, Setup: outside.Setup}
	if state != "" {
		lock, err := dag.Acquire(state, s.holder())
		if err != nil {
			return err
		}
		server.Store = &protocol.Store{Folder: state}
		defer func() { err = errors.Join(err, server.Store.Close(), lock.Release()) }()
	}
	return server.Serve(outside.Context, s.stdin, s.stdout)
}
