package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"speceval/internal/fleet/imitation"
	"speceval/internal/protocol"
	"speceval/internal/version"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/experiment"
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

// fleetOptions are the flags of the command fleet.
type fleetOptions struct {
	experiment.Fleet
	log string
}

func fleetCommand() command {
	o := new(fleetOptions)
	return command{
		name:  "fleet",
		args:  "[--replicas N] [--port P] [--model ID] [--speed X] [--fail KIND=RATE,…]",
		about: "serve simulated vLLM replicas until interrupted: those of the [[worker]]s and the judge on this machine",
		examples: `  speceval fleet --config experiments-small.toml   the replicas that the configuration names
  speceval fleet --replicas 8 --port 8000          eight, at ports 8000 to 8007
  speceval fleet --speed 100 --fail crash=0.0001,cut=0.01 --log requests.jsonl
`,
		flags: o.flags,
		run:   o.run,
	}
}

func (o *fleetOptions) flags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Count, "replicas", 0, "serve `N` replicas and no judge (as many as the workers' URLs on this machine, at these, and the judge's)")
	fs.IntVar(&o.Port, "port", 8000, "with --replicas: the first at port `P`, the others at the next ones; 0 takes free ones")
	fs.StringVar(&o.Model, "model", "", "serve only this model of the configuration, by `ID` (all, in turn)")
	fs.Float64Var(&o.Speed, "speed", 1, "let time pass `X` times faster than the model; 0 never waits")
	fs.IntVar(&o.Interval, "stream-interval", 1, "send `N` tokens in an event of a stream, as vLLM's flag of that name")
	fs.Float64Var(&o.Slow, "slow-wrong", 1, "make wrong answers `X` times as long as right ones, so that what completes first is right more often")
	fs.BoolVar(&o.Unrepeatable, "unrepeatable", false, "ignore the seeds of requests: asked again, each gets another answer, as of vLLM on GPUs or hosted models")
	fs.BoolVar(&o.Plain, "plain", false, "serve as another server than vLLM: chats alone, without ids of tokens, so that no lost answer can be continued")
	fs.StringArrayVar(&o.Tasks, "tasks", nil, "answer the tasks of this `FILE` as well; may be repeated")
	fs.StringVar(&o.Profiles, "profiles", "", "answer right as often as the profiles in `FILE` say (spread by a hash)")
	fs.Func("fail", "meet faults at these rates per request, `KIND=RATE`,…; kinds: crash, hang, 500, cut, garbage, slow", func(text string) (err error) {
		o.Faults, err = imitation.ParseFaults(text)
		return err
	})
	seedFlag(fs, &o.Seed, "draw faults and unseeded answers from seed `N` (experiment.seed)")
	fs.StringVar(&o.log, "log", "", "append a JSON line per request to `FILE`, when it ends")
	fs.IntVar(&o.Context, "max-model-len", 0, "refuse more than `N` tokens of prompt and answer (sampling.context_tokens)")
	fs.DurationVar(&o.Restart, "restart", 10*time.Second, "restart a crashed or hung replica after this `TIME`; 0: never")
}

// run serves until an interrupt. Having served is success.
func (o *fleetOptions) run(s *session, words []string) (err error) {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	cfg, err := s.optional()
	if err != nil {
		return err
	}
	served := o.Fleet
	served.Key, served.Say, served.Warn = s.key, s.say, s.warn
	replicas, err := served.Replicas(cfg)
	if err != nil {
		return &usageError{err}
	}
	var log io.Writer
	if o.log != "" {
		file, err := os.OpenFile(o.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		log = file
	}
	ctx, stop := s.interruptible()
	defer stop()
	for i, r := range replicas {
		r.Index, r.Log = i, log
		replica := imitation.New(r.Settings)
		defer replica.Close()
		if err := replica.Listen(r.Place); err != nil {
			return fmt.Errorf("replica %d: %w; something else may be serving there", i, err)
		}
		if _, err := fmt.Fprintf(s.stdout, "%s  %s  %s\n", replica.URL(), r.Model, r.About); err != nil {
			return err
		}
	}
	s.say("serving; interrupt to stop")
	<-ctx.Done()
	return nil
}
