package logs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Metrics may make one value of several responses to a task: pass@8, maj@64. Such a
// value is no rollout's reward. pass@1 of n responses is the share that passed, and so
// says how many of n rollouts did.

// Names of such metrics and of filters that choose by several responses, with how many.
var (
	ofSeveral  = regexp.MustCompile(`(?i)(?:^|[^a-z])(g-?pass|pass|maj|majority|avg|average|mean|cons|consensus|best|max|any|all|cov)(?:@|\^|_at_)(\d+|[kn])`)
	bySeveral  = regexp.MustCompile(`(?i)majority|(?:^|[^a-z])maj(?:[^a-z]|$)|consensus|self[-_ ]?consistency|vot(?:e|ing)|best[-_ ]?of|(?:^|[^a-z])pass_all`)
	parameterK = regexp.MustCompile(`(?:^|[^a-z])k=(\d+)`)
	parameterN = regexp.MustCompile(`(?:^|[^a-z])n=(\d+)|(\d+)_samples`)
)

// repeats counts the responses behind a value.
type repeats struct {
	all  int // responses to the task; 0: not known
	seen int // responses that the metric was given
}

// over returns 0 if the value of a metric, by a filter or none, is one rollout's reward, or
// n if it is the share of n responses that passed. Other values are an error.
func (of repeats) over(metric, filter string) (n int, err error) {
	k, n := 1, of.seen
	name := strings.TrimSuffix(metric+"/"+filter, "/")
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
			return 0, fmt.Errorf("%s is the share of the responses that passed, and the log does not say of how many", name)
		}
	} else if match := ofSeveral.FindStringSubmatch(filter); match != nil {
		k, _ = strconv.Atoi(match[2])
	} else if bySeveral.MatchString(metric + " " + filter) {
		k = 0
	} else if of.all > 1 && strings.HasSuffix(metric, "@"+strconv.Itoa(of.all)) {
		k = of.all
	}
	if n > 1 || k > 1 || k == 0 && of.all != 1 {
		return 0, fmt.Errorf("%s makes one value of several responses, which is no rollout's reward: take a metric of each response, or pass@1, which says how many passed", name)
	}
	return 0, nil
}
