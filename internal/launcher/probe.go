package launcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"speceval/internal/vllm"
)

// A starting server is asked after firstPause, then after twice as long each
// time, up to longestPause.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// probe asks a server whether it is healthy and serves the model.
func probe(ctx context.Context, client *vllm.Client, served string) error {
	if err := client.Health(ctx); err != nil {
		return err
	}
	models, err := client.Models(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, m := range models {
		names = append(names, m.ID)
	}
	if !slices.Contains(names, served) {
		return fmt.Errorf("%s serves %q, not %q", client.URL(), names, served)
	}
	return nil
}
