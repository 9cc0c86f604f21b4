package main

import (
	"errors"

	"github.com/spf13/pflag"

	"speceval/internal/protocol"
	"speceval/internal/version"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	stdio bool
	state string
}

func serveCommand() command {
	o := new(serveOptions)
	return command{
		name: "serve",
		args: "--stdio [--state DIR]",
		about: `tell another program which rollouts to run next, and what they come to

The program starts speceval and sends messages, one JSON object a line, to its standard
input; for each there is one reply on its standard output. docs/protocol.md has them all.
With --state a server that is killed goes on where it was when it is started again.`,
		examples: `  speceval serve --stdio
  speceval serve --stdio --state mine/state
  echo '{"type":"start","protocol":1,"tasks":["a","b","c"],"budget":8}' | speceval serve --stdio
`,
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&o.stdio, "stdio", false, "read messages from standard input, and reply on standard output; there is no other way yet")
			fs.StringVar(&o.state, "state", "", "keep the evaluation in the folder `DIR`, and go on with the one that is there")
		},
		run: o.run,
	}
}

// run serves until the input ends.
func (o *serveOptions) run(s *session, words []string) (err error) {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	if !o.stdio {
		return usagef("say how messages come: --stdio")
	}
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return err
	}
	reference, err := neyman.NewPrior(cfg.Replay.QuadratureOrder)
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	outside := evaluate.Outside{Context: ctx, Config: cfg, Say: func(text string) { s.say("%s", text) }}
	server := &protocol.Server{Program: s.program(), Reference: reference, Setup: outside.Setup}
	if o.state != "" {
		lock, err := dag.Acquire(o.state, s.holder())
		if err != nil {
			return err
		}
		server.Store = &protocol.Store{Folder: o.state}
		defer func() { err = errors.Join(err, server.Store.Close(), lock.Release()) }()
	}
	return server.Serve(ctx, s.stdin, s.stdout)
}

// program is the name and version of this program.
func (s *session) program() string { return "speceval " + version.Tag }
