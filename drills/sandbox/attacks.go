package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"speceval/internal/sandbox"
	"speceval/internal/sandbox/hostile"
)

// attackLimits are small, so that nothing takes long.
var attackLimits = sandbox.Settings{CPU: time.Second, Memory: 512 << 20, AtATime: 1}

// attacks runs the hostile programs.
func attacks(ctx context.Context, o options, stdout io.Writer) error {
	programs, err := hostile.Programs()
	if err != nil {
		return err
	}
	settings := attackLimits
	settings.Python = o.python
	box, err := sandbox.New(ctx, settings)
	if err != nil {
		return err
	}
	host, err := newHost()
	if err != nil {
		return err
	}
	defer host.close()
	fmt.Fprintf(stdout, "%d attacks, within %v of CPU, %d MiB, %d processes, %d MiB of files\n", len(programs), settings.CPU, settings.Memory>>20, sandbox.MaxProcesses, sandbox.MaxScratch>>20)
	fmt.Fprintf(stdout, "  %-18s %-7s %s  what it does\n", "", "ends", columns)
	var faults []error
	most := map[string]peak{}
	for _, p := range programs {
		result, seen, err := host.attack(ctx, box, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		state := "contained"
		if err != nil {
			state = err.Error()
			faults = append(faults, fmt.Errorf("%s: %w", p.Name, err))
		}
		fmt.Fprintf(stdout, "  %-18s %-7s %s  %s: %s\n", p.Name, result.End, seen, p.About, state)
		all := most[p.Bound]
		all.exceed(seen)
		most[p.Bound] = all
	}
	bounds(box, most, stdout)
	fmt.Fprintf(stdout, "%d of %d attacks were contained; %d connections came in; %d processes are left\n",
		len(programs)-len(faults), len(programs), host.connections.Load(), len(descendants(os.Getpid())))
	return errors.Join(faults...)
}

// bounds says what is bounded by what, and the most that was seen of an attack on it.
func bounds(box *sandbox.Sandbox, most map[string]peak, stdout io.Writer) {
	groups, err := box.Groups()
	if err != nil {
		fmt.Fprintf(stdout, "there are no control groups: %v\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	} else {
		fmt.Fprintf(stdout, "control groups are made in %s\n", groups)
	}
	fmt.Fprintf(stdout, "  %-30s %s\n", "the most that was seen", columns)
	for _, b := range hostile.Bounds {
		by := b.By
		if b.Also != "" && err == nil {
			by += "; " + b.Also
		}
		fmt.Fprintf(stdout, "  %-30s %s  by %s\n", b.Name, most[b.Name], by)
	}
}

// columns are over those of a peak. The time of the processors and the memory of the
// machine are of all that goes on there: on a quiet one, of the attack.
const columns = "   time processors processes   MiB machine's"

// String has a width of its own.
func (p peak) String() string {
	return fmt.Sprintf("%5.2f s    %5.2f s     %5d %5d     %5d", p.wall.Seconds(), p.cpu.Seconds(), p.processes, p.memory>>20, max(0, p.machine)>>20)
}

// host is what hostile programs may want of the machine.
type host struct {
	dir         string
	server      net.Listener
	connections atomic.Int64
}

func newHost() (*host, error) {
	dir, err := os.MkdirTemp("", "speceval-drill-sandbox-")
	if err != nil {
		return nil, err
	}
	h := &host{dir: dir}
	if err := os.WriteFile(h.key(), []byte(hostile.Secret()), 0o666); err != nil {
		return nil, err
	}
	h.server, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			connection, err := h.server.Accept()
			if err != nil {
				return
			}
			h.connections.Add(1)
			connection.Close()
		}
	}()
	return h, nil
}

func (h *host) key() string { return filepath.Join(h.dir, "key") }

func (h *host) close() {
	h.server.Close()
	os.RemoveAll(h.dir)
}

// attack runs one program, and then an innocent one in a sandbox of its own.
func (h *host) attack(ctx context.Context, box *sandbox.Sandbox, p hostile.Program) (sandbox.Result, peak, error) {
	input := hostile.Input(h.server.Addr().(*net.TCPAddr).Port, h.key())
	stop := watch()
	result, err := one(ctx, box, sandbox.Program{Source: p.Source, Inputs: []string{input}})
	seen := stop()
	if err != nil {
		return result, seen, err
	}
	if fault := p.Fault(result); fault != "" {
		return result, seen, errors.New(fault)
	}
	if content, err := os.ReadFile(h.key()); err != nil || string(content) != hostile.Secret() {
		return result, seen, fmt.Errorf("the host's file is %q, %w", content, err)
	}
	if left := descendants(os.Getpid()); len(left) > 0 {
		return result, seen, fmt.Errorf("%d processes are left", len(left))
	}
	after, err := one(ctx, box, sandbox.Program{Source: "print(int(input()) + 1)", Inputs: []string{"1"}})
	if err == nil && (after.End != sandbox.Finished || after.Output != "2\n") {
		err = fmt.Errorf("afterwards an innocent program ends as %+v", after)
	}
	// The driver and bubblewrap are two more. Memory is shown and not held to a
	// number: between two looks of the driver it may pass the limit.
	if seen.processes > sandbox.MaxProcesses+2 {
		err = errors.Join(err, fmt.Errorf("%d processes ran at a time", seen.processes))
	}
	return result, seen, err
}

// one runs a program on its only input.
func one(ctx context.Context, box *sandbox.Sandbox, program sandbox.Program) (sandbox.Result, error) {
	session, err := box.Start(ctx, program)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer session.Close()
	return session.Run(ctx, 0)
}
