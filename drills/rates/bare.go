package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// bare asks for every rollout as fast as the servers answer: a goroutine for each
// place at a server sends one request after the other. Answers are read to their
// end and thrown away.
func (b *bench) bare(ctx context.Context, round int) (float64, error) {
	total := len(b.all) * b.rollouts
	if round < 0 {
		total = 4 * len(b.urls) * b.window() // a warm-up
	}
	transport := &http.Transport{MaxIdleConnsPerHost: b.window()}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var askers sync.WaitGroup
	begin := time.Now()
	for _, url := range b.urls {
		for range b.window() {
			askers.Go(func() {
				for i := int(next.Add(1) - 1); i < total; i = int(next.Add(1) - 1) {
					if err := b.ask(ctx, client, url, i, int64(round+1)<<32+int64(i)); err != nil {
						cancel(err)
						return
					}
				}
			})
		}
	}
	askers.Wait()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return float64(total) / time.Since(begin).Seconds(), nil
}

// ask asks for one rollout of a task; tasks take turns as in generation, where
// all rollouts of one follow one another.
func (b *bench) ask(ctx context.Context, client *http.Client, url string, number int, seed int64) error {
	task, sampling := b.all[number/b.rollouts], b.shipped.Sampling
	var messages []map[string]string
	if task.SystemPrompt != "" {
		messages = append(messages, map[string]string{"role": "system", "content": task.SystemPrompt})
	}
	messages = append(messages, map[string]string{"role": "user", "content": task.UserPrompt})
	body, err := json.Marshal(map[string]any{
		"model": b.model().ID, "messages": messages, "seed": seed,
		"temperature": sampling.Temperature, "top_p": sampling.TopP, "max_tokens": sampling.MaxTokens,
	})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s: %s: %s", url, response.Status, text))
	}
	return errors.Join(err, response.Body.Close())
}
