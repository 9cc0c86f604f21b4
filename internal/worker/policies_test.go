package worker_test

import (
	"errors"
	"slices"
	"testing"

	"speceval/internal/fleet/imitation"
	"speceval/internal/router"
	"speceval/internal/vllm"
	"speceval/internal/worker"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// A small setting, whose continuations all fit beside its pilot.
const (
	tasks   = 8
	budget  = 5
	pilots  = 2
	windows = 20 // of two replicas
)

// passes is a made reward: the first task is mixed, the others are not.
func passes(id controller.ID) bool {
	if id.Task == 0 {
		return id.Ordinal%2 == 0
	}
	return id.Task%2 == 0
}

// execute runs a policy on a worker, and checks what holds for every policy.
func execute(t *testing.T, b *bench, policy controller.Policy) *router.Record {
	t.Helper()
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.New(controller.Settings{Policy: policy, Tasks: tasks, Budget: budget, Pilots: pilots, Prior: controller.Cold(prior)})
	if err != nil {
		t.Fatal(err)
	}
	e := b.begin()
	record, err := router.Run(t.Context(), router.Settings{Controller: c, Engine: e, Reward: router.PassFail(passes)})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, e)
	if n := record.Count(router.Accepted); n != tasks*budget {
		t.Errorf("%v accepted %d rollouts, want %d", policy, n, tasks*budget)
	}
	for i := range b.replicas {
		if m := b.metrics(i); m.Running+m.Waiting != 0 {
			t.Errorf("%v left %d requests at replica %d", policy, m.Running+m.Waiting, i)
		}
	}
	for _, q := range record.Requests {
		if q.State == router.Accepted && (q.Started < 0 || q.Finished < q.Started || q.RewardReady < q.Finished || q.RewardReady > record.Time) {
			t.Errorf("%v: times of %+v, of %v in all", policy, q, record.Time)
		}
	}
	return record
}

// accepted lists what a policy selected.
func accepted(r *router.Record) []controller.ID {
	var ids []controller.ID
	for _, q := range r.Requests {
		if q.State == router.Accepted {
			ids = append(ids, q.ID)
		}
	}
	slices.SortFunc(ids, func(a, b controller.ID) int {
		return int(a.Task-b.Task)<<16 + (int(a.Phase)-int(b.Phase))<<8 + int(a.Ordinal-b.Ordinal)
	})
	return ids
}

// TestPolicies executes the three policies on the same replicas, one after the
// other. The surplus of HBN-async never ends by itself.
func TestPolicies(t *testing.T) {
	surplus := func(controller.ID) bool { return false }
	b := setUpWindow(t, 2, windows, func(_ int, s *imitation.Settings, w *worker.Settings) {
		s.Speed = 10
		w.Request = func(id controller.ID) vllm.Request {
			if surplus(id) {
				return question(endless)
			}
			return question(20 + 7*int(id.Task) + 30*int(id.Ordinal))
		}
	})
	if err := b.WarmUp(t.Context(), question(100)); err != nil {
		t.Fatal(err)
	}
	uniform, sync := execute(t, b, controller.Uniform), execute(t, b, controller.Sync)
	for _, r := range []*router.Record{uniform, sync} {
		if r.Extra() != 0 || len(r.Requests) != tasks*budget {
			t.Errorf("%v submitted %d requests, %d of them extra", r.Policy, len(r.Requests), r.Extra())
		}
	}
	surplus = func(id controller.ID) bool {
		return id.Phase == controller.Continuation && int(id.Ordinal) > sync.Allocation[id.Task]
	}
	async := execute(t, b, controller.Async)
	if !slices.Equal(async.Allocation, sync.Allocation) || !slices.Equal(accepted(async), accepted(sync)) {
		t.Errorf("HBN-async allocated %v, HBN-sync %v", async.Allocation, sync.Allocation)
	}
	if async.Count(router.AbortedRunning) == 0 || async.Released < async.Time {
		t.Errorf("HBN-async aborted nothing: %d extra; time %v, released %v", async.Extra(), async.Time, async.Released)
	}
	made, known, unseen := 0.0, 0, 0
	for i := range b.replicas {
		made += b.metrics(i).GenerationTokens
	}
	for _, r := range []*router.Record{uniform, sync, async} {
		for _, q := range r.Requests {
			known += q.Generated
			if q.State == router.AbortedRunning || q.State == router.CancelledQueued {
				unseen++
			}
		}
	}
	if extra := int(made) - known - 2*64; extra < 0 || extra > 256*unseen {
		t.Errorf("the replicas made %.0f tokens, the records have %d, and %d requests were aborted", made, known, unseen)
	}
}

// TestPolicyOnALostReplica ends the execution, and says why.
func TestPolicyOnALostReplica(t *testing.T) {
	b := setUpWindow(t, 2, windows, nil)
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.New(controller.Settings{Policy: controller.Async, Tasks: tasks, Budget: budget, Pilots: pilots, Prior: controller.Cold(prior)})
	if err != nil {
		t.Fatal(err)
	}
	e := b.begin()
	lost := false
	_, err = router.Run(t.Context(), router.Settings{Controller: c, Engine: e, Reward: router.PassFail(func(id controller.ID) bool {
		if !lost {
			lost = true
			b.replicas[1].Crash()
		}
		return passes(id)
	})})
	if !errors.Is(err, worker.ErrVoid) {
		t.Errorf("error %v, want a void run", err)
	}
	voided(t, e.Close(t.Context()), b.replicas[1].URL())
}
