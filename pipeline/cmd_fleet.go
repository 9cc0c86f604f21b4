package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"speceval/internal/fleet/imitation"
	"speceval/pipeline/config"
)

// fleetOptions are the flags of the command fleet.
type fleetOptions struct {
	replicas, port int
	model          string
	speed          float64
	slowWrong      float64
	interval       int // tokens of an event of a stream, at least
	tasks          []string
	profiles       string
	faults         imitation.Faults
	seed           *uint64 // nil: the experiment's
	log            string
	maxModelLen    int // 0: the experiment's
	restart        time.Duration
}

func fleetCommand() command {
	return command{
		name:  "fleet",
		args:  "[--replicas N] [--port P] [--model ID] [--speed X] [--fail KIND=RATE,…]",
		about: "serve simulated vLLM replicas until interrupted: those of the [[worker]]s and the judge on this machine",
		examples: `  speceval fleet --config experiments-small.toml   the replicas that the configuration names
  speceval fleet --replicas 8 --port 8000          eight, at ports 8000 to 8007
  speceval fleet --speed 100 --fail crash=0.0001,cut=0.01 --log requests.jsonl
`,
		flags: fleetFlags,
		run:   runFleet,
	}
}

func fleetFlags(fs *flag.FlagSet, o *options) {
	f := &o.fleet
	fs.IntVar(&f.replicas, "replicas", 0, "serve `N` replicas and no judge (as many as the workers' URLs on this machine, at these, and the judge's)")
	fs.IntVar(&f.port, "port", 8000, "with --replicas: the first at port `P`, the others at the next ones; 0 takes free ones")
	fs.StringVar(&f.model, "model", "", "serve only this model of the configuration, by `ID` (all, in turn)")
	fs.Float64Var(&f.speed, "speed", 1, "let time pass `X` times faster than the model; 0 never waits")
	fs.IntVar(&f.interval, "stream-interval", 1, "send `N` tokens in an event of a stream, as vLLM's flag of that name")
	fs.Float64Var(&f.slowWrong, "slow-wrong", 1, "make wrong answers `X` times as long as right ones, so that what completes first is right more often")
	fs.Func("tasks", "answer the tasks of this `FILE` as well; may be repeated", func(file string) error {
		f.tasks = append(f.tasks, file)
		return nil
	})
	fs.StringVar(&f.profiles, "profiles", "", "answer right as often as the profiles in `FILE` say (spread by a hash)")
	fs.Func("fail", "meet faults at these rates per request, `KIND=RATE`,…; kinds: crash, hang, 500, cut, garbage, slow", func(text string) (err error) {
		f.faults, err = imitation.ParseFaults(text)
		return err
	})
	fs.Func("seed", "draw faults and unseeded answers from seed `N` (experiment.seed)", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		f.seed = &n
		return err
	})
	fs.StringVar(&f.log, "log", "", "append a JSON line per request to `FILE`, in order of arrival at each replica")
	fs.IntVar(&f.maxModelLen, "max-model-len", 0, "refuse more than `N` tokens of prompt and answer (sampling.context_tokens)")
	fs.DurationVar(&f.restart, "restart", 10*time.Second, "restart a crashed or hung replica after this `TIME`; 0: never")
}

// runFleet serves until an interrupt. Having served is success.
func runFleet(s *session, words []string) (err error) {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	cfg, err := config.Load(s.config, s.sets)
	if err != nil {
		return &usageError{err}
	}
	places, judges, err := s.fleet.places(cfg)
	if err != nil {
		return err
	}
	settings, judge, err := s.fleetSettings(cfg)
	if err != nil {
		return err
	}
	var log io.Writer
	if s.fleet.log != "" {
		file, err := os.OpenFile(s.fleet.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		log = file
	}
	ctx, stop := s.interruptible()
	defer stop()
	for i, place := range append(places, judges...) {
		one := judge
		if i < len(places) {
			one = settings[i%len(settings)]
		}
		one.Index, one.Log = i, log
		replica := imitation.New(one.Settings)
		defer replica.Close()
		if err := replica.Listen(place); err != nil {
			return fmt.Errorf("replica %d: %w; something else may be serving there", i, err)
		}
		if _, err := fmt.Fprintf(s.stdout, "%s  %s  %s\n", replica.URL(), one.Model, one.about); err != nil {
			return err
		}
	}
	s.say("serving; interrupt to stop")
	<-ctx.Done()
	return nil
}
