package ranking_test

import (
	"fmt"

	"speceval/method/ranking"
	"speceval/method/staged"
)

// Three models share eight rollouts per task. The third one falls behind in the pilot, and the
// others have nearly all that is left.
func Example() {
	contest, err := staged.New(3, 8, ranking.Plan(8))
	if err != nil {
		panic(err)
	}
	means := []float64{0.62, 0.60, 0.45} // of every stage; an evaluation would find other ones
	standings := make([]ranking.Standing, len(means))
	spent := make([]float64, len(means))
	for {
		fmt.Println(contest.Sizes())
		sums := make([]float64, len(means))
		for k, n := range contest.Sizes() {
			sums[k] = means[k] * float64(n)
			spent[k] += float64(n)
		}
		if err := contest.ObserveRewards(sums); err != nil {
			panic(err)
		}
		const single = 0.0012 // variance of a mean by one rollout per task
		for k, mean := range means {
			standings[k] = ranking.Standing{Normal: ranking.Normal{Mean: mean, Variance: single / spent[k]}, Spread: single, Rest: contest.Rest()[k]}
		}
		if contest.Done() {
			break
		}
		scores, err := ranking.Scores(ranking.Best, standings, contest.Left())
		if err != nil {
			panic(err)
		}
		if err := contest.Decide(scores); err != nil {
			panic(err)
		}
	}
	chances := ranking.Chances([]ranking.Normal{standings[0].Normal, standings[1].Normal, standings[2].Normal})
	fmt.Printf("%.2f of %v\n", chances, spent)
	// Output:
	// [2 2 2]
	// [4 3 1]
	// [3 3 0]
	// [2 2 0]
	// [0.91 0.09 0.00] of [11 10 3]
}
