package imitation_test

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"speceval/internal/fleet"
	"speceval/internal/fleet/fleettest"
)

// BenchmarkChat is whole answers over real sockets from 64 clients in this
// process, in the mode that never waits.
func BenchmarkChat(b *testing.B) {
	s := dense()
	s.MaxSequences = 256
	s.Author = fleettest.Author(fleet.AuthorSettings{Model: "m", Tasks: tasks})
	r := listening(b, s)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	body := []byte(chat(`,"temperature":0.6,"top_p":0.95,"top_k":0,"max_tokens":2048`))
	var failed atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			response, err := client.Post(r.URL()+chats, "application/json", bytes.NewReader(body))
			if err != nil {
				failed.Add(1)
				continue
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != 200 {
				failed.Add(1)
			}
			response.Body.Close()
		}
	})
	if n := failed.Load(); n > 0 {
		b.Errorf("%d requests failed", n)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkAnswer is what it takes to write one answer.
func BenchmarkAnswer(b *testing.B) {
	author := fleettest.Author(fleet.AuthorSettings{Model: "m", Tasks: tasks})
	q := fleet.Question{User: tasks[0].UserPrompt, Limits: fleet.Limits{Most: 2048, Budget: -1}}
	b.ReportAllocs()
	for b.Loop() {
		q.Seed++
		author.Answer(q)
	}
}
