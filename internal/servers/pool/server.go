package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"speceval/internal/servers/vllm"
	"speceval/internal/terminal/display"
)

// Requirement is the requirement that every replica must meet.
type Requirement struct {
	Model         string // as served
	ContextTokens int    // at least, prompt and answer together
	Version       string // of vLLM, like "0.23.0"; "" for any, the same everywhere
	// Sampling is how requests will ask. A field that another server than vLLM does not know
	// is a fault, and so is a budget of thinking that a short request does not show to be
	// enforced.
	Sampling vllm.Sampling
	// Continues asks whether answers can be continued from a prefix, on short requests.
	// Servers that cannot are no fault.
	Continues bool

	// Foreign lets any OpenAI-compatible server be a replica: vLLM of any
	// version and kind, unless Version says which, and others, which get standard
	// fields and top_k alone.
	Foreign bool
}

// Served describes a replica as its probe found it.
type Served struct {
	URL         string
	Version     string // whole, with what follows a "+"
	MaxModelLen int    // tokens
	ThinkEnd    int32  // id of the token </think>; -1 if that is no single token
	Continues   bool   // it continues answers from their prefix, as far as Requirement.Continues asked

	Plain    bool     // it is not vLLM
	Software string   // "vLLM", or what another server calls itself: "llama.cpp b1", "unknown server (nginx)"
	Notes    []string // what a user should know of its answers; see Notes
}

// ErrUnserved is in the error about a model that no server serves.
var ErrUnserved = errors.New("no server serves")

// errServes is in the error about a server of other models.
var errServes = errors.New("serves")

// late is why a server does not even say what it serves; it may later.
type late struct{ error }

func (l late) Unwrap() error { return l.error }

func notThere(err error) error {
	return late{fmt.Errorf("%w: is it started, and at this address?", err)}
}

// isLate tells servers that are not there, or not yet, from those with a fault.
func isLate(err error) bool {
	kind := vllm.KindOf(err)
	return errors.As(err, &late{}) || kind == vllm.Unreachable || kind == vllm.EngineDead || errors.Is(err, vllm.ErrLoading)
}

// probe checks that a server meets the requirement. Its error names every fault, and what to
// do; checks that a fault prevents are left out.
func (p *Pool) probe(ctx context.Context, c *vllm.Client) (served Served, err error) {
	need := &p.requirement
	served = Served{URL: c.URL(), Software: "vLLM", ThinkEnd: -1}
	models, listing := c.Models(ctx)
	if need.Foreign {
		served.Version, err = c.Version(ctx)
		if err != nil && vllm.KindOf(err) != 0 && !otherServer(err) {
			return served, notThere(err)
		}
		served.Plain = err != nil || !slices.ContainsFunc(models, func(m vllm.Model) bool { return m.Owner == "vllm" })
	}
	c.Treat(served.Plain, 0)
	m, err := listed(c.URL(), need, models, listing)
	if err != nil {
		return served, err
	}
	served.MaxModelLen = m.MaxModelLen
	if need.Foreign && m.MaxModelLen > 0 && m.MaxModelLen < need.ContextTokens {
		c.Treat(served.Plain, m.MaxModelLen)
		served.note("has a context of %d tokens, less than sampling.context_tokens (%d): answers end with it, before sampling.max_tokens (%d) if need be",
			m.MaxModelLen, need.ContextTokens, need.Sampling.MaxTokens)
	}
	if served.Plain {
		err = p.probePlain(ctx, c, m, &served)
	} else {
		err = p.probeVLLM(ctx, c, &served)
	}
	if left := need.Sampling.LeaveOut; left != 0 {
		served.note("is not sent %v (sampling.leave_out): its own count", left)
	}
	return served, err
}

func (s *Served) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// otherServer reports whether an error of an endpoint that only vLLM offers comes from
// another server, rather than from a vLLM that fails.
func otherServer(err error) bool {
	return slices.Contains([]vllm.Kind{vllm.UnknownModel, vllm.Rejected, vllm.Garbage, vllm.Unauthorized}, vllm.KindOf(err))
}

// listed is the model in a server's list of models, or why it is not there. Of another
// server than vLLM that has answered and given no list it is nothing: only a request can
// show whether it serves the model.
func listed(url string, need *Requirement, models []vllm.Model, err error) (vllm.Model, error) {
	var e *vllm.Error
	fails := errors.As(err, &e) && !(otherServer(e) && e.Status != 401 || e.Kind == vllm.ServerFault && !e.Limited() && !errors.Is(e, vllm.ErrLoading))
	switch {
	case need.Foreign && !fails && len(models) == 0:
		return vllm.Model{}, nil
	case isLate(err):
		return vllm.Model{}, notThere(err)
	case err != nil:
		return vllm.Model{}, late{err}
	}
	at := slices.IndexFunc(models, func(m vllm.Model) bool { return m.ID == need.Model })
	if at < 0 && need.Foreign {
		at = slices.IndexFunc(models, func(m vllm.Model) bool { return vllm.Serves(need.Model, m.ID) })
	}
	if at < 0 {
		var ids []string
		for _, m := range models[:min(len(models), 20)] {
			ids = append(ids, fmt.Sprintf("%.200q", m.ID))
		}
		if more := len(models) - len(ids); more > 0 {
			ids = append(ids, fmt.Sprintf("and %d more", more))
		}
		return vllm.Model{}, fmt.Errorf("%s: %w %s, not %q: ask for one of these, or serve the model under that name (--served-model-name of vLLM)",
			url, errServes, display.EscapedLine(strings.Join(ids, ", ")), need.Model)
	}
	return models[at], nil
}

// probeVLLM asks a server of vLLM for what it has beyond its list.
func (p *Pool) probeVLLM(ctx context.Context, c *vllm.Client, served *Served) error {
	need, faults := &p.requirement, []error(nil)
	wrong := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: %s", c.URL(), display.EscapedLine(fmt.Sprintf(format, args...))))
	}
	switch err := c.Health(ctx); {
	case err != nil && otherServer(err) && !need.Foreign:
		return fmt.Errorf("%w: it answers, but not as vLLM, from which alone stages sample; `speceval evaluate` takes any server", err)
	case err != nil:
		return notThere(err)
	}
	version, err := c.Version(ctx)
	served.Version = version
	switch {
	case err != nil:
		faults = append(faults, fmt.Errorf("version: %w", err))
	case need.Version != "" && release(version) != release(need.Version):
		wrong("vLLM %s, want %s: install that, or set the version in the configuration", version, need.Version)
	}
	if !need.Foreign {
		if has := served.MaxModelLen; has < need.ContextTokens {
			wrong("a context of %d tokens, want %d: start it with --max-model-len %d, or take what it has by --set sampling.context_tokens=%d --set sampling.max_tokens=%d",
				has, need.ContextTokens, need.ContextTokens, has, min(need.Sampling.MaxTokens, has/2))
		}
		m, err := c.Metrics(ctx)
		switch {
		case errors.Is(err, vllm.ErrNotOffered):
			wrong("no metrics of vLLM, which show whether it caches prefixes and who else uses it: start it without --disable-log-stats")
		case err != nil:
			faults = append(faults, fmt.Errorf("metrics: %w", err))
		case strings.EqualFold(m.PrefixCaching, "true"):
			wrong("prefix caching is on: start it with --no-enable-prefix-caching")
		}
	}
	if ids, err := c.Tokenize(ctx, need.Model, "</think>"); err == nil && len(ids) == 1 {
		served.ThinkEnd = ids[0]
	}
	if need.Sampling.ThinkingBudget > 0 {
		if err := p.proveBudget(ctx, c, served.ThinkEnd); err != nil {
			faults = append(faults, err)
		}
	}
	if need.Continues && len(faults) == 0 {
		err := p.proveContinuation(ctx, c)
		if served.Continues = err == nil; err != nil {
			served.note("cannot continue an answer that was lost on the way, which must begin anew: %v", err)
		}
	}
	return errors.Join(faults...)
}

// probePlain asks another server than vLLM, which lists m, for a few tokens.
func (p *Pool) probePlain(ctx context.Context, c *vllm.Client, m vllm.Model, served *Served) error {
	need := &p.requirement
	served.Software = unknown
	if need.Sampling.ThinkingBudget > 0 {
		return fmt.Errorf("%s: is not vLLM, and a thinking budget needs vLLM: set thinking_budget to 0, or serve the model by vLLM", c.URL())
	}
	proof, same, err := p.proveSampling(ctx, c)
	if err != nil {
		return err
	}
	served.Software = software(proof.Software, m.Owner, proof.Fingerprint)
	if k := need.Sampling.TopK; k > 0 {
		served.note("is not vLLM: it may ignore top_k (%d), which is no field of OpenAI, and its own min_p and penalties count", k)
	} else {
		served.note("is not vLLM: its own top_k, min_p and penalties count, as it was started with")
	}
	if m.MaxModelLen == 0 {
		served.note("does not tell how long its context is: answers that end by length may be shorter than asked for")
	}
	if !proof.Usage.Counted() {
		served.note("does not tell tokens")
	}
	if proof.Model == "" {
		served.note("does not tell which model answers")
	}
	served.Notes = append(served.Notes, c.Refused()...)
	if known := []string{"", need.Model}; !slices.Contains(known, m.ID) || !slices.Contains(known, proof.Model) {
		served.note("was asked for the model %q, lists %q, and %q answers", need.Model, m.ID, proof.Model)
	}
	if need.Continues {
		served.note("cannot continue an answer that was lost on the way, which must begin anew: vLLM can")
	}
	if same {
		served.note("gave the same answer to different seeds: if it takes the likeliest token (a top_k of 1) or a seed of its own, " +
			"rollouts of a task are one rollout, and no error of an estimate holds")
	}
	return nil
}

// release is a version without what follows a "+".
func release(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}

const unknown = "unknown server"

// marks are the names of servers in the Server header, as owners of models or in the
// fingerprint of an answer.
var marks = []struct{ mark, name string }{
	{"llama.cpp", "llama.cpp"}, {"llamacpp", "llama.cpp"}, {"fp_ollama", "Ollama"}, {"library", "Ollama"},
	{"sglang", "SGLang"}, {"organization_owner", "LM Studio"}, {"vllm", "vLLM behind another server"},
}

// software names a server by what it says of itself: its Server header, the
// owner of its model, and the fingerprint of an answer, which may be "".
func software(header, owner, fingerprint string) string {
	for _, m := range marks {
		if !strings.Contains(strings.ToLower(header), m.mark) && owner != m.mark && !strings.HasPrefix(fingerprint, m.mark) {
			continue
		}
		if m.name == "llama.cpp" {
			return strings.TrimSpace(m.name + " " + fingerprint) // its build
		}
		return m.name
	}
	if told := cmp.Or(header, owner); told != "" {
		return fmt.Sprintf("%s (%s)", unknown, told)
	}
	return unknown
}

// Notes returns what a user should know of results from these replicas: a line each, with
// its replica.
func Notes(served []Served) (lines []string) {
	for _, s := range served {
		for _, note := range s.Notes {
			lines = append(lines, fmt.Sprintf("%s (%s) %s", s.URL, s.Software, note))
		}
	}
	kinds := distinct(served, func(s Served) string { return strings.TrimSpace(s.Software + " " + release(s.Version)) })
	if len(kinds) > 1 {
		lines = append(lines, "replicas are of different kinds, which need not answer alike: "+strings.Join(kinds, ", "))
	}
	return lines
}
