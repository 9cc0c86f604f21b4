package launcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"speceval/internal/vllm"
)

// preflight finds everything that would keep servers from starting, before one
// is started: ports in use, a model folder that is not whole, too little memory.
func (r Recipe) preflight(ctx context.Context, m Model, o Options) error {
	words, err := r.Words(m, 0)
	if err != nil {
		return err
	}
	return errors.Join(free(ctx, r, o), checkFolder(m.Path, words), r.checkMemory(o))
}

// checkMemory compares what the replicas need with what there is.
func (r Recipe) checkMemory(o Options) error {
	if r.MemoryGiB <= 0 || o.Memory == nil {
		return nil
	}
	available, err := o.Memory()
	if err != nil {
		return fmt.Errorf("how much memory is free: %w (set the worker's memory_gib to 0 to go without this check)", err)
	}
	const gib = 1 << 30
	if need := r.MemoryGiB * float64(r.Replicas); need > float64(available)/gib {
		return fmt.Errorf("%d replicas of %g GiB need %.1f GiB of memory, and %.1f GiB are available: "+
			"stop something, set systems.replicas to %d, or correct the worker's memory_gib",
			r.Replicas, r.MemoryGiB, need, float64(available)/gib, max(1, int(float64(available)/gib/r.MemoryGiB)))
	}
	return nil
}

// free finds replicas' ports that something else listens on. Were it not
// asked, that could be taken for the server.
func free(ctx context.Context, r Recipe, o Options) error {
	var faults []error
	for i := range r.Replicas {
		listener, err := net.Listen("tcp", r.address(i))
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			faults = append(faults, fmt.Errorf("replica %d: %s is in use: %s", i, r.address(i), occupant(ctx, r.URL(i), o)))
		case err != nil:
			faults = append(faults, fmt.Errorf("replica %d: cannot listen on %s: %w", i, r.address(i), err))
		default:
			listener.Close()
		}
	}
	return errors.Join(faults...)
}

// occupant says what listens at an address that a server was to have, and what
// to do about it.
func occupant(ctx context.Context, url string, o Options) string {
	const remedy = "stop what listens there, or choose another port"
	client, err := vllm.New(url, vllm.Options{Clock: o.Clock})
	if err != nil {
		return remedy
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_ = o.Clock.Sleep(ctx, longestPause) // it is over either way
		cancel()
	}()
	version, err := client.Version(ctx)
	if err != nil {
		return remedy
	}
	serves := "whose models it does not tell"
	if models, err := client.Models(ctx); err == nil {
		var each []string
		for _, m := range models {
			each = append(each, fmt.Sprintf("%q with a context of %d tokens", m.ID, m.MaxModelLen))
		}
		serves = "that serves " + strings.Join(each, ", ")
	}
	return fmt.Sprintf("a vLLM %s answers there %s. It may run with other flags, so it is not taken: %s, "+
		"or name it under urls of a worker without a launch command", version, serves, remedy)
}
