//go:build drill

package servers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"speceval/drills/drill"
	"speceval/internal/clock"
	"speceval/internal/conformance"
	"speceval/internal/fleet/imitation"
	"speceval/internal/launcher"
)

// checks compares real servers with imitated ones.
func (o *realVLLM) checks() {
	o.Logf("starting a dense and a thinking model on real servers; this takes a minute or more")
	real, err := o.realResults()
	o.OK(err)
	if *record != "" { // for the imitation's test
		for kind, r := range real {
			o.Write(filepath.Join(drill.FromRoot(*record), kind+".txt"), conformance.Record(r))
		}
	}
	imitated, err := imitatedResults(o.Ctx)
	o.OK(err)
	o.compareResults(real, imitated)
}

// target is a server that is checked, real or not.
func target(url, kind string) *conformance.Target {
	return &conformance.Target{
		URL: url, Model: kind, Context: contextTokens, Sequences: sequences, Thinking: kind == "thinking",
		Key: key, KeepAlive: keepAlive, Clock: clock.Wall{},
	}
}

// realResults makes all checks of two real servers at the same time.
func (o *realVLLM) realResults() (map[string][]conformance.Result, error) {
	ctx, cancel := context.WithCancel(o.Ctx)
	defer cancel()
	var mu sync.Mutex
	results := make(map[string][]conformance.Result)
	faults := make([]error, len(kinds))
	var group sync.WaitGroup
	for core, kind := range kinds {
		group.Go(func() {
			r, err := o.realResult(ctx, kind, core)
			if err != nil {
				faults[core] = fmt.Errorf("%s: %w", kind, err)
				cancel()
				return
			}
			mu.Lock()
			results[kind] = r
			mu.Unlock()
		})
	}
	group.Wait()
	return results, errors.Join(faults...)
}

func (o *realVLLM) realResult(ctx context.Context, kind string, core int) ([]conformance.Result, error) {
	begin := time.Now()
	servers, err := launcher.Start(ctx, o.recipe(kind, core), o.model(kind), launcher.Options{
		Logs: o.Path(kind), Start: startLimit, Clock: clock.Wall{}, Environment: os.Environ(), Key: key,
		Report: func(line string) { o.Logf("%s: %s", kind, line) },
	})
	if err != nil {
		return nil, err
	}
	defer servers.Stop(context.WithoutCancel(ctx))
	o.Logf("%s: up after %.0f s", kind, time.Since(begin).Seconds())
	t := target(servers.URLs()[0], kind)
	t.Kill = func() error { return killEngine(servers.Process(0)) }
	begin = time.Now()
	results := conformance.RunAll(ctx, t)
	o.Logf("%s: %d checks in %.0f s", kind, len(results), time.Since(begin).Seconds())
	return results, ctx.Err()
}

// imitatedSpeed makes a step of the imitation about as long as one of the small models on
// a CPU.
const imitatedSpeed = 5

// imitatedResults makes all checks of two imitated servers.
func imitatedResults(ctx context.Context) (map[string][]conformance.Result, error) {
	results := make(map[string][]conformance.Result)
	for _, kind := range kinds {
		settings := imitation.Settings{
			Model: kind, MaxModelLen: contextTokens, MaxSequences: sequences, Key: key, KeepAlive: keepAlive, Speed: imitatedSpeed,
		}
		if kind == "thinking" {
			settings.Thinking, settings.ReasoningParser = true, "qwen3"
		}
		r := imitation.New(settings)
		defer r.Close()
		if err := r.Listen("127.0.0.1:0"); err != nil {
			return nil, err
		}
		t := target(r.URL(), kind)
		t.Kill = func() error { r.Crash(); return nil }
		results[kind] = conformance.RunAll(ctx, t)
	}
	return results, ctx.Err()
}

// compareResults prints what real and imitated servers did, and fails where they differ
// without a reason, or where a check failed.
func (o *realVLLM) compareResults(real, imitated map[string][]conformance.Result) {
	var rows [][]any
	var details strings.Builder
	wrong := 0
	for _, kind := range kinds {
		for i, r := range real[kind] {
			f := imitated[kind][i]
			verdict, reason := verdictOn(r, f)
			rows = append(rows, []any{r.Check.Name, kind, firstLine(r.Text()), firstLine(f.Text()), verdict})
			if verdict == "yes" || verdict == "skipped" {
				continue
			}
			if reason == "" {
				wrong++
			} else {
				reason = " (" + reason + ")"
			}
			fmt.Fprintf(&details, "\n%s, %s: %s%s\n", r.Check.Name, kind, r.Check.About, reason)
			for _, side := range [][2]string{{"real", r.Text()}, {"fake", f.Text()}} {
				fmt.Fprintf(&details, "  %s: %s\n", side[0], strings.ReplaceAll(side[1], "\n", "\n        "))
			}
		}
	}
	drill.Table([]string{"check", "model", "real", "fake", "same?"}, rows)
	o.Logf("%s", details.String())
	if wrong > 0 {
		o.Errorf("%d checks failed, or differ without a reason", wrong)
	}
}

// verdictOn compares two results; a reason is given where a difference is accepted.
func verdictOn(real, imitated conformance.Result) (verdict, reason string) {
	failed := func(r conformance.Result) bool { return r.Err != nil && !errors.Is(r.Err, conformance.ErrSkipped) }
	switch reason := conformance.Accepted(real.Check.Name); {
	case failed(real) || failed(imitated):
		return "FAILED", ""
	case errors.Is(real.Err, conformance.ErrSkipped) && errors.Is(imitated.Err, conformance.ErrSkipped):
		return "skipped", ""
	case real.Text() == imitated.Text():
		return "yes", ""
	case reason != "":
		return "accepted", reason
	}
	return "NO", ""
}

// firstLine is the beginning of a text, for a column.
func firstLine(text string) string {
	line, more, _ := strings.Cut(text, "\n")
	if short := shortened(line, 38); short != line || more == "" {
		return short
	}
	return line + " …"
}
