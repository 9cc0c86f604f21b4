package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"speceval/internal/terminal/display"
)

// Ranked is the outcome of a contest of models: the comparison of their evaluations, in the
// order in which the models were named.
type Ranked struct {
	*Comparison
	Goal    string    `json:"goal"`
	Budget  int       `json:"budget"` // rollouts per task, on average over the models
	Models  []string  `json:"models"`
	Chances []float64 `json:"p_best"` // that each is the best
	// Wrong is the probability that the model with the greatest mean is not the best; with the
	// goal order the expected number of pairs in the wrong order.
	Wrong float64 `json:"wrong"`
	// Uniform is how many rollouts of every task each model would need for that; null where no
	// number follows.
	Uniform *float64 `json:"uniform"`
	Dollars float64  `json:"usd,omitempty"` // for all requests; 0: not known
}

// Text writes the outcome for people, with some differences or all.
func (r *Ranked) Text(w io.Writer, all bool) error {
	var b strings.Builder
	order := make([]int, len(r.Models))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Chances[b], r.Chances[a]) })
	b.WriteString("P(best)  model\n")
	for _, k := range order {
		fmt.Fprintf(&b, "%7.3f  %s\n", r.Chances[k], display.EscapedLine(r.Models[k]))
	}
	wrong := fmt.Sprintf("the model with the greatest mean is not the best with a probability of %.2g", r.Wrong)
	if r.Goal == "order" {
		wrong = fmt.Sprintf("%.2g pairs are expected to be in the wrong order", r.Wrong)
	}
	fmt.Fprintf(&b, "\n  wrong    %s\n", wrong)
	if r.Uniform != nil {
		fmt.Fprintf(&b, "  Uniform  would have needed %.1f rollouts per task of every model for that; %d were spent\n", *r.Uniform, r.Budget)
	}
	if r.Dollars > 0 {
		fmt.Fprintf(&b, "  cost     $%.4g for all requests\n", r.Dollars)
	}
	b.WriteString("\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return r.Comparison.Text(w, all)
}
