package ledger

import (
	"fmt"
	"strconv"
	"strings"
)

// Price is the charge of servers for tokens, in dollars per million.
type Price struct {
	Prompt     float64 `json:"prompt"`
	Completion float64 `json:"completion"`
}

// ParsePrice reads a price of the form IN/OUT, such as 0.15/0.60.
func ParsePrice(text string) (*Price, error) {
	in, out, of := strings.Cut(text, "/")
	prompt, wrong := strconv.ParseFloat(in, 64)
	completion, err := strconv.ParseFloat(out, 64)
	p := &Price{prompt, completion}
	if !of || wrong != nil || err != nil || p.Check() != nil {
		return nil, fmt.Errorf("price %q: want IN/OUT in dollars per million tokens of prompts and of answers, such as 0.15/0.60; OUT is %v or more", text, LeastPrice)
	}
	return p, nil
}

// LeastPrice is the least price of answers: a limit in tokens of them is a 64-bit integer.
const LeastPrice = 1e-3

// Check is an error if the prices cannot be.
func (p *Price) Check() error {
	if p != nil && !(p.Prompt >= 0 && p.Prompt < 1e6 && p.Completion >= LeastPrice && p.Completion < 1e6) {
		return fmt.Errorf("prices of %v and %v dollars per million tokens: want 0 or more for prompts, and %v or more for answers", p.Prompt, p.Completion, LeastPrice)
	}
	return nil
}

// Of is the dollars that tokens cost.
func (p *Price) Of(prompt, completion float64) float64 {
	return (p.Prompt*prompt + p.Completion*completion) / 1e6
}
