package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"speceval/drills/evaluated"
	drill "speceval/drills/lab"
	"speceval/internal/clock"
	"speceval/internal/launcher"
)

// ready starts the servers, unless some were named, and makes a short evaluation that
// does not count: the first requests of a server take longer. stop ends the servers that
// were started.
func (m *maker) ready(ctx context.Context, o options, dir string) (stop func(), err error) {
	m.workers, stop = o.workers, func() {}
	if len(m.workers) == 0 {
		begin := time.Now()
		servers, err := o.serve(ctx, dir)
		if err != nil {
			return nil, err
		}
		m.workers, stop = servers.URLs(), func() { servers.Stop(context.WithoutCancel(ctx)) }
		fmt.Fprintf(m.stdout, "%d servers were up after %.0f s\n", len(m.workers), time.Since(begin).Seconds())
	}
	if err := m.warmUp(ctx, filepath.Join(dir, "warm-up")); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// warmUp makes an evaluation in another output folder.
func (m *maker) warmUp(ctx context.Context, out string) error {
	program := *m.program
	program.Out = out
	r, err := program.Run(ctx, evaluated.Order{Policy: evaluated.Uniform, Budget: 2, Workers: m.workers})
	if err == nil {
		m.pace = r.Seconds / float64(r.Budget)
	}
	return err
}

// serve starts the servers of the experiment's first worker.
func (o options) serve(ctx context.Context, dir string) (*launcher.Servers, error) {
	shipped, err := drill.LoadExperiment(o.config)
	if err != nil {
		return nil, err
	}
	w, m := shipped.Workers[0], shipped.Models[0]
	return launcher.Start(ctx, launcher.Recipe{
		Command: w.Launch, Arguments: w.Arguments, Environment: w.Environment, Port: o.port, Replicas: shipped.Systems.Replicas,
	}, launcher.Model{Path: m.Path, Served: m.ID, MaxSequences: m.MaxSequences, ContextTokens: shipped.Sampling.ContextTokens}, launcher.Options{
		Logs: filepath.Join(dir, "logs"), Start: 15 * time.Minute, Clock: clock.Wall{}, Environment: o.environment,
	})
}
