//go:build drill

package servers_test

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

	"speceval/drills/drill"
	"speceval/internal/clock"
	"speceval/internal/launcher"
	"speceval/internal/policy"
	"speceval/internal/rollout"
)

// goneWithin is how long servers may stay after the program that started them.
const goneWithin = 30 * time.Second

// launched breaks a generation on servers that speceval starts itself.
func (v *live) launched() {
	const out = "launched"
	s := variant{corpus: v.generating()}
	p := v.begin("killed-early", out, s, "run", "generate")
	p.Until(func() bool { // both have started their engines, are far from ready, and leave much behind
		groups := v.groups()
		for _, group := range groups {
			if len(groupMembers(group)) < 2 {
				return false
			}
		}
		return len(groups) == len(v.ports())
	})
	v.leaves("SIGKILL of speceval while servers start", p, syscall.SIGKILL)

	p = v.begin("engines", out, s, "run", "generate")
	t := &trial{Lab: v.Lab, out: v.Path(out)}
	t.untilStored(p, v.total()/20)
	v.engineDies(p, 1, "SIGKILL of an engine whose API stays")
	v.engineDies(p, 0, "SIGKILL of an engine")
	before := t.stored()
	if p.Gone() {
		v.Fatalf("it ended with %d of %d rollouts, exit code %d:\n%s", len(before), v.total(), p.Code(), p.Last())
	}
	v.leaves("SIGTERM of speceval while it generates", p, syscall.SIGTERM)

	begin := time.Now()
	p = v.begin("resumed", out, s, "run", "generate")
	v.finishes(p, t, "the generation after all that", begin, before)
}

// finishes waits for the end of a generation, of which every rollout must be stored once.
func (v *live) finishes(p *drill.Process, t *trial, what string, begin time.Time, before []rollout.Place) {
	p.Wait()
	p.Says(0)
	v.complete(t, before)
	v.note(what, begin, "went on from %d, and each of %d is there once", len(before), v.total())
}

// groups are the process groups of the servers on the drill's ports.
func (v *live) groups() (all []int) {
	for _, port := range v.ports() {
		if group := groupOn(port); group != 0 {
			all = append(all, group)
		}
	}
	return all
}

// leaves ends the program by a signal, and waits until none of its servers' processes is
// left.
func (v *live) leaves(fault string, p *drill.Process, s syscall.Signal) {
	begin, groups, processes := time.Now(), v.groups(), 0
	if len(groups) != len(v.ports()) {
		v.Fatalf("%d of %d servers ran", len(groups), len(v.ports()))
	}
	v.OK(p.Signal(s))
	p.Wait()
	for _, group := range groups {
		processes += len(groupMembers(group))
		v.Until("processes of servers still run", func() bool { return len(groupMembers(group)) == 0 })
	}
	if took := time.Since(begin); took > goneWithin {
		v.Errorf("%s: processes of servers were left for %v", fault, took)
	}
	v.note(fault, begin, "exit code %d; %d processes of servers were left then, and none at the end", p.Code(), processes)
}

// engineDies kills the engine of a replica while the program generates. The program must
// discard the replica, start it again and use it again.
func (v *live) engineDies(p *drill.Process, replica int, fault string) {
	begin, url := time.Now(), v.urls()[replica]
	already := len(p.Text())
	v.OK(killEngine(groupOn(v.ports()[replica])))
	p.Until(prints(p, already, "replica "+url+" is out"))
	missed, health := time.Since(begin), healthOf(v.Ctx, url)
	p.Until(prints(p, already, "replica "+url+" is back"))
	v.note(fault, begin, "/health answered %s; missed after %.1f s", health, missed.Seconds())
}

// prints reports whether a process has printed some words since its output had a length.
func prints(p *drill.Process, since int, words string) func() bool {
	return func() bool { return strings.Contains(p.Text()[since:], words) }
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
func (v *live) running() {
	begin := time.Now()
	model := launcher.Model{Path: drill.FromRoot(*folder), Served: liveModel, MaxSequences: 32, ContextTokens: liveContext}
	servers, err := launcher.Start(v.Ctx, v.recipe(), model, launcher.Options{
		Logs: v.Path("servers"), Start: liveStart, Clock: clock.Wall{}, Environment: os.Environ(),
	})
	v.OK(err)
	defer servers.Stop(context.Background())
	v.Logf("two servers were up after %.0f s", time.Since(begin).Seconds())
	v.versions()
	v.restarted(servers)
	v.void(servers)
}

// versions has a second server report another version.
func (v *live) versions() {
	target, err := url.Parse(v.urls()[1])
	v.OK(err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	older := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"version": "0.22.1"}`)
			return
		}
		proxy.ServeHTTP(w, r)
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	v.OK(err)
	go older.Serve(listener)
	defer older.Close()
	v.refused("two versions in one pool", variant{urls: []string{v.urls()[0], "http://" + listener.Addr().String()}}, "different versions of vLLM (0.22.1, 0.23.0)")
}

// restarted ends a server with requests in flight. It is started again at the same place,
// and the run that goes on meanwhile must take it back.
func (v *live) restarted(servers *launcher.Servers) {
	const out = "restarted"
	p := v.begin("restarted", out, variant{urls: v.urls(), corpus: v.generating()}, "run", "generate")
	t := &trial{Lab: v.Lab, out: v.Path(out)}
	t.untilStored(p, v.total()/20)
	begin, before := time.Now(), t.stored()
	v.OK(syscall.Kill(servers.Process(0), syscall.SIGTERM))
	p.Until(prints(p, 0, "replica "+v.urls()[0]+" is out"))
	v.note("SIGTERM of a server with requests in flight", begin, "missed, its requests sent again")
	p.Until(prints(p, 0, "replica "+v.urls()[0]+" is back"))
	v.note("a server started again on the same port", begin, "taken back by the same run")
	v.finishes(p, t, "that generation", begin, before)
}

// void kills an engine in the middle of a timed run, which must be made again, and no
// other.
func (v *live) void(servers *launcher.Servers) {
	s := variant{urls: v.urls(), corpus: drill.Settings{"profiles": v.Path(profilesFile)}}
	quizzed := quiz(liveBenchmark, liveModel)
	t := &trial{Lab: v.Lab, out: v.Path("timed")}
	settings := []setting{{profile: quizzed, digest: quizzed.SHA256(), seed: masterSeed, budget: liveBudget}}
	replay := v.begin("replay", "timed", s, "run", "replay")
	replay.Wait()
	replay.Says(0)
	p := v.begin("void", "timed", s, "run", "systems")
	begin := time.Now()
	p.Until(func() bool { // a run is kept and the next one has requests at the first server
		if len(t.keptRuns(settings)) == 0 {
			return false
		}
		samples, err := sampled(v.Ctx, v.urls()[:1])
		return err == nil && inFlight(samples) == liveWindow
	})
	v.OK(killEngine(servers.Process(0)))
	p.Wait()
	kept, voids := t.keptRuns(settings), t.voidRuns()
	if p.Code() != 1 || len(voids) == 0 {
		v.Fatalf("exit code %d, %d void runs:\n%s", p.Code(), len(voids), p.Last())
	}
	v.note("an engine killed in a timed run", begin, "%d void, %d kept", len(voids), len(kept))
	for servers.Process(0) == 0 || healthOf(v.Ctx, v.urls()[0]) != "200" { // the server is started again
		v.Wait(time.Second)
	}
	begin = time.Now()
	again := v.begin("again", "timed", s, "run", "systems")
	again.Wait()
	again.Says(0)
	all := t.keptRuns(settings)
	unchanged(v.Lab, kept, all)
	if len(all) != len(policy.Strategies) {
		v.Errorf("%d runs of %d are there", len(all), len(policy.Strategies))
	}
	v.note("the timed runs made again", begin, "%d made, %d left as they were", len(all)-len(kept), len(kept))
}
