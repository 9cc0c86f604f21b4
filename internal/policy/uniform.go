package policy

import (
	"slices"

	"speceval/method/controller"
)

// Uniform gives every task b rollouts: what all others are held against.
var Uniform = &Policy{Name: "uniform", Label: "Uniform", Macro: "Uniform", Donors: None, Fixed: evenly}

// evenly gives each task as many of the rollouts, of which there are a multiple.
func evenly(variances []float64, total int) ([]int, error) {
	return slices.Repeat([]int{total / len(variances)}, len(variances)), nil
}

// UniformAtBudget is Uniform at the budget b.
var UniformAtBudget = &Strategy{
	Name: controller.Uniform.String(), Label: "Uniform",
	Policy: Uniform, Controller: controller.Uniform,
}

// UniformEquivalent is Uniform at ⌊b/r⌋, the budget that HBN's variance is worth.
var UniformEquivalent = &Strategy{
	Name: "uniform-equivalent", Label: "Uniform, equivalent",
	Policy: Uniform, Controller: controller.Uniform, Equivalent: true,
}
