package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"speceval/internal/fleet/imitation"
	"speceval/pipeline/experiment"
)

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
