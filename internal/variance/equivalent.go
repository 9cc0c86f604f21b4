package variance

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// EquivalentBudget is ⌊b/r⌋, the largest whole budget at which Uniform has no
// less variance than HBN at budget b with variance ratio r. The division is
// exact, of r as the shortest decimal that stands for it, so that a ratio such
// as 0.8 gives 10 rather than 9 rollouts for 8. A ratio that is no positive
// number, or so small that the result leaves 32 bits, is an error.
func EquivalentBudget(budget int32, ratio float64) (int32, error) {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(ratio, 'g', -1, 64))
	if !ok || r.Sign() <= 0 {
		return 0, fmt.Errorf("variance ratio %v is not a positive number", ratio)
	}
	exact := new(big.Rat).Quo(new(big.Rat).SetInt64(int64(budget)), r)
	whole := new(big.Int).Quo(exact.Num(), exact.Denom())
	if !whole.IsInt64() || whole.Int64() > math.MaxInt32 {
		return 0, fmt.Errorf("variance ratio %v makes budget %d larger than can be executed", ratio, budget)
	}
	return int32(whole.Int64()), nil
}
