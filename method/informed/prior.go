package informed

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"speceval/method/neyman"
)

// Prior is a prior informed by donors. It is safe for concurrent use.
type Prior struct {
	tasks   int
	sources []source // the cold one first
}

// source is a set of nodes that see the same tasks alike: those of one level.
type source struct {
	donor       int32   // its index, or one of the values below
	level       []int32 // of each task
	levels      int
	nodes       int
	alpha, beta []float64 // [level][node]
	log         []float64 // of the prior weights, by node
}

// Donors that are none.
const (
	noDonor   = -1 // of the cold nodes
	allOfThem = -2 // of the mean of all donors
)

// The grid of shifted nodes.
var (
	shifts         = []float64{-3, -2, -1, 0, 1, 2, 3}
	slopes         = []float64{0.3, 0.9}
	concentrations = []float64{0.2, 0.7, 2.5, 9}
)

const (
	coldWeight = 1.0 / 3 // of the cold nodes together, where there are donors
	caution    = 0.05    // that they keep, whatever the rollouts say
	aloneOrder = 16      // of the quadrature of cold nodes without donors, as in the paper
	coldOrder  = 8       // and with them

	// negligible is how far in log weight a node may lie below the best: of the cold
	// nodes, of those of all donors, and of those that a donor's own rollouts leave.
	negligible = 7
)

// New is the prior of so many tasks that knows of some donors. Without donors it
// is the reference prior. It is an error if a donor's counts are not counts, or if
// it has seen none of the tasks.
func New(tasks int, donors []Donor) (*Prior, error) {
	if tasks < 1 {
		return nil, fmt.Errorf("informed: %d tasks, want at least 1", tasks)
	}
	var faults []error
	for _, d := range donors {
		faults = append(faults, d.check(tasks))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("informed: %w", err)
	}
	p := &Prior{tasks: tasks}
	if len(donors) == 0 {
		p.sources = []source{cold(tasks, aloneOrder)}
		return p, nil
	}
	p.sources = []source{cold(tasks, coldOrder)}
	for k, d := range donors {
		p.sources = append(p.sources, shifted(int32(k), d.logits()), same(int32(k), d))
	}
	if len(donors) > 1 {
		p.sources = append(p.sources, shifted(allOfThem, meanLogits(donors)))
	}
	floats.AddConst(math.Log(coldWeight), p.sources[0].log)
	for _, s := range p.sources[1:] {
		floats.AddConst(math.Log((1-coldWeight)/float64(len(p.sources)-1)), s.log)
	}
	return p, nil
}

// Tasks is the number of tasks.
func (p *Prior) Tasks() int { return p.tasks }

// Donors is the number of donors.
func (p *Prior) Donors() int {
	donors := 0
	for _, s := range p.sources {
		donors = max(donors, int(s.donor)+1)
	}
	return donors
}

// cold is the reference prior on a quadrature of some order.
func cold(tasks, order int) source {
	reference, err := neyman.NewPrior(order)
	if err != nil {
		panic(err) // an order of ours
	}
	s := source{donor: noDonor, level: make([]int32, tasks), levels: 1}
	s.alpha, s.beta, s.log = reference.Nodes()
	s.nodes = len(s.log)
	return s
}

// shifted is the nodes that follow some logits.
func shifted(donor int32, logits []float64) source {
	s := source{donor: donor, nodes: len(shifts) * len(slopes) * len(concentrations)}
	var values []float64
	s.level, values = levels(logits)
	s.levels = len(values)
	for _, d := range values {
		for _, slope := range slopes {
			for _, shift := range shifts {
				mean := 1 / (1 + math.Exp(-shift-slope*d))
				for _, kappa := range concentrations {
					s.alpha = append(s.alpha, kappa*mean)
					s.beta = append(s.beta, kappa*(1-mean))
				}
			}
		}
	}
	s.log = make([]float64, s.nodes)
	floats.AddConst(-math.Log(float64(s.nodes)), s.log)
	return s
}

// same is the nodes that take the donor for the model itself. Of those of the
// reference prior only the ones stay that the donor's own rollouts leave.
func same(donor int32, d Donor) source {
	s := source{donor: donor}
	groups := s.group(d)
	all := cold(len(d.Passes), coldOrder)
	for k := range all.nodes {
		a, b := all.alpha[k], all.beta[k]
		for _, g := range groups {
			all.log[k] += g.tasks * logBeta(a, b, g.passes, g.failures)
		}
	}
	top := floats.Max(all.log)
	var a, b []float64
	for k, l := range all.log {
		if l > top-negligible {
			a, b, s.log = append(a, all.alpha[k]), append(b, all.beta[k]), append(s.log, l)
		}
	}
	s.nodes = len(s.log)
	floats.AddConst(-floats.LogSumExp(s.log), s.log)
	for _, g := range groups {
		for k := range s.nodes {
			s.alpha = append(s.alpha, a[k]+g.passes)
			s.beta = append(s.beta, b[k]+g.failures)
		}
	}
	return s
}

// group is tasks of about the same counts, with the mean of these.
type group struct{ tasks, passes, failures float64 }

// group puts tasks with as many rollouts and about the same pass rate on one level.
func (s *source) group(d Donor) (groups []group) {
	type place struct {
		level    int32
		rollouts int
	}
	near, _ := levels(d.logits())
	number := map[place]int32{}
	for i, n := range d.Rollouts {
		at, known := number[place{near[i], n}]
		if !known {
			at = int32(len(groups))
			number[place{near[i], n}] = at
			groups = append(groups, group{})
		}
		s.level = append(s.level, at)
		g := &groups[at]
		g.tasks++
		g.passes += (float64(d.Passes[i]) - g.passes) / g.tasks
		g.failures = float64(n) - g.passes
	}
	s.levels = len(groups)
	return groups
}

// logBeta is log B(a+c, b+f)/B(a, b), for any c and f.
func logBeta(a, b, c, f float64) float64 {
	return logGamma(a+c) - logGamma(a) + logGamma(b+f) - logGamma(b) - logGamma(a+b+c+f) + logGamma(a+b)
}

func logGamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}
