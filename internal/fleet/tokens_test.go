package fleet_test

import (
	"slices"
	"testing"

	"speceval/internal/fleet"
)

func TestTokens(t *testing.T) {
	// Checked against the tokenizer of the real servers of the drills.
	text := "é<think>a</think><|im_end|>"
	want := []int32{195, 169, 259, 97, 260, 258}
	if got := fleet.Tokenize(text); !slices.Equal(got, want) {
		t.Errorf("Tokenize = %v, want %v", got, want)
	}
	if got := fleet.Detokenize([]int32{257, 104, 259, 10, 260, 195, 258, 256, 400, -1}); got != "<|im_start|>h<think>\n</think>\uFFFD<|im_end|><|endoftext|>" {
		t.Errorf("Detokenize = %q", got)
	}
	if got := fleet.Valid("\xa8\x19\xa4\xb6ȏ"); got != "\uFFFD\x19\uFFFD\uFFFDȏ" {
		t.Errorf("Valid = %q", got)
	}
	if got := fleet.Detokenize([]int32{0xe4, 0xbd, 0xa0, 258, 0xe4, 0xff, 65, 0xe4, 0xbd}); got != "你<|im_end|>\uFFFD\uFFFDA\uFFFD" {
		t.Errorf("Detokenize = %q", got)
	}
	for text, want := range map[string]int{"": 0, "ab": 2, "aé": 3, "a\xc3": 1, "\xe2\x89": 0, "\xa8\xa8": 0, "x\xff": 1, "\xffx": 2, "x\uFFFD\xff": 1} {
		if got := fleet.Complete(text); got != want {
			t.Errorf("Complete(%q) = %d, want %d", text, got, want)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, text := range []string{"", "a", "<", "<<|im_end|><think", "</think></think>x<|im_start|>", "é\xff<think>"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := fleet.Tokenize(text)
		if fleet.CountTokens(text) != len(tokens) {
			t.Errorf("%q has %d tokens, counted %d", text, len(tokens), fleet.CountTokens(text))
		}
		if back := fleet.Detokenize(tokens); back != fleet.Valid(text) {
			t.Errorf("%q comes back as %q", text, back)
		}
	})
}
