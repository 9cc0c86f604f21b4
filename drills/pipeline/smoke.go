// Package pipeline has the drills that run the whole pipeline, end to end.
package pipeline

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"speceval/drills/lab"
)

// Smoke runs all five stages on the small benchmark over HTTP, on the simulated
// fleet, with every kind of scorer. It checks that the profiles are the ones by which
// the fleet answers, that no unit is left to run, and that the tables are complete and
// name the origin of their numbers.
var Smoke = lab.Drill{
	Name: "smoke", About: "all five stages over HTTP, on the simulated fleet and a small benchmark",
	Limit: 10 * time.Minute, Shared: []string{"speceval", "dir"},
	Flags: func(flags *flag.FlagSet) func(context.Context, *lab.Lab) error {
		config := flags.String("config", "experiments-small.toml", "the experiment; its servers get free ports")
		speed := flags.Float64("speed", 100, "of the fleet")
		return func(ctx context.Context, l *lab.Lab) error {
			s := &smoke{l, l.Path("experiments.toml"), l.Path("out")}
			urls, err := freePorts(*config, s.config)
			if err != nil {
				return err
			}
			fleet, err := l.Serve(ctx, "fleet.log", s.config, urls, "--speed", fmt.Sprint(*speed))
			if err != nil {
				return err
			}
			defer fleet.Kill()
			l.Printf("%d simulated servers, at %g times their speed", len(urls), *speed)
			if err := s.speceval(ctx, "run"); err != nil {
				return err
			}
			return s.check(ctx)
		}
	},
}

// smoke is the lab with a configuration and an output folder.
type smoke struct {
	*lab.Lab
	config, out string
}

// address is a server on this machine, in a configuration.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// freePorts copies a configuration, with free ports for its servers, and returns their
// addresses.
func freePorts(from, to string) ([]string, error) {
	text, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	old := address.FindAllString(string(text), -1)
	slices.Sort(old)
	old = slices.Compact(old)
	urls, err := lab.FreeURLs(len(old))
	if err != nil {
		return nil, err
	}
	replaced := address.ReplaceAllStringFunc(string(text), func(url string) string { return urls[slices.Index(old, url)] })
	return urls, os.WriteFile(to, []byte(replaced), 0o666)
}

// speceval runs a command of the program on the experiment, and shows its output.
func (s *smoke) speceval(ctx context.Context, command string, args ...string) error {
	s.Printf("\n$ speceval %s", strings.Join(append([]string{command}, args...), " "))
	c := exec.CommandContext(ctx, s.Program, slices.Concat([]string{command}, args, []string{"--config", s.config, "--out", s.out})...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	c.Stdout, c.Stderr = s.Stdout, s.Stdout
	if err := c.Run(); err != nil {
		return fmt.Errorf("speceval %s: %w", command, err)
	}
	return nil
}
