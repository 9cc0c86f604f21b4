package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	process "speceval/drills/lab"
	"speceval/internal/rollout"
)

// goneWithin is how long servers may stay after the program that started them.
const goneWithin = 30 * time.Second

// launched breaks a generation on servers that speceval starts itself.
func launched(ctx context.Context, l *lab) error {
	const out = "launched"
	s := setting{corpus: l.generation()}

	p, err := l.begin("killed-early", s, out, "run", "generate")
	if err != nil {
		return err
	}
	defer p.Kill()
	if err := l.engines(ctx, p); err != nil {
		return err
	}
	l.leaves(ctx, "SIGKILL of speceval while servers start", p, syscall.SIGKILL)

	if p, err = l.begin("engines", s, out, "run", "generate"); err != nil {
		return err
	}
	defer p.Kill()
	if err := l.stored(ctx, p, out, l.total()/20); err != nil {
		return err
	}
	l.engineDies(ctx, p, "engines", 1, "SIGKILL of an engine whose API stays")
	l.engineDies(ctx, p, "engines", 0, "SIGKILL of an engine")
	before, err := rollout.Stored(l.path(out))
	if err != nil {
		return err
	}
	if p.Gone() {
		return fmt.Errorf("it ended with %d of %d rollouts, exit code %d:\n%s", len(before), l.total(), p.Code(), p.Last())
	}
	l.leaves(ctx, "SIGTERM of speceval while it generates", p, syscall.SIGTERM)

	begin := time.Now()
	if p, err = l.begin("resumed", s, out, "run", "generate"); err != nil {
		return err
	}
	defer p.Kill()
	if err = p.Succeed(ctx); err == nil {
		err = l.complete(out, before)
	}
	l.note("the generation after all that", begin, fmt.Sprintf("went on from %d, and each of %d is there once", len(before), l.total()), "nothing", err)
	return ctx.Err()
}

// engines waits until both servers have started their engines, and so are far
// from being ready and have much to leave behind.
func (l *lab) engines(ctx context.Context, p *process.Process) error {
	return p.Until(ctx, func() (bool, error) {
		groups := l.groups()
		for _, group := range groups {
			if len(process.GroupMembers(group)) < 2 {
				return false, nil
			}
		}
		return len(groups) == len(l.ports()), nil
	})
}

// leaves ends the program by a signal, and waits until none of its servers'
// processes is left.
func (l *lab) leaves(ctx context.Context, fault string, p *process.Process, s syscall.Signal) {
	begin := time.Now()
	groups := l.groups()
	ctx, cancel := context.WithTimeout(ctx, goneWithin)
	defer cancel()
	err := p.Signal(s)
	if err == nil {
		err = p.Wait(ctx)
	}
	processes := 0
	for _, group := range groups {
		processes += len(process.GroupMembers(group))
		err = errors.Join(err, process.GroupGone(ctx, group))
	}
	if len(groups) != len(l.ports()) {
		err = errors.Join(err, fmt.Errorf("%d of %d servers ran", len(groups), len(l.ports())))
	}
	l.note(fault, begin, fmt.Sprintf("exit code %d; %d processes of servers were left then, and none at the end", p.Code(), processes), "nothing", err)
}

// engineDies kills the engine of a replica while the program generates. The
// replica must be missed, started again and used again.
func (l *lab) engineDies(ctx context.Context, p *process.Process, step string, replica int, fault string) {
	begin := time.Now()
	seen, err := l.engineDeath(ctx, p, step, replica, begin)
	l.note(fault, begin, seen, "nothing", err)
}

func (l *lab) engineDeath(ctx context.Context, p *process.Process, step string, replica int, begin time.Time) (string, error) {
	url := l.urls()[replica]
	already := len(l.said(step))
	if err := process.KillEngine(process.GroupOn(l.ports()[replica])); err != nil {
		return "", err
	}
	says := func(words string) func() (bool, error) {
		return func() (bool, error) { return strings.Contains(l.said(step)[already:], words), nil }
	}
	if err := p.Until(ctx, says("replica "+url+" is out")); err != nil {
		return "", fmt.Errorf("nobody missed it: %w", err)
	}
	missed := time.Since(begin)
	health := healthOf(ctx, url)
	if err := p.Until(ctx, says("replica "+url+" is back")); err != nil {
		return "", fmt.Errorf("it did not come back: %w", err)
	}
	return fmt.Sprintf("/health said %s; missed after %.1f s, back after %.0f s", health, missed.Seconds(), time.Since(begin).Seconds()), nil
}

// healthOf is what a server says of itself, for people.
func healthOf(ctx context.Context, url string) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing, for the port was closed"
	case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		return "nothing within 2 s"
	case err != nil:
		return "nothing (" + err.Error() + ")"
	}
	response.Body.Close()
	return fmt.Sprint(response.StatusCode)
}
