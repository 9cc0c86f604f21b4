// Package launcher starts the vLLM servers of one worker, a process for every
// replica, watches them and stops them. A server's arguments depend on the recipe
// and the model alone; see Recipe.Words.
package launcher

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"speceval/internal/clock"
	"speceval/internal/vllm"
)

// Options says how servers are watched.
type Options struct {
	Logs        string        // folder for replica-<i>.log, appended to
	Start       time.Duration // how long a server may take until it is healthy
	Clock       clock.Clock
	Environment []string     // of this process, as KEY=VALUE; servers inherit it
	Key         vllm.Key     // that clients must send; "" none
	Report      func(string) // takes one line for people, from any goroutine; may be nil

	// Memory is how many bytes new processes can have here; nil: it is not asked.
	Memory func() (int64, error)
}

// Servers are running replicas.
type Servers struct {
	replicas []*replica
	stopping context.CancelFunc
	watchers sync.WaitGroup
}

// Start starts all replicas at once and returns when each is healthy and serves
// the model. What can be known to be wrong before that, its error tells at once,
// and nothing is started. If a replica cannot start, all are stopped, and the
// error names its log and quotes its own error from there. A done ctx stops the start; later it does not matter,
// and Stop must be called.
func Start(ctx context.Context, r Recipe, m Model, o Options) (*Servers, error) {
	if err := r.check(m); err != nil {
		return nil, err
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	if err := r.preflight(o); err != nil {
		return nil, err
	}
	life, stopping := context.WithCancel(context.WithoutCancel(ctx))
	s := &Servers{stopping: stopping}
	for i := range r.Replicas {
		words, err := r.Words(m, i)
		if err != nil {
			stopping()
			return nil, err
		}
		s.replicas = append(s.replicas, &replica{
			number: i, url: r.URL(i), served: m.Served, words: words, variables: r.Variables(m, i, string(o.Key)),
			log: filepath.Join(o.Logs, "replica-"+strconv.Itoa(i)+".log"), options: o, busy: make(chan struct{}, 1),
		})
	}
	if err := s.startAll(ctx); err != nil {
		stopping()
		s.endAll(context.WithoutCancel(ctx))
		return nil, err
	}
	for _, p := range s.replicas {
		s.watchers.Go(func() { p.watch(life) })
	}
	return s, nil
}

// startAll starts the replicas side by side, and gives all up when one fails.
func (s *Servers) startAll(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, p := range s.replicas {
		all.Go(func() {
			if err := p.start(ctx); err != nil {
				cancel(err) // the first one counts
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// URLs lists where the replicas listen, in order.
func (s *Servers) URLs() []string {
	var urls []string
	for _, p := range s.replicas {
		urls = append(urls, p.url)
	}
	return urls
}

// Process is the id of a replica's process, also of its process group; 0 when
// it is not running.
func (s *Servers) Process(i int) int {
	if p := s.replicas[i].current(); p != nil && p.running() {
		return p.cmd.Process.Pid
	}
	return 0
}

// Restart ends a replica and starts it again, and returns when it is healthy.
// If that is under way already, it waits for it. It fails when the replica was
// restarted too often lately.
func (s *Servers) Restart(ctx context.Context, i int) error {
	if i < 0 || i >= len(s.replicas) {
		return fmt.Errorf("restart of replica %d: there are %d", i, len(s.replicas))
	}
	p := s.replicas[i]
	return p.replace(ctx, p.current())
}

// Stop ends all replicas for good: politely, and by force after a grace or when
// ctx is done. It returns when they are gone.
func (s *Servers) Stop(ctx context.Context) error {
	s.stopping()
	s.endAll(ctx)
	s.watchers.Wait()
	return ctx.Err()
}

func (s *Servers) endAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range s.replicas {
		all.Go(func() { p.end(ctx) })
	}
	all.Wait()
}

// split takes a command line apart at blanks. Single and double quotes keep
// blanks in a word; nothing else of a shell is known.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed in %q", quote, line)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
