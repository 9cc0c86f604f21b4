package vllm

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// notes is a clock that notes what is slept.
type notes struct {
	hasty
	slept []time.Duration
}

func (n *notes) Sleep(ctx context.Context, d time.Duration) error {
	n.slept = append(n.slept, d)
	return n.hasty.Sleep(ctx, d)
}

func TestRetry(t *testing.T) {
	transient := &Error{Kind: ServerFault, URL: "u"}
	tests := []struct {
		name     string
		attempts int
		errs     []error // of the attempts, nil after them
		calls    int
		ok       bool
	}{
		{"at once", 3, nil, 1, true},
		{"second", 3, []error{transient}, 2, true},
		{"last", 3, []error{transient, transient}, 3, true},
		{"too often", 3, []error{transient, transient, transient}, 3, false},
		{"zero is one", 0, []error{transient}, 1, false},
		{"unauthorized", 3, []error{&Error{Kind: Unauthorized}}, 1, false},
		{"unknown model", 3, []error{&Error{Kind: UnknownModel}}, 1, false},
		{"rejected", 3, []error{transient, &Error{Kind: Rejected}}, 2, false},
		{"not a server's", 3, []error{io.ErrUnexpectedEOF}, 1, false},
		{"unreachable, dead, cut, silent, garbage", 9,
			[]error{&Error{Kind: Unreachable}, &Error{Kind: EngineDead}, &Error{Kind: Cut}, &Error{Kind: Idle}, &Error{Kind: Garbage}}, 6, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls, reports := 0, 0
			clock := new(notes)
			r := Retry{Attempts: tt.attempts, Clock: clock, Report: func(int, error, time.Duration) { reports++ }}
			err := r.Do(t.Context(), func(context.Context) error {
				calls++
				if calls <= len(tt.errs) {
					return tt.errs[calls-1]
				}
				return nil
			})
			if calls != tt.calls || (err == nil) != tt.ok || reports != calls-1 || len(clock.slept) != calls-1 {
				t.Errorf("%d calls, %d reports, slept %v, error %v", calls, reports, clock.slept, err)
			}
			if !tt.ok && !errors.Is(err, tt.errs[calls-1]) {
				t.Errorf("error %v, want the last one", err)
			}
		})
	}
}

func TestRetryWaits(t *testing.T) {
	run := func(seed int64) []time.Duration {
		clock := new(notes)
		r := Retry{Attempts: 6, Clock: clock, First: time.Second, Most: 5 * time.Second, Seed: seed}
		r.Do(t.Context(), func(context.Context) error { return &Error{Kind: Cut} })
		return clock.slept
	}
	one, again, other := run(1), run(1), run(2)
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("waits %v, %v with the same seed, %v with another", one, again, other)
	}
	for i, most := range []time.Duration{1, 2, 4, 5, 5} {
		if most *= time.Second; one[i] > most || one[i] < most/2 {
			t.Errorf("wait %d is %v, want %v to %v", i+1, one[i], most/2, most)
		}
	}
	if d := (Retry{Most: 1 << 62}).wait(200); d <= 0 {
		t.Errorf("wait 200 is %v", d)
	}
}

func TestRetryEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := Retry{Attempts: 5, Clock: new(hasty)}.Do(ctx, func(context.Context) error {
		calls++
		return &Error{Kind: Cut}
	})
	if calls != 5 || err == nil || !strings.Contains(err.Error(), "5 attempts") {
		t.Errorf("%d calls, %v", calls, err)
	}
	calls = 0
	err = Retry{Attempts: 5, Clock: ender{cancel}}.Do(ctx, func(context.Context) error {
		calls++
		return &Error{Kind: Cut}
	})
	if calls != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d calls, %v, want one and the context's error", calls, err)
	}
}

// ender is a clock during whose wait the caller gives up.
type ender struct{ cancel context.CancelFunc }

func (ender) Now() time.Time { return time.Time{} }

func (e ender) Sleep(ctx context.Context, _ time.Duration) error {
	e.cancel()
	return ctx.Err()
}
