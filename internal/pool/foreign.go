package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"speceval/internal/vllm"
)

// inspectAny asks one replica that need not be vLLM.
func (p *Pool) inspectAny(ctx context.Context, r *replica, need Requirement) (Served, []error) {
	version, err := r.Client.Version(ctx)
	if e := (*vllm.Error)(nil); errors.As(err, &e) && !otherServer(e) {
		return Served{URL: r.Client.URL(), ThinkEnd: -1}, []error{fmt.Errorf("%w: is it started, and at this address?", err)}
	}
	models, listing := r.Client.Models(ctx)
	if err == nil && slices.ContainsFunc(models, func(m vllm.Model) bool { return m.Owner == "vllm" }) {
		r.Client.TreatAsVLLM()
		return p.inspect(ctx, r, need)
	}
	r.Client.TreatAsPlain(p.settings.Hang)
	s := Served{URL: r.Client.URL(), Plain: true, Version: version, Software: unknown, ThinkEnd: -1}
	m, err := listed(s.URL, need, models, listing)
	if err != nil {
		return s, []error{err}
	}
	s.Root, s.MaxModelLen = m.Root, m.MaxModelLen
	proof, same, err := p.prove(ctx, r.Client, need)
	if err != nil {
		return s, []error{err}
	}
	s.Software = software(proof.Software, m.Owner, proof.Fingerprint)
	s.Notes = plainNotes(proof, r.Client, s)
	if need.Continues {
		s.Notes = append(s.Notes, "cannot continue an answer that was lost on the way, which must begin anew: vLLM can")
	}
	if same {
		s.Notes = append(s.Notes, "gave the same answer to different seeds: if it takes the likeliest token (a top_k of 1) or a seed of its own, "+
			"rollouts of a task are one rollout, and no error of an estimate holds")
	}
	return s, nil
}

// otherServer tells whether an answer to what only vLLM offers is that of
// another server, rather than of one that fails.
func otherServer(e *vllm.Error) bool {
	switch e.Kind {
	case vllm.UnknownModel, vllm.Rejected, vllm.Garbage, vllm.Unauthorized:
		return true
	}
	return false
}

// Unlisted tells whether a server has answered and given no list of models, so
// that only a request can show whether it serves one.
func Unlisted(models []vllm.Model, err error) bool {
	var e *vllm.Error
	if errors.As(err, &e) {
		return otherServer(e) && e.Status != 401 || e.Kind == vllm.ServerFault && !e.Limited()
	}
	return err == nil && len(models) == 0
}

// listed is the model in a plain server's list of models, or why it will not do;
// of a server without a list it is nothing.
func listed(url string, need Requirement, models []vllm.Model, err error) (vllm.Model, error) {
	switch {
	case need.ThinkingBudget:
		return vllm.Model{}, fmt.Errorf("%s: is not vLLM, and a thinking budget needs vLLM: set thinking_budget to 0, or serve the model by vLLM", url)
	case Unlisted(models, err):
		return vllm.Model{}, nil
	case err != nil:
		return vllm.Model{}, fmt.Errorf("models: %w", err)
	}
	at := slices.IndexFunc(models, func(m vllm.Model) bool { return vllm.SameModel(need.Model, m.ID) })
	if at < 0 {
		return vllm.Model{}, fmt.Errorf("%s: serves %s, not %q: ask for one of these, or serve the model under that name", url, Names(models), need.Model)
	}
	if m := models[at]; m.MaxModelLen > 0 && m.MaxModelLen < need.ContextTokens {
		return m, fmt.Errorf("%s: a context of %d tokens, want %d: start it with a larger one", url, m.MaxModelLen, need.ContextTokens)
	}
	return models[at], nil
}

// proofSeeds are how many answers are compared to see that a server samples.
const proofSeeds = 3

// prove asks a plain server for a few tokens as requests will ask it: they show
// whether it takes what is sent, which model answers, and what it counts. same
// says that it gave one answer to all seeds.
func (p *Pool) prove(ctx context.Context, c *vllm.Client, need Requirement) (answer vllm.Completion, same bool, err error) {
	ctx, cancel := p.within(ctx, proofWithin)
	defer cancel()
	r := need.Sampling.Request("", "Write down a random number of ten digits.")
	r.Model, r.MaxTokens = need.Model, proofTokens
	if need.Sampling.TopP == 0 { // nothing is said of sampling
		r.Temperature, r.TopP = 1, 1
	}
	if len(r.TemplateArguments) == 0 {
		r.TemplateArguments = need.TemplateArguments
	}
	retry := vllm.Retry{Attempts: p.settings.Attempts, Clock: p.settings.Clock}
	err = retry.Do(ctx, func(ctx context.Context) (err error) {
		answer, err = c.Stream(ctx, r, nil)
		return err
	})
	if err != nil {
		return answer, false, fmt.Errorf("a request of %d tokens, to see that it serves %q: %w", proofTokens, need.Model, err)
	}
	same = r.Temperature > 0 && answer.Text+answer.Reasoning != ""
	for r.Seed = 1; same && r.Seed < proofSeeds; r.Seed++ {
		other, err := c.Stream(ctx, r, nil)
		same = err == nil && other.Text == answer.Text && other.Reasoning == answer.Reasoning
	}
	return answer, same, nil
}

// plainNotes are what a user should know of results from a plain server.
func plainNotes(proof vllm.Completion, c *vllm.Client, s Served) []string {
	notes := []string{"is not vLLM: its own top_k, min_p and penalties count, as it was started with"}
	if s.MaxModelLen == 0 {
		notes = append(notes, "does not tell how long its context is: answers that end by length may be shorter than asked for")
	}
	if !proof.Usage.Told() {
		notes = append(notes, "does not tell tokens")
	}
	if proof.Model == "" {
		notes = append(notes, "does not tell which model answers")
	}
	return append(notes, c.Refused()...)
}

const unknown = "unknown server"

// marks are what servers call themselves, in the Server header, as owners of
// models or in the fingerprint of an answer.
var marks = []struct{ mark, name string }{
	{"llama.cpp", "llama.cpp"}, {"llamacpp", "llama.cpp"}, {"fp_ollama", "Ollama"}, {"library", "Ollama"},
	{"sglang", "SGLang"}, {"organization_owner", "LM Studio"}, {"vllm", "vLLM behind another server"},
}

// software names a server by what it says of itself: its Server header, the
// owner of its model, and the fingerprint of an answer, which may be "".
func software(header, owner, fingerprint string) string {
	for _, m := range marks {
		if strings.Contains(strings.ToLower(header), m.mark) || owner == m.mark || strings.HasPrefix(fingerprint, m.mark) {
			if m.name == "llama.cpp" && fingerprint != "" {
				return m.name + " " + fingerprint // its build
			}
			return m.name
		}
	}
	if told := cmp.Or(header, owner); told != "" {
		return fmt.Sprintf("%s (%s)", unknown, told)
	}
	return unknown
}

// Notes are what a user should know of results from these replicas: a line each,
// which names them.
func Notes(served []Served) []string {
	var lines []string
	kinds := map[string]bool{}
	for _, s := range served {
		for _, note := range s.Notes {
			lines = append(lines, fmt.Sprintf("%s (%s) %s", s.URL, s.Software, note))
		}
		kinds[strings.TrimSpace(s.Software+" "+release(s.Version))] = true
	}
	if len(kinds) > 1 {
		lines = append(lines, "replicas are of different kinds, which need not answer alike: "+strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	return lines
}
