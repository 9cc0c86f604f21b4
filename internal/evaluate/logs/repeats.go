package logs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// repeats counts the responses behind the metrics of a task. A metric may make one value of
// several responses: pass@8, maj@64. Such a value is no rollout's reward. pass@1 of n
// responses is the share that passed, and so says how many of n rollouts did.
type repeats struct {
	all  int // responses to the task; 0: not known
	seen int // responses that the metric was given
}

// Names of such metrics and of filters that choose by several responses, with how many.
var (
	ofSeveral  = regexp.MustCompile(`(?i)(?:^|[^a-z])(g-?pass|pass|maj|majority|avg|average|mean|cons|consensus|best|max|any|all|cov)(?:@|\^|_at_)(\d+|[kn])`)
	bySeveral  = regexp.MustCompile(`(?i)majority|(?:^|[^a-z])maj(?:[^a-z]|$)|consensus|self[-_ ]?consistency|vot(?:e|ing)|best[-_ ]?of|(?:^|[^a-z])pass_all`)
	parameterK = regexp.MustCompile(`(?:^|[^a-z])k=(\d+)`)
	parameterN = regexp.MustCompile(`(?:^|[^a-z])n=(\d+)|(\d+)_samples`)
)

// list is the values of a metric that has one for each response, nil if it has not.
func (of *repeats) list(value jsontext.Value) []jsontext.Value {
	each := listOf(value)
	if of == nil || len(each) < 2 || len(each) != of.all || slices.ContainsFunc(each, func(v jsontext.Value) bool { return strings.ContainsRune(`"[{`, rune(v.Kind())) }) {
		return nil
	}
	return each
}

// share returns 0 if the values of a metric, called METRIC or METRIC/FILTER, are each one
// rollout's reward, or n if its value is the share of n responses that passed. Other values
// are an error.
func (of *repeats) share(score member) (n int, err error) {
	if of == nil || score.value.Kind() == '[' {
		return 0, nil
	}
	metric, filter, _ := strings.Cut(score.name, "/")
	k, n := 1, of.seen
	if match := ofSeveral.FindStringSubmatch(metric); match != nil {
		k, _ = strconv.Atoi(match[2]) // 0: it says k or n
		if said := parameterK.FindStringSubmatch(metric); said != nil {
			k, _ = strconv.Atoi(said[1])
		}
		if said := parameterN.FindStringSubmatch(metric); said != nil {
			n, _ = strconv.Atoi(said[1] + said[2])
		}
		switch single := strings.EqualFold(match[1], "pass") && k == 1; {
		case single && n > 0:
			return n, nil
		case single:
			return 0, fmt.Errorf("%s is the share of the responses that passed, and the log does not say of how many", score.name)
		}
	} else if match := ofSeveral.FindStringSubmatch(filter); match != nil {
		k, _ = strconv.Atoi(match[2])
	} else if bySeveral.MatchString(metric + " " + filter) {
		k = 0
	} else if of.all > 1 && strings.HasSuffix(metric, "@"+strconv.Itoa(of.all)) {
		k = of.all
	}
	if n > 1 || k > 1 || k == 0 && of.all != 1 {
		return 0, fmt.Errorf("%s makes one value of several responses, which is no rollout's reward: take a metric of each response, or pass@1, which says how many passed", score.name)
	}
	return 0, nil
}
