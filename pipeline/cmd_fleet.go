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
	var logFile string
	c := &cobra.Command{
		Use: "fleet", Short: "serve simulated vLLM replicas until interrupted", Args: cobra.NoArgs,
		Example: `  speceval fleet --config experiments-small.toml   the replicas that the configuration names
  speceval fleet --replicas 8 --port 8000          eight, at ports 8000 to 8007
  speceval fleet --speed 100 --fail crash=0.0001,cut=0.01 --log requests.jsonl`,
		RunE: s.configured(func(cfg *config.Config, _ []string) (err error) {
			served.Each.Key, served.Say, served.Warn = s.variable(experiment.KeyVariable), s.say, s.warn
			replicas, err := served.Replicas(cfg)
			if err != nil {
				return usage(err)
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
		}),
	}
	fs := c.Flags()
	fs.IntVar(&served.Count, "replicas", 0, "serve `N` replicas and no judge (as configured)")
	fs.IntVar(&served.Port, "port", 8000, "first port `P` of --replicas; 0: free ones")
	fs.StringVar(&served.Model, "model", "", "serve only `ID` of the configured models")
	fs.Float64Var(&served.Each.Speed, "speed", 1, "run `X` times faster than the model; 0 never waits")
	fs.IntVar(&served.Each.StreamInterval, "stream-interval", 1, "send `N` tokens an event, as vLLM's flag")
	fs.Float64Var(&served.Slow, "slow-wrong", 1, "make wrong answers `X` times as long as right ones")
	fs.BoolVar(&served.Each.Unrepeatable, "unrepeatable", false, "ignore seeds: asked again, a request has another answer")
	fs.BoolVar(&served.Each.Plain, "plain", false, "serve as another server than vLLM: no answer continues")
	fs.StringArrayVar(&served.Tasks, "tasks", nil, "answer the tasks of `FILE` as well; repeatable")
	fs.StringVar(&served.Profiles, "profiles", "", "answer right as often as the profiles in `FILE`")
	fs.Func("fail", "crash, hang, 500, cut, garbage or slow, `KIND=RATE`,…", func(text string) (err error) {
		served.Each.Faults, err = imitation.ParseFaults(text)
		return err
	})
	seedFlag(fs, &served.Seed, "seed `N` of faults and unseeded answers (experiment.seed)")
	fs.StringVar(&logFile, "log", "", "append a JSON line per request to `FILE`, when it ends")
	fs.IntVar(&served.Each.MaxModelLen, "max-model-len", 0, "refuse more than `N` tokens (sampling.context_tokens)")
	fs.DurationVar(&served.Each.Restart, "restart", 10*time.Second, "restart a failed replica after `TIME`; 0: never")
	return c
}
