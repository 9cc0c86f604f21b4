package hub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/internal/clock"
	"speceval/internal/hub"
	"speceval/internal/hub/hubtest"
)

// TestCutsAtRandomPoints breaks downloads at random bytes, sometimes so that
// the process would be gone too: the file comes out whole, and no byte of it is
// sent twice.
func TestCutsAtRandomPoints(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		size := random.IntN(300_000)
		var cuts []int64 // bytes after which an answer breaks
		for range random.IntN(8) {
			cuts = append(cuts, random.Int64N(int64(size)+1)>>random.IntN(10))
		}
		left := slices.Clone(cuts)
		l := lay(t, size, func(h *hubtest.Hub) {
			h.Large = random.Int64N(2)
			h.Fault = func(r hubtest.Request) hubtest.Fault {
				if r.Method != "GET" || h.Large == 1 && !r.Store || len(left) == 0 {
					return hubtest.Fault{}
				}
				cut := left[0]
				left = left[1:]
				return hubtest.Fault{Break: true, After: cut, Unmeasured: cut%2 == 0}
			}
		})
		l.options.Attempts = 1 + 20*random.IntN(2)
		for range cuts {
			if l.options.Attempts == 1 {
				l.fetch(t.Context(), nil)
			}
		}
		l.wantWhole()
		if sent := l.Sent(name); sent != int64(size) {
			t.Errorf("%d bytes were sent for %d, cut after %v", sent, size, cuts)
		}
	}
}

// TestKilled kills processes that fetch, and lets one more bring the rest.
func TestKilled(t *testing.T) {
	if endpoint := os.Getenv("SPECEVAL_TEST_ENDPOINT"); endpoint != "" {
		fetchAndDie(endpoint, os.Getenv("SPECEVAL_TEST_PATH"), os.Getenv("SPECEVAL_TEST_AFTER"))
	}
	l := lay(t, 8<<20, large)
	var there int64
	for _, after := range []int64{1, 4_567_890} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "SPECEVAL_TEST_ENDPOINT="+l.URL, "SPECEVAL_TEST_PATH="+l.path, fmt.Sprint("SPECEVAL_TEST_AFTER=", after))
		cmd.Run()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("the process ended with %v", cmd.ProcessState)
		}
		last := there
		if there = int64(len(l.file(".part"))); there < max(after, last) || l.file("") != nil {
			t.Errorf("%d bytes are kept of at least %d, after %d", there, after, last)
		}
	}
	before := len(l.Requests())
	l.wantWhole()
	if sent := l.sentSince(before); sent != 8<<20-there {
		t.Errorf("%d bytes were there, and %d more of %d were sent", there, sent, 8<<20)
	}
}

// fetchAndDie kills this process when some bytes have come.
func fetchAndDie(endpoint, path, after string) {
	var limit int64
	fmt.Sscan(after, &limit)
	client, err := hub.New(hub.Options{Endpoint: endpoint})
	if err != nil {
		panic(err)
	}
	client.Fetch(context.Background(), hub.File{Dataset: dataset, Revision: revision, Name: name}, path, func(done, _ int64) {
		if done >= limit {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
	panic("still alive")
}

// begin leaves the first bytes of the file, as a call leaves them that was cut.
func (l *lab) begin(n int64) {
	l.t.Helper()
	fault := l.Fault
	l.Fault = func(r hubtest.Request) hubtest.Fault {
		return hubtest.Fault{Break: r.Method == "GET" && (r.Store || l.Large == 0), After: n}
	}
	attempts := l.options.Attempts
	l.options.Attempts = 1
	l.wantFault("cut off")
	l.Fault, l.options.Attempts = fault, attempts
	if got := int64(len(l.file(".part"))); got != n {
		l.t.Fatalf("%d bytes are kept, want %d", got, n)
	}
}

// TestPartIsChecked begins a download, changes something, and goes on: the file
// is whole in the end, whatever was kept.
func TestPartIsChecked(t *testing.T) {
	onBytes := func(f hubtest.Fault) func(*lab) {
		return func(l *lab) {
			once := false
			l.Fault = func(r hubtest.Request) hubtest.Fault {
				if r.Method != "GET" || once {
					return hubtest.Fault{}
				}
				once = true
				return f
			}
		}
	}
	tests := []struct {
		name   string
		change func(*lab)
		sent   int64 // bytes after the change
	}{
		{"nothing", func(*lab) {}, 600},
		{"the note is gone", func(l *lab) { os.Remove(l.path + ".part.json") }, 1000},
		{"the note is garbage", func(l *lab) { l.put(".part.json", []byte("{")) }, 1000},
		{"the note is of another revision", func(l *lab) {
			l.put(".part.json", bytes.ReplaceAll(l.file(".part.json"), []byte(revision), []byte(strings.Repeat("e", 40))))
		}, 1000},
		{"the note has another hash", func(l *lab) {
			l.put(".part.json", bytes.Replace(l.file(".part.json"), []byte(`"tag": "`), []byte(`"tag": "0`), 1))
		}, 1000},
		{"the part is gone", func(l *lab) { os.Remove(l.path + ".part") }, 1000},
		{"the part is too long", func(l *lab) { l.put(".part", make([]byte, 1001)) }, 1000},
		{"the part is complete", func(l *lab) { l.put(".part", l.content) }, 0},
		{"the service does not heed ranges", onBytes(hubtest.Fault{Whole: true}), 1000},
		{"the service sends another range", onBytes(hubtest.Fault{Header: header("Content-Range", "bytes 401-999/1000")}), 1600},
		{"the service sends the range of a larger file", onBytes(hubtest.Fault{Header: header("Content-Range", "bytes 400-999/1001")}), 1600},
		{"the service does not name the range", onBytes(hubtest.Fault{Header: header("Content-Range", "")}), 1600},
		{"the service does not know the size", onBytes(hubtest.Fault{Header: header("Content-Range", "bytes 400-999/*")}), 600},
		{"the service has no such range", onBytes(hubtest.Fault{Status: 416}), 1000},
		{"the file has another tag", onBytes(hubtest.Fault{Header: header("ETag", `"other"`)}), 1600},
		{"the file has another revision", onBytes(hubtest.Fault{Header: header("X-Repo-Commit", strings.Repeat("e", 40))}), 1600},
		{"the file has another size", onBytes(hubtest.Fault{Header: header("X-Linked-Size", "77")}), 1600},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := lay(t, 1000, nil)
			l.begin(400)
			test.change(l)
			before := len(l.Requests())
			l.wantWhole()
			if sent := l.sentSince(before); sent != test.sent {
				t.Errorf("%d bytes were sent, want %d", sent, test.sent)
			}
		})
	}
}

func TestWrongBytes(t *testing.T) {
	wrong := made(1000)
	wrong[500]++
	for _, test := range []struct {
		change func(*hubtest.Hub)
		want   string
	}{{nil, "its SHA-1 as Git's blob is"}, {large, "its SHA-256 is"}} {
		l := lay(t, 1000, test.change)
		l.put("", []byte("old"))
		l.Fault = func(hubtest.Request) hubtest.Fault { return hubtest.Fault{Content: wrong} }
		l.wantFault("what came is not the file", test.want, "run again")
		if left := l.beside(); len(left) != 1 || string(l.file("")) != "old" || l.bodies() != 1 {
			t.Errorf("left %v, %d requests for bytes", left, l.bodies())
		}
		l.Fault = nil
		l.wantWhole()
	}
}

func TestPartOfWrongBytes(t *testing.T) {
	l := lay(t, 1000, large)
	l.begin(400)
	l.put(".part", make([]byte, 400))
	l.wantFault("its SHA-256 is")
	if left := l.beside(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	l.wantWhole()
}

// TestTooManyBytes has a store that sends more than the service speaks of.
func TestTooManyBytes(t *testing.T) {
	l := lay(t, 1000, large)
	l.Fault = func(r hubtest.Request) hubtest.Fault {
		return hubtest.Fault{Content: make([]byte, 10<<20), Unmeasured: r.Store}
	}
	l.wantFault("given up after 6 attempts", "more than the 1000 bytes")
	if got := len(l.file(".part")); got > 1000 {
		t.Errorf("%d bytes are kept", got)
	}
}

// TestTooFewBytes has a store that ends before the end.
func TestTooFewBytes(t *testing.T) {
	l := lay(t, 1000, large)
	l.Fault = func(r hubtest.Request) hubtest.Fault { return hubtest.Fault{Content: l.content[:900]} }
	l.wantFault("given up after 6 attempts", "nothing after byte 900")
	l.Fault = nil
	l.wantWhole()
}

func TestProgressResetsAttempts(t *testing.T) {
	l := lay(t, 1000, large)
	l.options.Attempts = 2
	l.Fault = func(r hubtest.Request) hubtest.Fault { return hubtest.Fault{Break: r.Store, After: 50} }
	l.wantWhole()
	if n := len(l.clock.slept); n != 19 {
		t.Errorf("waited %d times, want after each of 20 answers but the last", n)
	}
	for _, d := range l.clock.slept {
		if d > time.Second {
			t.Errorf("waited %v after progress", d)
		}
	}
}

// TestFruitlessRestarts has a service that changes its mind for ever: bytes that
// come again are no progress.
func TestFruitlessRestarts(t *testing.T) {
	l := lay(t, 1000, large)
	l.Fault = func(r hubtest.Request) hubtest.Fault {
		switch {
		case r.Range != "" && r.Store:
			return hubtest.Fault{Status: 416}
		case r.Store:
			return hubtest.Fault{Break: true, After: 500}
		}
		return hubtest.Fault{}
	}
	l.wantFault("given up after 6 attempts")
	if sent := l.Sent(name); sent > 7*500 {
		t.Errorf("%d bytes were sent", sent)
	}
}

func TestCancelled(t *testing.T) {
	l := lay(t, 4<<20, large)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := l.fetch(ctx, func(done, _ int64) {
		if done > 1<<20 {
			cancel()
		}
	})
	kept := int64(len(l.file(".part")))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), fmt.Sprint(kept, " bytes are kept")) || kept <= 1<<20 {
		t.Errorf("%d bytes are kept, error %v", kept, err)
	}
	if _, err := l.fetch(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	before := len(l.Requests())
	l.wantWhole()
	if sent := l.sentSince(before); sent != 4<<20-kept {
		t.Errorf("%d bytes were sent, %d were kept", sent, kept)
	}
}

// TestCancelledBeforeCheck cancels when all bytes have come.
func TestCancelledBeforeCheck(t *testing.T) {
	l := lay(t, 1<<20, large)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := l.fetch(ctx, func(done, total int64) {
		if done == total {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(l.file(".part")) != 1<<20 {
		t.Errorf("%d bytes are kept, error %v", len(l.file(".part")), err)
	}
	l.wantWhole()
	if l.Sent(name) != 1<<20 {
		t.Errorf("%d bytes were sent", l.Sent(name))
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	l := lay(t, 1000, always(hubtest.Fault{Status: 500}))
	ctx, cancel := context.WithCancel(t.Context())
	l.clock.asked = cancel
	if _, err := l.fetch(ctx, nil); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "500") || len(l.Requests()) != 1 {
		t.Errorf("%d requests, error %v", len(l.Requests()), err)
	}
}

// TestSilence has a service that says nothing any more, in real time.
func TestSilence(t *testing.T) {
	tests := map[string]func(hubtest.Request) hubtest.Fault{
		"from the start":        func(r hubtest.Request) hubtest.Fault { return hubtest.Fault{Hang: r.Number == 0, After: -1} },
		"of the store":          func(r hubtest.Request) hubtest.Fault { return hubtest.Fault{Hang: r.Number == 2, After: -1} },
		"in the midst of bytes": func(r hubtest.Request) hubtest.Fault { return hubtest.Fault{Hang: r.Number == 2, After: 400} },
	}
	for name, fault := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lay(t, 1000, large)
			l.Fault = fault
			l.options.Clock, l.options.Quiet, l.options.Wait = clock.Wall{}, 200*time.Millisecond, time.Millisecond
			l.wantWhole()
			if !l.reported("nothing came for 200ms") {
				t.Errorf("reported %q", l.reports)
			}
		})
	}
}

// TestTwoAtOnce fetches one file twice at once, to one place.
func TestTwoAtOnce(t *testing.T) {
	l := lay(t, 1<<20, large)
	once := true
	_, err := l.fetch(t.Context(), func(done, _ int64) {
		if once {
			once = false
			l.wantFault("another process is fetching")
		}
	})
	if err != nil || !bytes.Equal(l.file(""), l.content) {
		t.Errorf("error %v, %d bytes", err, len(l.file("")))
	}
}
