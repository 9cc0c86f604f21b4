package policy

import "slices"

// Informed is HBN in two stages under a prior that knows donors, one policy for
// each. InformedStaged is the same in more stages. Neither is in the paper.
var (
	Informed       = knowingAll(Policy{Name: "hbn_informed", Label: "Informed HBN", Macro: "Informed", InStages: &InStages{After: 1}})
	InformedStaged = knowingAll(Policy{Name: "hbn_informed_staged", Label: "Informed staged HBN", Macro: "InformedStaged", InStages: &InStages{After: mostAfter}})
)

// knowingAll is a policy with every donor that there is.
func knowingAll(like Policy) (all List) {
	for _, d := range AllDonors {
		if d == None {
			continue
		}
		own := like
		own.Macro, own.Donors = like.Macro+d.Macro, d
		own.Design.OnDonors = true
		all = append(all, &own)
	}
	return all
}

// knowing is the policy of the list that has some donors.
func (l List) knowing(d *Donors) *Policy {
	return l[slices.IndexFunc(l, func(p *Policy) bool { return p.Donors == d })]
}
