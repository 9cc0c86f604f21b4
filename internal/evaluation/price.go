package evaluation

import (
	"fmt"
	"math"

	"speceval/internal/ledger"
)

// PromptWeight is the count of a prompt's token toward [Setup.Limit].
func (s *Setup) PromptWeight() float64 {
	if s.Stop == nil || s.Stop.Dollars == 0 || s.Price == nil {
		return 0
	}
	return s.Price.Prompt / s.Price.Completion
}

// perDollar is what of [Setup.Limit] a dollar buys: tokens of answers, and millionths without
// prices, where another program says what its rollouts cost.
func (s *Setup) perDollar() float64 {
	if s.Price == nil {
		return 1e6
	}
	return 1e6 / s.Price.Completion
}

// Limit is the tokens of answers that the evaluation may take; 0: any number. Under a limit
// on dollars prompts count, too, by what they cost in tokens of answers.
func (s *Setup) Limit() int64 {
	switch {
	case s.Stop == nil:
		return 0
	case s.Stop.Dollars > 0:
		return max(1, int64(math.Floor(s.Stop.Dollars*s.perDollar())))
	}
	return s.Stop.Tokens
}

// LimitText is the flag of a limit with this number of its tokens.
func (s *Setup) LimitText(tokens int64) string {
	if s.Stop.Dollars > 0 {
		return fmt.Sprintf("--max-usd %.3g", float64(tokens)/s.perDollar())
	}
	return fmt.Sprintf("--max-tokens %d", tokens)
}

// Cost is the dollars of an evaluation.
type Cost struct {
	Dollars  float64 `json:"usd"`
	Reported bool    `json:"reported"` // by the servers, of every request that reached one; otherwise by the prices
}

// charge sets what the requests cost, if their prices are known or servers told.
func (r *Result) charge(rows []Request, price *ledger.Price) {
	c := Cost{Reported: true}
	for i := range rows {
		dollars, reported := rows[i].cost(price)
		c.Dollars += dollars
		c.Reported = c.Reported && reported
	}
	if r.Cost = nil; c.Dollars > 0 {
		r.Cost = &c
	}
}

// tokens counts the generated tokens of a request.
func (q *Request) tokens() int64 {
	n := int64(q.CompletionTokens-q.PrefixTokens) + q.Void
	if q.AbortedTokens != nil {
		n += int64(*q.AbortedTokens)
	}
	return n
}

// cost is the dollars of a request, and whether its server reported them.
func (q *Request) cost(price *ledger.Price) (dollars float64, reported bool) {
	switch {
	case q.Cost > 0:
		return q.Cost, true
	case price != nil:
		return price.Of(float64(q.PromptTokens), float64(q.tokens())), q.PromptTokens == 0
	}
	return 0, false
}
