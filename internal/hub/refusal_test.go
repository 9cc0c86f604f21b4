package hub_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"speceval/internal/hub"
	"speceval/internal/hub/hubtest"
)

// header makes headers of names and values.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// always is a fault of every request.
func always(f hubtest.Fault) func(*hubtest.Hub) {
	return func(h *hubtest.Hub) { h.Fault = func(hubtest.Request) hubtest.Fault { return f } }
}

func TestAccess(t *testing.T) {
	const page = "/datasets/" + dataset
	gated := func(h *hubtest.Hub) { h.Gated = []string{dataset} }
	tests := []struct {
		name, token string
		change      func(*hubtest.Hub)
		status      int
		want        string
	}{
		{"no token", "", gated, 401, "put a token of that account"},
		{"bad token", "hf_other", gated, 401, "does not know the token in HF_TOKEN"},
		{"terms not accepted", token, func(h *hubtest.Hub) { h.Refused = []string{dataset} }, 403, "accept the terms of the dataset at"},
		{"forbidden without a word", token, always(hubtest.Fault{Status: 403}), 403, "answers with 403:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := lay(t, 10, test.change)
			l.options.Token = test.token
			err := l.wantFault(l.URL+page, "HF_TOKEN", test.want, dataset)
			if e := (*hub.AccessError)(nil); !errors.As(err, &e) || e.Status != test.status || e.Page != l.URL+page || e.Dataset != dataset {
				t.Errorf("error %+v, want an AccessError with status %d", e, test.status)
			}
			if len(l.Requests()) != 1 || test.token != "" && strings.Contains(err.Error(), test.token) {
				t.Errorf("%d requests, error %v", len(l.Requests()), err)
			}
		})
	}
}

func TestAnswersThatAreFinal(t *testing.T) {
	tests := []struct {
		name   string
		change func(*hubtest.Hub)
		want   string
	}{
		{"no such dataset", always(hubtest.Fault{Status: 404, Header: header("X-Error-Code", "RepoNotFound")}), "no such dataset"},
		{"no such revision", func(h *hubtest.Hub) { h.Revisions = map[string]string{dataset: strings.Repeat("e", 40)} }, "RevisionNotFound: Invalid rev id: " + revision + "): the dataset has no revision"},
		{"no such file", always(hubtest.Fault{Status: 404, Header: header("X-Error-Code", "EntryNotFound")}), "has no such file"},
		{"another 404", always(hubtest.Fault{Status: 404}), "is HF_ENDPOINT right"},
		{"a joke", always(hubtest.Fault{Status: 418}), "418"},
		{"another revision", always(hubtest.Fault{Header: header("X-Repo-Commit", strings.Repeat("e", 40))}), "answers with revision \"" + strings.Repeat("e", 40)},
		{"no revision", always(hubtest.Fault{Header: http.Header{"X-Repo-Commit": nil}}), "does not say of which revision"},
		{"no size", always(hubtest.Fault{Unmeasured: true}), "does not say how large it is"},
		{"an odd size", always(hubtest.Fault{Header: header("X-Linked-Size", "-5")}), `has "-5" bytes`},
		{"packed", always(hubtest.Fault{Header: header("Content-Encoding", "gzip")}), `packed by "gzip"`},
		{"a redirect to a file", always(hubtest.Fault{Status: 302, Header: header("Location", "file:///etc/passwd")}), `an address of "file"`},
		{"a redirect to nowhere", always(hubtest.Fault{Status: 302}), "sends on to nowhere"},
		{"a redirect to no host", always(hubtest.Fault{Status: 302, Header: header("Location", "http:///x")}), "not followed"},
		{"redirects for ever", always(hubtest.Fault{Status: 302, Header: header("Location", "/datasets/a/b/resolve/x/y")}), "more than 10 redirects"},
		{"words for a terminal", always(hubtest.Fault{Status: 418, Header: header("X-Error-Message", "a\u009b31mb"+token)}), "418 (a31mb<HF_TOKEN>)"},
		{"many words", always(hubtest.Fault{Status: 418, Header: header("X-Error-Message", strings.Repeat("ü", 5000))}), "418 (" + strings.Repeat("ü", 150) + ")"},
		{"a token for a host", always(hubtest.Fault{Status: 302, Header: header("Location", "ftp://x/"+token)}), "ftp"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := lay(t, 10, test.change)
			l.wantFault(test.want, "fetch "+name+" of "+dataset)
			if len(l.clock.slept) > 0 || len(l.beside()) > 0 {
				t.Errorf("waited %v, left %v", l.clock.slept, l.beside())
			}
		})
	}
}

func TestUnknownDatasetWithoutToken(t *testing.T) {
	l := lay(t, 10, nil)
	l.Dir += "x"
	l.options.Token = ""
	l.wantFault("401 (RepoNotFound", "HF_TOKEN")
}

// TestAnswersThatPass breaks the first requests, and lets the others through.
func TestAnswersThatPass(t *testing.T) {
	tests := []struct {
		name  string
		fault hubtest.Fault
		store bool // breaks the store's answers
		waits []time.Duration
	}{
		{"500", hubtest.Fault{Status: 500}, false, nil},
		{"503", hubtest.Fault{Status: 503, Header: header("Retry-After", "7")}, false, []time.Duration{7 * time.Second, 7 * time.Second}},
		{"429", hubtest.Fault{Status: 429}, false, nil},
		{"429 with seconds", hubtest.Fault{Status: 429, Header: header("Retry-After", "120")}, false, []time.Duration{2 * time.Minute, 2 * time.Minute}},
		{"429 with a date", hubtest.Fault{Status: 429, Header: header("Retry-After", noon.Add(time.Minute).Format(http.TimeFormat))}, false, []time.Duration{time.Minute, time.Minute}},
		{"429 with a date that has passed", hubtest.Fault{Status: 429, Header: header("Retry-After", noon.Add(-time.Minute).Format(http.TimeFormat))}, false, nil},
		{"429 with garbage", hubtest.Fault{Status: 429, Header: header("Retry-After", "soon")}, false, nil},
		{"no answer", hubtest.Fault{Break: true, After: -1}, false, nil},
		{"no answer of the store", hubtest.Fault{Break: true, After: -1}, true, nil},
		{"an address of the store that is too old", hubtest.Fault{Status: 403}, true, nil},
		{"a store that has lost the file", hubtest.Fault{Status: 404}, true, nil},
		{"a break before the first byte", hubtest.Fault{Break: true}, true, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			broken := 0
			l := lay(t, 1000, func(h *hubtest.Hub) {
				h.Large = 1
				h.Fault = func(r hubtest.Request) hubtest.Fault {
					if broken == 2 || r.Store != test.store {
						return hubtest.Fault{}
					}
					broken++
					return test.fault
				}
			})
			l.wantWhole()
			if len(l.clock.slept) != 2 || !l.reported("trying again in") {
				t.Fatalf("slept %v, reported %q", l.clock.slept, l.reports)
			}
			for i, d := range l.clock.slept {
				whole := time.Second << i
				if test.waits != nil && d != test.waits[i] || test.waits == nil && (d < whole/2 || d > whole) {
					t.Errorf("waits %v, want %v", l.clock.slept, test.waits)
				}
			}
		})
	}
}

func TestAskedToComeBackMuchLater(t *testing.T) {
	l := lay(t, 10, always(hubtest.Fault{Status: 429, Header: header("Retry-After", strconv.Itoa(3*3600))}))
	l.wantFault("429", "asks to come back in 3h0m0s")
	if len(l.clock.slept) > 0 {
		t.Errorf("slept %v", l.clock.slept)
	}
}

func TestWaits(t *testing.T) {
	waits := func(seed uint64, attempts int) []time.Duration {
		l := lay(t, 10, always(hubtest.Fault{Status: 500}))
		l.options.Seed, l.options.Attempts = seed, attempts
		l.wantFault("given up after "+strconv.Itoa(attempts)+" attempts", "500")
		if len(l.Requests()) != attempts {
			t.Errorf("%d requests for %d attempts", len(l.Requests()), attempts)
		}
		return l.clock.slept
	}
	one, again, other := waits(1, 30), waits(1, 30), waits(2, 30)
	same := 0
	for i, d := range one {
		whole := min(time.Second<<min(i, 10), time.Minute)
		if d != again[i] || d < whole/2 || d > whole {
			t.Errorf("wait %d is %v and %v, want %v at most", i, d, again[i], whole)
		}
		if d == other[i] {
			same++
		}
	}
	if len(one) != 29 || same > 0 {
		t.Errorf("%d waits, %d are those of another seed", len(one), same)
	}
}
