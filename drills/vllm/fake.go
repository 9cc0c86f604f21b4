package main

import (
	"context"

	"speceval/internal/conformance"
	"speceval/internal/fleet/imitation"
)

// fakeSpeed makes a step of the imitation about as long as one of the small
// models on a CPU.
const fakeSpeed = 5

// fakeResults makes all checks of two imitated servers.
func fakeResults(ctx context.Context) (map[string][]conformance.Result, error) {
	results := make(map[string][]conformance.Result)
	for _, kind := range kinds {
		settings := imitation.Settings{
			Model: kind, MaxModelLen: contextTokens, MaxSequences: sequences, Key: key, KeepAlive: keepAlive, Speed: fakeSpeed,
		}
		if kind == "thinking" {
			settings.Thinking, settings.ReasoningParser = true, "qwen3"
		}
		r := imitation.New(settings)
		defer r.Close()
		if err := r.Listen("127.0.0.1:0"); err != nil {
			return nil, err
		}
		t := target(r.URL(), kind)
		t.Kill = func() error { r.Crash(); return nil }
		results[kind] = conformance.RunAll(ctx, t)
	}
	return results, ctx.Err()
}
