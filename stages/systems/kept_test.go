package systems_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"speceval/internal/measurement"
)

// sizes are the requests of each run, from and to, by strategy: of those that
// were cancelled before a replica began, some may never have been sent.
func (h *hall) sizes() map[string][2]int {
	sizes := map[string][2]int{}
	for _, r := range read[measurement.Request](h.t, h.dir, measuredFile("requests", 9)) {
		key := r.Strategy + string(rune('0'+r.Repeat))
		size := sizes[key]
		size[1]++
		if r.State != "cancelled_queued" {
			size[0]++
		}
		sizes[key] = size
	}
	return sizes
}

// TestAVoidRunAloneIsMadeAgain disturbs the first run in every way that voids
// it.
func TestAVoidRunAloneIsMadeAgain(t *testing.T) {
	for name, test := range map[string]struct {
		disturb func(t *testing.T, s *server, w http.ResponseWriter) (answered bool)
		want    string
	}{
		"a replica dies": {func(_ *testing.T, s *server, _ http.ResponseWriter) bool { s.Crash(); return false }, "lost"},
		"a request fails": {func(_ *testing.T, _ *server, w http.ResponseWriter) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			w.Write([]byte(`{"error":{"message":"out of luck","type":"InternalServerError","code":500}}`))
			return true
		}, "out of luck"},
		"somebody else uses a replica": {func(t *testing.T, s *server, _ http.ResponseWriter) bool { s.intrude(t); return false }, "somebody else uses it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, 0)
			h.at(20, func(s *server, w http.ResponseWriter) bool { return test.disturb(t, s, w) })
			h.fail("1 of 4 runs are void", test.want)
			h.counts()
			voids := h.scratch("void.txt")
			if kept := h.scratch("*.run.parquet"); len(kept) != 3 || len(voids) != 1 {
				t.Fatalf("%d runs were kept and %d files list void ones, want 3 and 1", len(kept), len(voids))
			}
			text, err := os.ReadFile(voids[0])
			if err != nil {
				t.Fatal(err)
			}
			void := strings.Fields(strings.Replace(string(text), ",", "", 1))
			if lines := strings.Count(string(text), "\n"); lines != 1 || void[2] != "repeat" || void[3] != "0:" || !strings.Contains(string(text), test.want) {
				t.Errorf("void runs, %d lines: %s", lines, text)
			}
			h.succeed()
			asked, warmUps := h.counts()
			if size := h.sizes()[void[1]+"0"]; asked < size[0] || asked > size[1] || warmUps != replicas {
				t.Errorf("run again, it asked %d times after %d warm-ups; the void run has %v requests", asked, warmUps, size)
			}
			if m := h.manifest(measuredUnit); !strings.Contains(m, "void runs that were made again") || !strings.Contains(m, void[1]+", repeat 0: ") || strings.Contains(m, `\n",`) {
				t.Errorf("the manifest does not tell of the void run: %s", m)
			}
			if left := h.scratch("*"); len(left) > 0 {
				t.Errorf("left in the scratch folder: %q", left)
			}
		})
	}
}

// TestWarmAgainAfterAVoidRun: what voided a run may have left replicas cold.
func TestWarmAgainAfterAVoidRun(t *testing.T) {
	h := newHall(t, 0)
	h.at(20, func(s *server, _ http.ResponseWriter) bool { s.Crash(); return false })
	h.fail("1 of 4 runs are void")
	if _, warmUps := h.counts(); warmUps != 2*replicas {
		t.Errorf("%d warm-ups, want one of each replica before the void run and one after", warmUps)
	}
}

// TestAFailureAfterAVoidRunTellsOfBoth has the servers gone for good.
func TestAFailureAfterAVoidRunTellsOfBoth(t *testing.T) {
	h := newHall(t, 0)
	h.settings.Measured.Return = 0
	h.at(20, func(s *server, _ http.ResponseWriter) bool { s.Crash(); return false })
	h.fail("1 of 2 replicas are out", "1 of 4 runs are void", "lost")
}

// TestKilledBetweenTwoFiles finds the scratch folder as a kill may leave it: a
// run without its last file, one whose files are torn, temporary files.
func TestKilledBetweenTwoFiles(t *testing.T) {
	h := newHall(t, 0)
	h.settings.Measured.Repeats = []int{2}
	ctx, cancel := context.WithCancel(t.Context())
	h.at(250, func(*server, http.ResponseWriter) bool { cancel(); return false })
	if err := h.attempt(ctx); !errors.Is(err, context.Canceled) && err == nil {
		t.Fatal("it was not interrupted")
	}
	kept := h.scratch("*.run.parquet")
	if len(kept) < 4 {
		t.Fatalf("%d runs were kept", len(kept))
	}
	spoil := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	spoil(os.Remove(kept[0]))
	spoil(os.Truncate(kept[1], 100))
	spoil(os.Truncate(strings.Replace(kept[2], ".run.", ".requests.", 1), 100))
	spoil(os.WriteFile(kept[3]+".123.partial", nil, 0o666))
	h.counts()
	h.succeed()
	asked, _ := h.counts()
	again, most := 8-len(kept)+3, 0
	for _, size := range h.sizes() {
		most += size[1]
	}
	if asked < again*45 || asked > most-45 {
		t.Errorf("%d requests for %d runs; all 8 have %d", asked, again, most)
	}
}

// TestKeptRunsAreOfOneProvenance has runs kept of imitated servers when there
// are real ones: they are made again, whenever that is interrupted.
func TestKeptRunsAreOfOneProvenance(t *testing.T) {
	h := newHall(t, 0)
	h.at(20, func(_ *server, w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	h.fail("1 of 4 runs are void") // the first
	h.real = true
	h.at(20, func(*server, http.ResponseWriter) bool { close(h.drain); return false })
	if err := h.attempt(t.Context()); err == nil {
		t.Fatal("it was not interrupted")
	}
	if kept := h.scratch("*.run.parquet"); len(kept) != 4 {
		t.Fatalf("%d runs are kept, want 1 of real servers and 3 of others", len(kept))
	}
	h.drain = make(chan struct{})
	h.succeed()
	for _, r := range read[measurement.Run](t, h.dir, measuredFile("runs", 9)) {
		if r.Provenance != measurement.Measured {
			t.Errorf("%s, repeat %d is %s", r.Strategy, r.Repeat, r.Provenance)
		}
	}
	if m := h.manifest(measuredUnit); !strings.Contains(m, `"provenance": "measured"`) {
		t.Error("the manifest does not say that the runs are measured")
	}
}
