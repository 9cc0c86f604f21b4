package dag

import "slices"

// unitPlan describes unit i, which will run.
func (s *Snapshot) unitPlan(i int, reasons []Reason, v verdict) UnitPlan {
	u := UnitPlan{Ref: s.graph.ref(i), State: s.state(i, v.reasons), Reasons: reasons, Seconds: -1, Key: v.key, index: i, expect: s.graph.nodes[i].unit.Expect}
	if u.State == Fresh && reasons[0].Kind != Forced {
		u.State = Stale // by what it needs
	}
	if m := s.records[i].manifest; m != nil {
		u.Seconds, u.Before = m.WallSeconds, m.Key
	}
	return u
}

// note counts what the earlier manifest of a unit says about its time.
func (p *StagePlan) note(m *Manifest) {
	if m != nil {
		p.known++
		p.seconds += m.WallSeconds
	}
}

func (p *StagePlan) add(u UnitPlan) {
	if u.State == Missing {
		p.Missing++
	}
	p.Run = append(p.Run, u)
}

// Estimate is how long units will take, from how long they took before.
type Estimate struct {
	Seconds float64 // wall time with the given number of workers
	Unknown int     // units that nothing is known about and Seconds leaves out
}

// Estimate sums the earlier times of the units to run, a unit without one
// counting as the mean of its stage, and divides by the workers that can be
// busy at once.
func (p *StagePlan) Estimate(workers int) Estimate {
	if len(p.Run) == 0 {
		return Estimate{}
	}
	if p.known == 0 {
		return Estimate{Unknown: len(p.Run)}
	}
	sum := 0.0
	for _, u := range p.Run {
		if u.Seconds >= 0 {
			sum += u.Seconds
		} else {
			sum += p.seconds / float64(p.known)
		}
	}
	return Estimate{Seconds: sum / float64(max(1, min(workers, len(p.Run))))}
}

// Estimate sums the estimates of the stages.
func (p *Plan) Estimate(workers int) Estimate {
	var total Estimate
	for i := range p.Stages {
		e := p.Stages[i].Estimate(workers)
		total.Seconds += e.Seconds
		total.Unknown += e.Unknown
	}
	return total
}

// Expect sums what the units to run take, in the order in which they name it.
func (p *StagePlan) Expect() []Quantity {
	var sums []Quantity
	for _, u := range p.Run {
		for _, q := range u.expect {
			at := slices.IndexFunc(sums, func(s Quantity) bool { return s.Name == q.Name })
			if at < 0 {
				at, sums = len(sums), append(sums, Quantity{Name: q.Name})
			}
			sums[at].Amount += q.Amount
		}
	}
	return sums
}
