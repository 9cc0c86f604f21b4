package systems

import (
	"fmt"
	"io"

	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/router"
	"speceval/internal/rowfile"
	"speceval/internal/seed"
	"speceval/internal/vllm"
	"speceval/method/controller"
	"speceval/pipeline/dag"
)

// Drawn is where the lengths of answers come from if not from the models.
type Drawn struct {
	// Lengths gives every rollout of a profile the tokens of its prompt and of its
	// answer, from a branch of the seed tree and the rollout's ID alone.
	Lengths func(p profile.Profile, branch seed.Seed) (Lengths, error)
	// Prompt makes a user's turn for a task, where there is no task file, that
	// makes a prompt of so many tokens.
	Prompt func(model string, task, tokens int) string
	Source dag.Source // what the lengths follow from
}

// Lengths are the tokens of rollouts.
type Lengths func(id controller.ID) (prompt, tokens int)

// drawnKey is the key of the configuration that asks for drawn lengths. Without
// it runs depend on no such key, and stay fresh.
const drawnKey = "systems.lengths"

// lengths are the tokens of the run's rollouts; nil if the models end their
// answers. Strategies of a setting share them, as they do seeds: but for the
// equivalent budget, which is a setting of its own.
func (e execution) lengths() (Lengths, error) {
	if e.Measured.Drawn == nil {
		return nil, nil
	}
	branch := e.seed().Child("lengths").Index(e.budget)
	if e.strategy.Equivalent {
		branch = branch.Child(e.strategy.Name)
	}
	return e.Measured.Drawn.Lengths(e.profile, branch)
}

// asks is whether the prompts are those of a task file.
func (s *setting) asks() bool {
	_, there := s.Measured.Tasks[s.pair.Benchmark]
	return there
}

// askDrawn is the question of a rollout whose answer has its drawn length.
func (e execution) askDrawn(id controller.ID, lengths Lengths) vllm.Request {
	prompt, tokens := lengths(id)
	var r vllm.Request
	if e.asks() {
		r = e.ask(int(id.Task))
	} else {
		r = e.Measured.Models[e.pair.Model].Request("", e.Measured.Drawn.Prompt(e.pair.Model, int(id.Task), prompt))
	}
	r.MaxTokens, r.IgnoreEOS = tokens, true
	return r
}

// checkLengths holds the requests of a run to what was drawn for them: a server
// that does otherwise has been timed on something else.
func (o outcome) checkLengths(lengths Lengths) error {
	if lengths == nil {
		return nil
	}
	for _, q := range o.record.Requests {
		if q.State != router.Accepted && q.State != router.Discarded {
			continue
		}
		prompt, tokens := lengths(q.ID)
		if q.Generated != tokens {
			return fmt.Errorf("%s has %d tokens, and %d were drawn: the server must honour ignore_eos and max_tokens", q.ID, q.Generated, tokens)
		}
		if !o.asks() && q.Prompt != prompt {
			return fmt.Errorf("the prompt of %s has %d tokens, and %d were drawn: serve the model folders that weights = \"dummy\" makes, whose tokenizer is byte-level, or give %s a task file", q.ID, q.Prompt, prompt, o.pair.Benchmark)
		}
	}
	return nil
}

// noteDrawn says in a manifest that lengths were drawn.
func (s *setting) noteDrawn(job *dag.Job) {
	if s.Measured.Drawn == nil {
		return
	}
	prompts := "a task file"
	if !s.asks() {
		prompts = "filler of the length model's tokens"
	}
	job.Note("systems.lengths = \"drawn\": every answer has the length that the length model draws for its rollout, whatever the model would write; prompts are %s", prompts)
}

// drawn reports whether runs on servers had drawn lengths.
func (g gathering) drawn() bool { return len(g.measured) > 0 && g.measured[0].Measured.Drawn != nil }

// writeMeasurements writes rows, and whether runs on servers had drawn lengths.
func writeMeasurements[T any](job *dag.Job, output string, rows []T, drawn bool) error {
	footer := job.Footer(measurement.Schema)
	if drawn {
		footer[measurement.LengthsKey] = measurement.LengthsDrawn
	}
	return job.Write(output, len(rows), func(w io.Writer) error { return rowfile.Write(w, rows, footer) })
}
