package drill

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"speceval/internal/machine/clock"
	"speceval/internal/servers/launcher"
	"speceval/pipeline/config"
)

// FreePorts is the first of n ports in a row that nothing listens on.
func (l *Lab) FreePorts(n int) int {
	l.Helper()
next:
	for port := 21000; port < 30000; port += n {
		for i := range n {
			listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+i))
			if err != nil {
				continue next
			}
			listener.Close()
		}
		return port
	}
	l.Fatalf("no %d free ports in a row", n)
	return 0
}

// URLs are the addresses of n servers of this machine, from a port on.
func URLs(port, n int) (urls []string) {
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://127.0.0.1:%d", port+i))
	}
	return urls
}

// StartWorker starts the servers of an experiment's first worker with its first model,
// from a port on, until the test ends. Their output goes to a folder.
func (l *Lab) StartWorker(e *config.Config, port int, logs string) *launcher.Servers {
	l.Helper()
	w, m := e.Workers[0], e.Models[0]
	servers, err := launcher.Start(l.Ctx, launcher.Recipe{
		Command: w.Launch, Arguments: w.Arguments, Environment: w.Environment, Port: port, Replicas: e.Systems.Replicas,
	}, launcher.Model{
		Path: m.Path, Served: m.ID, MaxSequences: m.MaxSequences, ContextTokens: e.Sampling.ContextTokens,
	}, launcher.Options{
		Logs: logs, Start: 15 * time.Minute, Clock: clock.Wall{}, Environment: os.Environ(),
	})
	l.OK(err)
	l.Cleanup(func() { servers.Stop(context.WithoutCancel(l.Ctx)) })
	return servers
}
