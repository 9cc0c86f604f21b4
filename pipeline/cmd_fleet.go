package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"speceval/internal/fleet/imitation"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
)

func (s *session) fleetCommand() *cobra.Command {
	var served experiment.Fleet
	var log string
	c := &cobra.Command{
		Use: "fleet", Short: "serve simulated vLLM replicas until interrupted", Args: cobra.NoArgs,
		Example: `  speceval fleet --config experiments-small.toml   the replicas that the configuration names
  speceval fleet --replicas 8 --port 8000          eight, at ports 8000 to 8007
  speceval fleet --speed 100 --fail crash=0.0001,cut=0.01 --log requests.jsonl`,
		RunE: s.configured(func(cfg *config.Config, _ []string) error { return s.serveFleet(cfg, served, log) }),
	}
	fs := c.Flags()
	fs.IntVar(&served.Count, "replicas", 0, "serve `N` replicas and no judge (as many as the workers' URLs on this machine, at these, and the judge's)")
	fs.IntVar(&served.Port, "port", 8000, "with --replicas: the first at port `P`, the others at the next ones; 0: free ones")
	fs.StringVar(&served.Model, "model", "", "serve only this model of the configuration, by `ID` (all, in turn)")
	fs.Float64Var(&served.Each.Speed, "speed", 1, "let time pass `X` times faster than the model; 0 never waits")
	fs.IntVar(&served.Each.StreamInterval, "stream-interval", 1, "send `N` tokens in an event of a stream, as vLLM's flag of that name")
	fs.Float64Var(&served.Slow, "slow-wrong", 1, "make wrong answers `X` times as long as right ones, so that what completes first is right more often")
	fs.BoolVar(&served.Each.Unrepeatable, "unrepeatable", false, "ignore the seeds of requests: asked again, each gets another answer, as of vLLM on GPUs or hosted models")
	fs.BoolVar(&served.Each.Plain, "plain", false, "serve as another server than vLLM: chats alone, without ids of tokens, so that no lost answer can be continued")
	fs.StringArrayVar(&served.Tasks, "tasks", nil, "answer the tasks of this `FILE` as well; may be repeated")
	fs.StringVar(&served.Profiles, "profiles", "", "answer right as often as the profiles in `FILE` say (spread by a hash)")
	fs.Func("fail", "meet faults at these rates per request, `KIND=RATE`,…; kinds: crash, hang, 500, cut, garbage, slow", func(text string) (err error) {
		served.Each.Faults, err = imitation.ParseFaults(text)
		return err
	})
	seedFlag(fs, &served.Seed, "draw faults and unseeded answers from seed `N` (experiment.seed)")
	fs.StringVar(&log, "log", "", "append a JSON line per request to `FILE`, when it ends")
	fs.IntVar(&served.Each.MaxModelLen, "max-model-len", 0, "refuse more than `N` tokens of prompt and answer (sampling.context_tokens)")
	fs.DurationVar(&served.Each.Restart, "restart", 10*time.Second, "restart a crashed or hung replica after this `TIME`; 0: never")
	return c
}

// serveFleet serves until an interrupt. Having served is success.
func (s *session) serveFleet(cfg *config.Config, served experiment.Fleet, logFile string) (err error) {
	served.Each.Key, served.Say, served.Warn = s.variable(experiment.KeyVariable), s.say, s.warn
	replicas, err := served.Replicas(cfg)
	if err != nil {
		return &usageError{err}
	}
	var log io.Writer
	if logFile != "" {
		file, err := os.OpenFile(logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
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
