package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"speceval/pipeline/status"
	"speceval/pipeline/view"
)

func (s *session) viewCommand() *cobra.Command {
	port := 7878
	c := &cobra.Command{
		Use: "view [OUT]", Short: "serve a page about what runs and what is done, on this machine", Args: cobra.MaximumNArgs(1),
		Example: "  speceval view out --port 0   at a free port",
		RunE: func(_ *cobra.Command, words []string) error {
			if len(words) > 0 {
				s.out = words[0]
			}
			cfg, err := s.configuration()
			if err != nil {
				return err
			}
			out := cfg.Experiment.Out
			if err := view.Check(out); err != nil {
				return usage(err)
			}
			listener, err := view.Listen(port)
			if err != nil {
				return usage(err)
			}
			archive := s.archive(cfg)
			archive.Warn = nil // the page says so
			ctx, stop := s.interruptible()
			defer stop()
			server := &http.Server{Handler: &view.View{Archive: archive, Prior: archive.Prior(), Units: s.units(ctx, out)}, ReadHeaderTimeout: 10 * time.Second}
			context.AfterFunc(ctx, func() { server.Close() })
			fmt.Fprintf(s.stdout, "http://%s/\n", listener.Addr())
			s.say("showing %s; interrupt to stop", out)
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
	c.Flags().IntVar(&port, "port", port, "serve at port `P` of 127.0.0.1; 0: a free one")
	return c
}

// units reads the status of the pipeline, at intervals; nil where no unit has run.
func (s *session) units(ctx context.Context, out string) func() (*status.Status, error) {
	const unitsEvery = 10 * time.Second // for which the status is not read again
	var mu sync.Mutex
	var read time.Time
	var st *status.Status
	var err error
	return func() (*status.Status, error) {
		mu.Lock()
		defer mu.Unlock()
		if _, none := os.Stat(filepath.Join(out, "manifests")); none == nil && s.now().Sub(read) >= unitsEvery {
			st, err = s.statusOf(ctx)
			read = s.now()
		}
		return st, err
	}
}
