package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"speceval/internal/display"
	"speceval/internal/vllm"
)

// Requirement is what every replica must be.
type Requirement struct {
	Model         string // as served
	ContextTokens int    // at least, prompt and answer together
	Version       string // of vLLM, like "0.23.0"; "" for any, the same everywhere
	// ThinkingBudget asks for a proof that a thinking budget is enforced, on a
	// short request with TemplateArguments.
	ThinkingBudget    bool
	TemplateArguments map[string]any
	// Continues asks whether answers can be continued from a prefix, on short
	// requests with TemplateArguments. Those that cannot are no fault.
	Continues bool

	// Foreign lets any OpenAI-compatible server be a replica: vLLM of any
	// version and kind, unless Version says which, and others, which get standard
	// fields alone. Of those, Sampling is how requests will ask: what they cannot
	// be asked is a fault.
	Foreign  bool
	Sampling vllm.Sampling
}

// Served is what a replica turned out to be.
type Served struct {
	URL         string
	Version     string // whole, with what follows a "+"
	Root        string // where the weights came from
	MaxModelLen int    // tokens
	ThinkEnd    int32  // id of the token </think>; -1 if that is no single token
	Continues   bool   // it continues answers from their prefix, as far as Requirement.Continues asked

	Plain    bool     // it is not vLLM
	Software string   // "vLLM", or what another server calls itself: "llama.cpp b1", "unknown server (nginx)"
	Notes    []string // what a user should know of its answers; see Notes
}

// The proof of a thinking budget: so many tokens of thinking, of so many in all,
// and so many more for an opening tag and what a server writes at the end.
const (
	proofBudget = 4
	proofTokens = 16
	proofSlack  = 4
	proofWithin = 2 * time.Minute
)

// Check asks every replica whether it is what is required, and returns what
// those are that answer. The others count as dead, unless all are. Its error
// names every fault of every replica, and what to do. A replica that was dead,
// or dies later, has to meet the same requirement to come back.
func (p *Pool) Check(ctx context.Context, need Requirement) ([]Served, error) {
	findings := make([]finding, len(p.replicas))
	var all sync.WaitGroup
	for i, r := range p.replicas {
		all.Go(func() {
			findings[i].served, findings[i].faults = p.meets(ctx, r, need)
		})
	}
	all.Wait()
	var served []Served
	var faults, dead []error
	for _, f := range findings {
		if f.dead() {
			dead = append(dead, f.faults...)
			continue
		}
		served = append(served, f.served)
		faults = append(faults, f.faults...)
	}
	if versions := releases(served); len(versions) > 1 && !need.Foreign {
		faults = append(faults, fmt.Errorf("replicas run different versions of vLLM (%s): run one", strings.Join(versions, ", ")))
	}
	if len(faults) > 0 || len(dead) == len(p.replicas) {
		return served, errors.Join(append(append(faults, dead...), p.outageIfEmpty())...)
	}
	if need.Version == "" && len(served) > 0 && !need.Foreign {
		need.Version = release(served[0].Version) // for those that come back, or are late
	}
	p.mu.Lock()
	p.requirement = &need
	for i, f := range findings {
		if !f.dead() {
			p.replicas[i].found = &f.served
		}
	}
	p.mu.Unlock()
	for i, f := range findings {
		if f.dead() {
			p.takeOut(p.replicas[i], 0, errors.Join(f.faults...), nil)
		}
	}
	return served, ctx.Err()
}

// outageIfEmpty returns ErrOutage for a pool without replicas.
func (p *Pool) outageIfEmpty() error {
	if len(p.replicas) == 0 {
		return ErrOutage
	}
	return nil
}

// finding is what one replica turned out to be, and what is wrong with it.
type finding struct {
	served Served
	faults []error
}

// dead tells whether the replica did not answer, or has no engine, or none yet.
func (f finding) dead() bool {
	var e *vllm.Error
	return len(f.faults) == 1 && errors.As(f.faults[0], &e) &&
		(e.Kind == vllm.Unreachable || e.Kind == vllm.EngineDead || errors.Is(e, vllm.ErrLoading))
}

// releases lists the different versions of replicas.
func releases(served []Served) []string {
	versions := map[string]bool{}
	for _, s := range served {
		if s.Version != "" {
			versions[release(s.Version)] = true
		}
	}
	return slices.Sorted(maps.Keys(versions))
}

// release is a version without what follows a "+".
func release(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}

// meets asks one replica whether it is what is required.
func (p *Pool) meets(ctx context.Context, r *replica, need Requirement) (s Served, faults []error) {
	if need.Foreign {
		s, faults = p.inspectAny(ctx, r, need)
	} else {
		s, faults = p.inspect(ctx, r, need)
	}
	if left := need.Sampling.LeaveOut; left != 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("is not sent %v (sampling.leave_out): its own count", left))
	}
	return s, faults
}

// inspect asks one replica of vLLM. What could not be asked after a fault is left out.
func (p *Pool) inspect(ctx context.Context, r *replica, need Requirement) (Served, []error) {
	url := r.Client.URL()
	s := Served{URL: url, Software: "vLLM", ThinkEnd: -1}
	if err := r.Client.Health(ctx); err != nil {
		return s, []error{fmt.Errorf("%w: is it started, and at this address?", err)}
	}
	var faults []error
	wrong := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: %s", url, display.EscapedLine(fmt.Sprintf(format, args...))))
	}
	version, err := r.Client.Version(ctx)
	s.Version = version
	switch {
	case err != nil:
		faults = append(faults, fmt.Errorf("version: %w", err))
	case need.Version != "" && release(version) != release(need.Version):
		wrong("vLLM %s, want %s: install that, or set the version in the configuration", version, need.Version)
	}
	models, err := r.Client.Models(ctx)
	if err != nil {
		return s, append(faults, fmt.Errorf("models: %w", err))
	}
	at := slices.IndexFunc(models, func(m vllm.Model) bool { return m.ID == need.Model })
	if at < 0 {
		wrong("serves %s, not %q: start it with --served-model-name %s", Names(models), need.Model, need.Model)
		return s, faults
	}
	s.Root, s.MaxModelLen = models[at].Root, models[at].MaxModelLen
	switch {
	case s.MaxModelLen >= need.ContextTokens:
	case need.Foreign:
		s.shorten(r.Client, need)
	default:
		wrong("a context of %d tokens, want %d: start it with --max-model-len %d, or take what it has by --set sampling.context_tokens=%d --set sampling.max_tokens=%d",
			s.MaxModelLen, need.ContextTokens, need.ContextTokens, s.MaxModelLen, min(need.Sampling.MaxTokens, s.MaxModelLen/2))
	}
	m, err := r.Client.Metrics(ctx)
	switch {
	case need.Foreign && errors.Is(err, vllm.ErrNotOffered):
		s.Notes = append(s.Notes, "has no metrics, by which a hang would be noticed: start it without --disable-log-stats")
	case need.Foreign && err == nil:
	case errors.Is(err, vllm.ErrNotOffered):
		wrong("no metrics of vLLM, by which hung servers are found: start it without --disable-log-stats")
	case err != nil:
		faults = append(faults, fmt.Errorf("metrics: %w", err))
	case strings.EqualFold(m.PrefixCaching, "true"):
		wrong("prefix caching is on: start it with --no-enable-prefix-caching")
	}
	if ids, err := r.Client.Tokenize(ctx, need.Model, "</think>"); err == nil && len(ids) == 1 {
		s.ThinkEnd = ids[0]
	}
	if need.ThinkingBudget {
		if err := p.proveBudget(ctx, r.Client, need, s.ThinkEnd); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		p.continues(ctx, r.Client, need, &s)
	}
	return s, faults
}

// shorten has answers end where a context that is shorter than asked for does.
func (s *Served) shorten(c *vllm.Client, need Requirement) {
	c.ShortContext(s.MaxModelLen)
	s.Notes = append(s.Notes, fmt.Sprintf("has a context of %d tokens, less than sampling.context_tokens (%d): answers end with it, before sampling.max_tokens (%d) if need be",
		s.MaxModelLen, need.ContextTokens, need.Sampling.MaxTokens))
}

// Names lists models for a message, of very many the first.
func Names(models []vllm.Model) string {
	var ids []string
	for _, m := range models[:min(len(models), 20)] {
		ids = append(ids, fmt.Sprintf("%.200q", m.ID))
	}
	if more := len(models) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(ids, ", ")
}

// proveBudget asks a question that takes thought, with next to no budget for
// it. A server that does not know the field thinks on.
func (p *Pool) proveBudget(ctx context.Context, c *vllm.Client, need Requirement, end int32) error {
	if end < 0 {
		return fmt.Errorf("%s: a thinking budget needs a model in which </think> is one token", c.URL())
	}
	ctx, cancel := p.within(ctx, proofWithin)
	defer cancel()
	var answer vllm.Completion
	retry := vllm.Retry{Attempts: p.settings.Attempts, Clock: p.settings.Clock}
	err := retry.Do(ctx, func(ctx context.Context) error {
		var err error
		answer, err = c.Complete(ctx, vllm.Request{
			Model:    need.Model,
			Messages: []vllm.Message{{Role: "user", Content: "Prove that there are infinitely many primes, and that the square root of 2 is irrational."}},
			Seed:     1, Temperature: 0.6, TopP: 0.95, MaxTokens: proofTokens,
			TemplateArguments: need.TemplateArguments, ThinkingBudget: proofBudget, TokenIDs: true,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("a request with a thinking budget: %w: start it with --reasoning-parser, and with VLLM_USE_V2_MODEL_RUNNER=0", err)
	}
	at := slices.Index(answer.TokenIDs, end)
	if at < 0 || at > proofBudget+proofSlack {
		return fmt.Errorf("%s: ignores thinking_token_budget: a budget of %d tokens, and no </think> among the first %d: "+
			"start vLLM 0.19 or later with --reasoning-parser", c.URL(), proofBudget, proofBudget+proofSlack+1)
	}
	return nil
}

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
	if s.MaxModelLen > 0 && s.MaxModelLen < need.ContextTokens {
		s.shorten(r.Client, need)
	}
	proof, same, err := p.prove(ctx, r.Client, need)
	if err != nil {
		return s, []error{err}
	}
	s.Software = software(proof.Software, m.Owner, proof.Fingerprint)
	s.Notes = append(s.Notes, plainNotes(proof, r.Client, s, need)...)
	if !slices.Contains([]string{"", need.Model}, m.ID) || !slices.Contains([]string{"", need.Model}, proof.Model) {
		s.Notes = append(s.Notes, fmt.Sprintf("was asked for the model %q, lists %q, and %q answers", need.Model, m.ID, proof.Model))
	}
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
	at := slices.IndexFunc(models, func(m vllm.Model) bool { return m.ID == need.Model })
	if at < 0 {
		at = slices.IndexFunc(models, func(m vllm.Model) bool { return vllm.Serves(need.Model, m.ID) })
	}
	if at < 0 {
		return vllm.Model{}, fmt.Errorf("%s: serves %s, not %q: ask for one of these, or serve the model under that name", url, Names(models), need.Model)
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
		if e := (*vllm.Error)(nil); errors.As(err, &e) && e.Kind == vllm.UnknownEnd {
			return answer, false, err
		}
		same = err == nil && other.Text == answer.Text && other.Reasoning == answer.Reasoning
	}
	return answer, same, nil
}

// plainNotes are what a user should know of results from a plain server.
func plainNotes(proof vllm.Completion, c *vllm.Client, s Served, need Requirement) []string {
	notes := []string{"is not vLLM: its own top_k, min_p and penalties count, as it was started with"}
	if need.Sampling.TopK > 0 {
		notes = []string{fmt.Sprintf("is not vLLM: it may ignore top_k (%d), which is no field of OpenAI, and its own min_p and penalties count", need.Sampling.TopK)}
	}
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
