package measurement

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/inputfile"
	"speceval/internal/policy"
	"speceval/internal/rowfile"
)

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

// key is what tells policies apart.
func (o Of) key() policy.Key { return policy.Key{Name: o.Policy, Donors: o.Donors} }

// ReadBenefit reads the BenefitFile at path. Every row must pass Check, and none may be
// there twice.
func ReadBenefit(path string) ([]Benefit, error) {
	data, err := inputfile.Read(path, inputfile.Profiles)
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

// BenefitGroups are the groups of one policy, as Groups gives them: each execution of
// it beside those of Uniform in the same setting and repeat, at b and at the
// equivalent budget.
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
