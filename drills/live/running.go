package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"
	"time"

	process "speceval/drills/lab"
	"speceval/drills/timed"
	"speceval/internal/clock"
	"speceval/internal/launcher"
	"speceval/internal/policy"
	"speceval/internal/rollout"
)

// running breaks runs on servers that the drill has started, and starts again,
// without a word to speceval.
func running(ctx context.Context, l *lab) error {
	begin := time.Now()
	servers, err := l.serveAll(ctx)
	if err != nil {
		return err
	}
	defer servers.Stop(context.WithoutCancel(ctx))
	fmt.Fprintf(l.stdout, "two servers were up after %.0f s\n", time.Since(begin).Seconds())

	l.refused(ctx, "a port taken by a server with other flags", setting{}, "a vLLM 0.23.0", "is in use")
	l.versions(ctx)
	if err := l.restarted(ctx, servers); err != nil {
		return err
	}
	return l.void(ctx, servers)
}

// serveAll starts both servers as speceval would.
func (l *lab) serveAll(ctx context.Context) (*launcher.Servers, error) {
	recipe := launcher.Recipe{Command: l.command(), Arguments: l.arguments(), Environment: l.variables(), Port: l.port, Replicas: len(l.ports())}
	model := launcher.Model{Path: l.model, Served: modelID, MaxSequences: 32, ContextTokens: contextTokens}
	return launcher.Start(ctx, recipe, model, launcher.Options{
		Logs: l.path("logs"), Start: startSeconds * time.Second, Clock: clock.Wall{}, Environment: l.environment,
	})
}

// versions has a second server say that it is of another version.
func (l *lab) versions(ctx context.Context) {
	target, err := url.Parse(l.urls()[1])
	if err != nil {
		panic(err) // of our own making
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	older := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"version": "0.22.1"}`)
			return
		}
		proxy.ServeHTTP(w, r)
	})}
	listener, err := listen()
	if err != nil {
		l.note("two versions in one pool", time.Now(), "", "", err)
		return
	}
	go older.Serve(listener)
	defer older.Close()
	l.refused(ctx, "two versions in one pool", setting{urls: []string{l.urls()[0], "http://" + listener.Addr().String()}}, "different versions of vLLM (0.22.1, 0.23.0)")
}

// restarted ends a server with requests in flight. It is started again at the
// same place, and the run that goes on meanwhile must take it back.
func (l *lab) restarted(ctx context.Context, servers *launcher.Servers) error {
	const step, out = "restarted", "restarted"
	p, err := l.begin(step, setting{urls: l.urls(), corpus: l.generation()}, out, "run", "generate")
	if err != nil {
		return err
	}
	defer p.Kill()
	if err := l.stored(ctx, p, out, l.total()/20); err != nil {
		return err
	}
	begin := time.Now()
	before, err := rollout.Stored(l.path(out))
	if err != nil {
		return err
	}
	if err := syscall.Kill(servers.Process(0), syscall.SIGTERM); err != nil {
		return err
	}
	says := func(words string) func() (bool, error) {
		return func() (bool, error) { return strings.Contains(l.said(step), "replica "+l.urls()[0]+words), nil }
	}
	err = p.Until(ctx, says(" is out"))
	l.note("SIGTERM of a server with requests in flight", begin, fmt.Sprintf("missed after %.1f s, its requests sent again", time.Since(begin).Seconds()), "nothing", err)
	err = p.Until(ctx, says(" is back"))
	l.note("a server started again on the same port", begin, "taken back by the same run", "nothing", err)
	if err = p.Succeed(ctx); err == nil {
		err = l.complete(out, before)
	}
	l.note("that generation", begin, fmt.Sprintf("each of %d is there once", l.total()), "nothing", err)
	return ctx.Err()
}

// void kills an engine in the middle of a timed run, which must be made again,
// and no other.
func (l *lab) void(ctx context.Context, servers *launcher.Servers) error {
	const out = "timed"
	s := setting{urls: l.urls(), corpus: l.timing()}
	settings := []timed.Setting{{Profile: l.profile, Digest: l.profile.SHA256(), Seed: masterSeed, Budget: budget}}
	replay, err := l.begin("replay", s, out, "run", "replay")
	if err != nil {
		return err
	}
	defer replay.Kill()
	if err := replay.Succeed(ctx); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	p, err := l.begin("void", s, out, "run", "systems")
	if err != nil {
		return err
	}
	defer p.Kill()
	begin := time.Now()
	if err := l.midRun(ctx, p, out, settings); err != nil {
		return err
	}
	if err := process.KillEngine(servers.Process(0)); err != nil {
		return err
	}
	if err := p.Wait(ctx); err != nil {
		return err
	}
	kept, err := timed.Kept(l.path(out), settings)
	if err != nil {
		return err
	}
	voids, err := timed.Voids(l.path(out))
	if err == nil && (p.Code() != 1 || len(voids) == 0) {
		err = fmt.Errorf("exit code %d, %d void runs:\n%s", p.Code(), len(voids), p.Last())
	}
	l.note("an engine killed in a timed run", begin, fmt.Sprintf("%d void, %d kept", len(voids), len(kept)), "the void runs", err)
	if err := l.wellAgain(ctx, servers); err != nil {
		return err
	}
	begin = time.Now()
	again, err := l.begin("again", s, out, "run", "systems")
	if err != nil {
		return err
	}
	defer again.Kill()
	failed := again.Succeed(ctx)
	all, err := timed.Kept(l.path(out), settings)
	if err == nil {
		err = alone(kept, all)
	}
	l.note("the timed runs made again", begin, fmt.Sprintf("%d made, %d left as they were", len(all)-len(kept), len(kept)), "nothing", errors.Join(failed, err))
	return ctx.Err()
}

// midRun waits until a run is kept and the next one has requests at the first
// server.
func (l *lab) midRun(ctx context.Context, p *process.Process, out string, settings []timed.Setting) error {
	return p.Until(ctx, func() (bool, error) {
		kept, err := timed.Kept(l.path(out), settings)
		if err != nil || len(kept) == 0 {
			return false, err
		}
		samples, err := timed.Look(ctx, l.urls()[:1])
		return err == nil && samples[0].Requests == window, nil
	})
}

// wellAgain waits until the killed server has been started again.
func (l *lab) wellAgain(ctx context.Context, servers *launcher.Servers) error {
	for servers.Process(0) == 0 || healthOf(ctx, l.urls()[0]) != "200" {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

// alone tells whether runs were made again that were kept.
func alone(kept, all map[string]string) error {
	var faults []error
	for run, started := range kept {
		if all[run] != started {
			faults = append(faults, fmt.Errorf("%s was begun at %s, and is now of %q", run, started, all[run]))
		}
	}
	if len(all) != len(policy.Strategies) {
		faults = append(faults, fmt.Errorf("%d runs of %d are there", len(all), len(policy.Strategies)))
	}
	return errors.Join(faults...)
}
