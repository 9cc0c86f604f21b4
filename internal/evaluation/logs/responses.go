package logs

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// responses counts the responses behind the metrics of a task. A metric may make one value of
// several responses: pass@8, maj@64. Such a value is no rollout's reward. pass@1 of n responses,
// and avg@n, is the share that passed, and so says how many of n rollouts did.
type responses struct {
	all  int // to the task; 0: not known
	seen int // that the metric was given
}

// Names of such metrics and of filters that choose by several responses, with how many.
var (
	ofSeveral  = regexp.MustCompile(`(?i)(?:^|[^a-z])(g-?pass|pass|maj|majority|avg|average|mean|cons|consensus|best|max|any|all|cov)(?:@|\^|_at_)(\d+|[kn])`)
	averaged   = regexp.MustCompile(`(?i)^(?:avg|average|mean)$`)
	bySeveral  = regexp.MustCompile(`(?i)majority|(?:^|[^a-z])maj(?:[^a-z]|$)|consensus|self[-_ ]?consistency|vot(?:e|ing)|best[-_ ]?of|(?:^|[^a-z])pass_all`)
	parameterK = regexp.MustCompile(`(?:^|[^a-z])k=(\d+)`)
	parameterN = regexp.MustCompile(`(?:^|[^a-z])n=(\d+)|(\d+)_samples`)
)

// list is the values of a metric that has one for each response, nil if it has not.
func (of *responses) list(value jsontext.Value) []jsontext.Value {
	each := listOf(value)
	if of == nil || len(each) < 2 || len(each) != of.all || slices.ContainsFunc(each, func(v jsontext.Value) bool { return strings.ContainsRune(`"[{`, rune(v.Kind())) }) {
		return nil
	}
	return each
}

// share returns 0 if the values of a metric, called METRIC or METRIC/FILTER, are each one
// rollout's reward, or n if its value is the share of n responses that passed. Other values
// are an error.
func (of *responses) share(score member) (n int, err error) {
	if of == nil || score.value.Kind() == '[' {
		return 0, nil
	}
	metric, filter, _ := strings.Cut(score.name, "/")
	k := 1 // responses that a value is made of; 0: a number that is not said
	match := ofSeveral.FindStringSubmatch(metric)
	if match == nil {
		match = ofSeveral.FindStringSubmatch(filter)
	}
	switch {
	case match != nil:
		k, _ = strconv.Atoi(match[2])
		if said := parameterK.FindStringSubmatch(metric); said != nil {
			k, _ = strconv.Atoi(said[1])
		}
	case bySeveral.MatchString(metric + " " + filter):
		k = 0
	case of.all > 1 && strings.HasSuffix(metric, "@"+strconv.Itoa(of.all)):
		k = of.all
	}
	n = of.seen
	if said := parameterN.FindStringSubmatch(metric); match != nil && said != nil {
		n, _ = strconv.Atoi(said[1] + said[2])
	}
	share := match != nil && strings.EqualFold(match[1], "pass") && k == 1
	if match != nil && averaged.MatchString(match[1]) && (n == 0 || k <= n) {
		share, n = true, cmp.Or(k, n)
	}
	switch {
	case share && n == 0:
		return 0, fmt.Errorf("%s is the share of the responses that passed, and the log does not say of how many", score.name)
	case share:
		return n, nil
	case n > 1 || k > 1 || k == 0 && of.all != 1:
		return 0, fmt.Errorf("%s makes one value of several responses, which is no rollout's reward: take a metric of each response, or pass@1, which says how many passed", score.name)
	}
	return 0, nil
}

// addShare adds n rollouts; the reward of r is the share of them that passed.
func (d *draft) addShare(r row, name string, n int) error {
	share := r.Reward
	passed := math.Round(share * float64(n))
	if math.Abs(share*float64(n)-passed) > 1e-6*float64(n) || n > maxRollouts {
		return fmt.Errorf("task %q: %s is %v, which no number of passes among %d responses is", r.id, name, share, n)
	}
	if n > 1 {
		d.note("%s is the share of a task's responses that passed: each response is a rollout", name)
	}
	for k := range n {
		r.Number, r.Reward = k+1, 0
		if float64(k) < passed {
			r.Reward = 1
		}
		if err := d.addRollout(r.id, r.Rollout); err != nil {
			return err
		}
	}
	return nil
}
