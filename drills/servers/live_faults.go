package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"speceval/drills/lab"
	"speceval/internal/clock"
	"speceval/internal/launcher"
	"speceval/internal/policy"
	"speceval/internal/rollout"
)

// goneWithin is how long servers may stay after the program that started them.
const goneWithin = 30 * time.Second

// launched breaks a generation on servers that speceval starts itself.
func (v *live) launched(ctx context.Context) error {
	const out = "launched"
	s := variant{corpus: v.generating()}

	p, err := v.begin("killed-early", out, s, "run", "generate")
	if err != nil {
		return err
	}
	defer p.Kill()
	err = p.Until(ctx, func() (bool, error) { // both have started their engines, are far from ready, and leave much behind
		groups := v.groups()
		for _, group := range groups {
			if len(lab.GroupMembers(group)) < 2 {
				return false, nil
			}
		}
		return len(groups) == len(v.ports()), nil
	})
	if err != nil {
		return err
	}
	v.leaves(ctx, "SIGKILL of speceval while servers start", p, syscall.SIGKILL)

	if p, err = v.begin("engines", out, s, "run", "generate"); err != nil {
		return err
	}
	defer p.Kill()
	t := &trial{out: v.Path(out)}
	if err := t.stored(ctx, p, v.total()/20); err != nil {
		return err
	}
	v.engineDies(ctx, p, 1, "SIGKILL of an engine whose API stays")
	v.engineDies(ctx, p, 0, "SIGKILL of an engine")
	before, err := rollout.Stored(t.out)
	if err != nil {
		return err
	}
	if p.Gone() {
		return fmt.Errorf("it ended with %d of %d rollouts, exit code %d:\n%s", len(before), v.total(), p.Code(), p.Last())
	}
	v.leaves(ctx, "SIGTERM of speceval while it generates", p, syscall.SIGTERM)

	begin := time.Now()
	if p, err = v.begin("resumed", out, s, "run", "generate"); err != nil {
		return err
	}
	defer p.Kill()
	v.finishes(ctx, p, t.out, "the generation after all that", begin, before)
	return ctx.Err()
}

// finishes waits for the end of a generation, of which every rollout must be stored once.
func (v *live) finishes(ctx context.Context, p *lab.Process, out, what string, begin time.Time, before []rollout.Place) {
	err := p.Succeed(ctx)
	if err == nil {
		err = v.complete(out, before)
	}
	v.note(what, begin, fmt.Sprintf("went on from %d, and each of %d is there once", len(before), v.total()), "nothing", err)
}

// groups are the process groups of the servers on the drill's ports.
func (v *live) groups() (all []int) {
	for _, port := range v.ports() {
		if group := lab.GroupOn(port); group != 0 {
			all = append(all, group)
		}
	}
	return all
}

// leaves ends the program by a signal, and waits until none of its servers' processes is
// left.
func (v *live) leaves(ctx context.Context, fault string, p *lab.Process, s syscall.Signal) {
	begin := time.Now()
	groups := v.groups()
	ctx, cancel := context.WithTimeout(ctx, goneWithin)
	defer cancel()
	err := p.Signal(s)
	if err == nil {
		err = p.Wait(ctx)
	}
	processes := 0
	for _, group := range groups {
		processes += len(lab.GroupMembers(group))
		err = errors.Join(err, lab.GroupGone(ctx, group))
	}
	if len(groups) != len(v.ports()) {
		err = errors.Join(err, fmt.Errorf("%d of %d servers ran", len(groups), len(v.ports())))
	}
	v.note(fault, begin, fmt.Sprintf("exit code %d; %d processes of servers were left then, and none at the end", p.Code(), processes), "nothing", err)
}

// engineDies kills the engine of a replica while the program generates. The program must
// discard the replica, start it again and use it again.
func (v *live) engineDies(ctx context.Context, p *lab.Process, replica int, fault string) {
	begin, url, seen := time.Now(), v.urls()[replica], ""
	already := len(p.Text())
	err := lab.KillEngine(lab.GroupOn(v.ports()[replica]))
	if err == nil {
		err = p.Until(ctx, prints(p, already, "replica "+url+" is out"))
	}
	missed, health := time.Since(begin), healthOf(ctx, url)
	if err == nil {
		err = p.Until(ctx, prints(p, already, "replica "+url+" is back"))
		seen = fmt.Sprintf("/health answered %s; missed after %.1f s, back after %.0f s", health, missed.Seconds(), time.Since(begin).Seconds())
	}
	v.note(fault, begin, seen, "nothing", err)
}

// prints reports whether a process has printed some words since its output had a length.
func prints(p *lab.Process, since int, words string) func() (bool, error) {
	return func() (bool, error) { return strings.Contains(p.Text()[since:], words), nil }
}

// healthOf is a server's status on /health, for people.
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

// running breaks runs on servers that the drill has started, and starts again, without
// a word to speceval.
func (v *live) running(ctx context.Context) error {
	begin := time.Now()
	model := launcher.Model{Path: v.model, Served: liveModel, MaxSequences: 32, ContextTokens: liveContext}
	servers, err := launcher.Start(ctx, v.recipe(), model, launcher.Options{
		Logs: v.Path("servers"), Start: liveStart, Clock: clock.Wall{}, Environment: os.Environ(),
	})
	if err != nil {
		return err
	}
	defer servers.Stop(context.WithoutCancel(ctx))
	v.Printf("two servers were up after %.0f s", time.Since(begin).Seconds())

	if err := v.versions(ctx); err != nil {
		return err
	}
	if err := v.restarted(ctx, servers); err != nil {
		return err
	}
	return v.void(ctx, servers)
}

// versions has a second server report another version.
func (v *live) versions(ctx context.Context) error {
	target, err := url.Parse(v.urls()[1])
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	older := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"version": "0.22.1"}`)
			return
		}
		proxy.ServeHTTP(w, r)
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go older.Serve(listener)
	defer older.Close()
	v.refused(ctx, "two versions in one pool", variant{urls: []string{v.urls()[0], "http://" + listener.Addr().String()}}, "different versions of vLLM (0.22.1, 0.23.0)")
	return nil
}

// restarted ends a server with requests in flight. It is started again at the same place,
// and the run that goes on meanwhile must take it back.
func (v *live) restarted(ctx context.Context, servers *launcher.Servers) error {
	const out = "restarted"
	p, err := v.begin("restarted", out, variant{urls: v.urls(), corpus: v.generating()}, "run", "generate")
	if err != nil {
		return err
	}
	defer p.Kill()
	t := &trial{out: v.Path(out)}
	if err := t.stored(ctx, p, v.total()/20); err != nil {
		return err
	}
	begin := time.Now()
	before, err := rollout.Stored(t.out)
	if err != nil {
		return err
	}
	if err := syscall.Kill(servers.Process(0), syscall.SIGTERM); err != nil {
		return err
	}
	err = p.Until(ctx, prints(p, 0, "replica "+v.urls()[0]+" is out"))
	v.note("SIGTERM of a server with requests in flight", begin, fmt.Sprintf("missed after %.1f s, its requests sent again", time.Since(begin).Seconds()), "nothing", err)
	err = p.Until(ctx, prints(p, 0, "replica "+v.urls()[0]+" is back"))
	v.note("a server started again on the same port", begin, "taken back by the same run", "nothing", err)
	v.finishes(ctx, p, t.out, "that generation", begin, before)
	return ctx.Err()
}

// void kills an engine in the middle of a timed run, which must be made again, and no
// other.
func (v *live) void(ctx context.Context, servers *launcher.Servers) error {
	s := variant{urls: v.urls(), corpus: lab.Settings{"profiles": v.Path(profilesFile)}}
	out, quizzed := v.Path("timed"), quiz(liveBenchmark, liveModel)
	settings := []setting{{profile: quizzed, digest: quizzed.SHA256(), seed: masterSeed, budget: liveBudget}}
	replay, err := v.begin("replay", "timed", s, "run", "replay")
	if err != nil {
		return err
	}
	defer replay.Kill()
	if err := replay.Succeed(ctx); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	p, err := v.begin("void", "timed", s, "run", "systems")
	if err != nil {
		return err
	}
	defer p.Kill()
	begin := time.Now()
	err = p.Until(ctx, func() (bool, error) { // a run is kept and the next one has requests at the first server
		kept, err := keptRuns(out, settings)
		if err != nil || len(kept) == 0 {
			return false, err
		}
		samples, err := sampled(ctx, v.urls()[:1])
		return err == nil && inFlight(samples) == liveWindow, nil
	})
	if err != nil {
		return err
	}
	if err := lab.KillEngine(servers.Process(0)); err != nil {
		return err
	}
	if err := p.Wait(ctx); err != nil {
		return err
	}
	kept, err := keptRuns(out, settings)
	if err != nil {
		return err
	}
	voids, err := voidRuns(out)
	if err == nil && (p.Code() != 1 || len(voids) == 0) {
		err = fmt.Errorf("exit code %d, %d void runs:\n%s", p.Code(), len(voids), p.Last())
	}
	v.note("an engine killed in a timed run", begin, fmt.Sprintf("%d void, %d kept", len(voids), len(kept)), "the void runs", err)
	for servers.Process(0) == 0 || healthOf(ctx, v.urls()[0]) != "200" { // the server is started again
		if err := lab.Wait(ctx, time.Second); err != nil {
			return err
		}
	}
	begin = time.Now()
	again, err := v.begin("again", "timed", s, "run", "systems")
	if err != nil {
		return err
	}
	defer again.Kill()
	failed := again.Succeed(ctx)
	all, err := keptRuns(out, settings)
	if err == nil {
		err = madeAgainAlone(kept, all)
	}
	v.note("the timed runs made again", begin, fmt.Sprintf("%d made, %d left as they were", len(all)-len(kept), len(kept)), "nothing", errors.Join(failed, err))
	return ctx.Err()
}

// madeAgainAlone is an error if runs that were kept were made again, or a strategy has
// no run.
func madeAgainAlone(kept, all map[string]string) error {
	err := unchanged(kept, all)
	if len(all) != len(policy.Strategies) {
		err = errors.Join(err, fmt.Errorf("%d runs of %d are there", len(all), len(policy.Strategies)))
	}
	return err
}
