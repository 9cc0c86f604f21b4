package measurement

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/store/files"
	"speceval/internal/store/rowfile"
)

// Term is a number of a setting that is summed.
type Term func(Setting) float64

// Quotient is a cost over many settings: numbers are summed over the settings first
// and divided once, so that settings weigh as much as they cost (paper,
// Appendix B.5).
type Quotient struct {
	Above  []Term // their sums add up
	Below  Term
	Change bool // less one: the change relative to Below

	Less *Quotient // which is subtracted; nil: nothing
	Over *Quotient // by which it is divided; nil: nothing
}

// Value is the quotient over the settings.
func (q *Quotient) Value(settings []Setting) float64 {
	var above sum
	for k, t := range q.Above {
		total := total(settings, t)
		if k == 0 {
			above = total
			continue
		}
		above.add(total.total())
	}
	below := total(settings, q.Below)
	v := above.total() / below.total()
	if q.Change {
		v--
	}
	if q.Less != nil {
		v -= q.Less.Value(settings)
	}
	if q.Over != nil {
		v /= q.Over.Value(settings)
	}
	return v
}

func total(settings []Setting, t Term) (all sum) {
	for _, s := range settings {
		all.add(t(s))
	}
	return all
}

// sum adds with compensation, by Neumaier's method: the error does not grow
// with the number of terms.
type sum struct{ value, lost float64 }

func (s *sum) add(v float64) {
	t := s.value + v
	if math.Abs(s.value) >= math.Abs(v) {
		s.lost += (s.value - t) + v
	} else {
		s.lost += (v - t) + s.value
	}
	s.value = t
}

func (s *sum) total() float64 { return s.value + s.lost }

// Spread is the standard deviation of a statistic over repeats of the suite, and the
// standard error of their mean. With fewer than two repeats there is none, and both are NaN.
func Spread(repeats []float64) (sd, se float64) {
	n := float64(len(repeats))
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	var total, squares sum
	for _, v := range repeats {
		total.add(v)
	}
	mean := total.total() / n
	for _, v := range repeats {
		squares.add((v - mean) * (v - mean))
	}
	sd = math.Sqrt(squares.total() / (n - 1))
	return sd, sd / math.Sqrt(n)
}

// BenefitFile holds the executions of the policies in stages, and of the Uniforms that
// they are held against: at their budget, and at the budgets that their variances are
// worth. It has a Benefit for each.
const BenefitFile = "systems/benefit.parquet"

// BenefitSchema is the value of the footer key speceval.schema of BenefitFile, and of
// the files that it is gathered from.
const BenefitSchema = "systems-benefit/1"

// Of says which policy an execution is of, by the columns that tell policies apart.
type Of struct {
	Policy string `parquet:"policy"`
	Donors string `parquet:"donors"`

	// Equivalent is ⌊b/r⌋ of the policy's variance ratio r on the profile: the budget
	// of the execution of Uniform that it is held against. Of Uniform it is its own.
	Equivalent int32 `parquet:"equivalent_budget"`
}

// PolicyRun is an execution of a policy in stages, or of Uniform.
type PolicyRun struct {
	Of
	Run
}

// Benefit is the same with its compute.
type Benefit struct {
	Of
	Repeat
}

// key tells policies apart.
func (o Of) key() policy.Key { return policy.Key{Name: o.Policy, Donors: o.Donors} }

// ReadBenefit reads the BenefitFile at path. Every row must pass Check, and none may be
// there twice.
func ReadBenefit(path string) ([]Benefit, error) {
	data, err := files.ReadInput(path, files.Profiles)
	if err != nil {
		return nil, err
	}
	rows, _, err := rowfile.Decode[Benefit](data, path)
	if err != nil {
		return nil, err
	}
	seen := map[suite]int{}
	for i, r := range rows {
		err := r.Check()
		at := r.suite(r.Strategy, r.Budget)
		before, twice := seen[at]
		switch {
		case err == nil && r.Repeat.Repeat < 0:
			err = fmt.Errorf("repeat %d is negative", r.Repeat.Repeat)
		case err == nil && twice:
			err = fmt.Errorf("the same execution as row %d", before+1)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: row %d (%s): %w", path, i+1, r.setting(), err)
		}
		seen[at] = i
	}
	return rows, nil
}

// suite names an execution.
type suite struct {
	suiteKey
	policy   policy.Key
	strategy string
	budget   int32
}

func (b Benefit) suite(strategy string, budget int32) suite {
	return suite{suiteKey{b.setting(), b.Provenance, b.Repeat.Repeat}, b.key(), strategy, budget}
}

// BenefitGroups returns the groups of one policy, as Groups does: each of its
// executions with the executions of Uniform in the same setting and repeat, at b
// and at the equivalent budget.
func BenefitGroups(rows []Benefit, of policy.Key, strategies ...string) ([]Group, error) {
	uniforms := map[suite]Repeat{}
	for _, r := range rows {
		if r.key() == policy.Uniform.Key() {
			uniforms[r.suite(r.Strategy, r.Budget)] = r.Repeat
		}
	}
	var all []Repeat
	have := map[suiteKey]bool{}
	for _, r := range rows {
		if r.key() != of || !slices.Contains(strategies, r.Strategy) {
			continue
		}
		all = append(all, r.Repeat)
		if at := r.suite("", 0).suiteKey; !have[at] {
			have[at] = true
			for strategy, budget := range map[string]int32{Uniform: r.ReferenceBudget, UniformEquivalent: r.Equivalent} {
				own := Benefit{Of{Policy: Uniform, Donors: policy.None.Name}, r.Repeat}
				u, there := uniforms[own.suite(strategy, budget)]
				if !there {
					return nil, fmt.Errorf("%s: %s has no execution of %s at %d for %s in repeat %d; run the systems stage again",
						BenefitFile, r.setting(), strategy, budget, of, r.Repeat.Repeat)
				}
				all = append(all, u)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Repeat) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model), cmp.Compare(a.ReferenceBudget, b.ReferenceBudget),
			cmp.Compare(a.Provenance, b.Provenance), cmp.Compare(a.Strategy, b.Strategy), cmp.Compare(a.Repeat, b.Repeat))
	})
	return Groups(Means(all), all, strategies...)
}

// Means are the means over repeats, which lie side by side: in the order of the
// runs, a row for each setting, strategy and provenance. Extra rollouts are rounded.
func Means(runs []Repeat) []Measurement {
	var all []Measurement
	for first := 0; first < len(runs); {
		end := first + 1
		for end < len(runs) && runs[end].alike(runs[first]) {
			end++
		}
		all = append(all, mean(runs[first:end]))
		first = end
	}
	return all
}

// alike reports whether two executions are repeats of one.
func (r Repeat) alike(other Repeat) bool {
	return r.setting() == other.setting() && r.Strategy == other.Strategy && r.Provenance == other.Provenance
}

func mean(runs []Repeat) Measurement {
	m := runs[0].Measurement
	var seconds, useful, wasted, extra float64
	for _, r := range runs {
		seconds, useful, wasted = seconds+r.TimeSeconds, useful+r.UsefulFLOPs, wasted+r.WastedFLOPs
		extra += float64(r.ExtraRollouts)
	}
	n := float64(len(runs))
	m.TimeSeconds, m.UsefulFLOPs, m.WastedFLOPs = seconds/n, useful/n, wasted/n
	m.ExtraRollouts = int32(math.Round(extra / n))
	return m
}

// LengthsKey is the footer key of File that says, with the value LengthsDrawn,
// that requests set the lengths of answers. Without it models ended them.
const (
	LengthsKey   = "speceval.lengths"
	LengthsDrawn = "drawn"
)

// AreDrawn reports whether the answers behind the runs on servers in the file at
// path had drawn lengths.
func AreDrawn(path string) (bool, error) {
	_, footer, err := rowfile.ReadFooter(path)
	return footer[LengthsKey] == LengthsDrawn, err
}
