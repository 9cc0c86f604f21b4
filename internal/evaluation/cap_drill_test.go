//go:build drill

package evaluation_test

func init() { biasedEvaluations = 500 }
