package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"speceval/drills/process"
)

// lab is the program, its fleet and what they leave.
type lab struct {
	options
	config string // with free ports
	urls   []string
	out    string
	stdout io.Writer
	fleet  *process.Process
}

// address is a server on this machine, in a configuration.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// newLab writes the configuration anew, with free ports for its servers, so that
// it can run beside others.
func newLab(o options, dir string, stdout io.Writer) (*lab, error) {
	text, err := os.ReadFile(o.config)
	if err != nil {
		return nil, err
	}
	l := &lab{options: o, config: filepath.Join(dir, "experiments.toml"), out: filepath.Join(dir, "out"), stdout: stdout}
	free := make(map[string]string)
	var held []net.Listener // until all are known, so that they differ
	for _, old := range address.FindAllString(string(text), -1) {
		if free[old] != "" {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		held = append(held, listener)
		free[old] = "http://" + listener.Addr().String()
		l.urls = append(l.urls, free[old])
	}
	for _, listener := range held {
		listener.Close()
	}
	replaced := address.ReplaceAllStringFunc(string(text), func(old string) string { return free[old] })
	return l, os.WriteFile(l.config, []byte(replaced), 0o666)
}

// serve starts the fleet and waits until every replica answers.
func (l *lab) serve(ctx context.Context) (err error) {
	output := filepath.Join(filepath.Dir(l.config), "fleet.log")
	l.fleet, err = process.Start(output, nil, l.binary, "fleet", "--config", l.config, "--speed", fmt.Sprint(l.speed))
	if err != nil {
		return err
	}
	for _, url := range l.urls {
		if err := l.fleet.Until(ctx, func() (bool, error) { return process.Healthy(ctx, url), nil }); err != nil {
			l.fleet.Kill()
			return fmt.Errorf("the fleet, of which %s is to be healthy: %w", url, err)
		}
	}
	fmt.Fprintf(l.stdout, "%d simulated servers, at %g times their speed\n", len(l.urls), l.speed)
	return nil
}

// speceval runs a command of the program on the experiment. What it says is
// shown.
func (l *lab) speceval(ctx context.Context, command string, args ...string) error {
	all := slices.Concat([]string{command}, args, []string{"--config", l.config, "--out", l.out})
	fmt.Fprintf(l.stdout, "\n$ speceval %s\n", strings.Join(append([]string{command}, args...), " "))
	c := exec.CommandContext(ctx, l.binary, all...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	c.Stdout, c.Stderr = l.stdout, l.stdout
	if err := c.Run(); err != nil {
		return fmt.Errorf("speceval %s: %w", command, err)
	}
	return nil
}
