package choice

import "math/bits"

// nouns are the words by which phrases are found, and a pair of letters in each
// that few other words have.
var nouns = [...]struct {
	word string
	at   int // of the pair
}{{"answer", 2}, {"option", 1}, {"choice", 2}}

// lastNoun is the place of the last noun that ends before end; 0, 0 if there is
// none.
func lastNoun(text string, end int) (from, to int) {
	for i := end - 2; i >= 0; i-- {
		for i >= 7 {
			if found := pairs(text[i-7 : i+2]); found != 0 {
				i -= bits.LeadingZeros64(found) / 8
				break
			}
			i -= 8
		}
		for _, noun := range nouns {
			from, to = i-noun.at, i-noun.at+len(noun.word)
			if from >= 0 && to <= end && oneOf(text[from:to], noun.word) && !wordyBefore(text, from) && (to == len(text) || !isLetter(text[to])) {
				return from, to
			}
		}
	}
	return 0, 0
}

// pairs finds where one of the pairs "sw", "pt" and "oi", in any case, may begin
// in the first eight of nine bytes: the highest bit of the byte is set. It compares
// eight bytes at a time, for most of the time that a response takes without a box
// goes here.
func pairs(s string) uint64 {
	const (
		each  = 0x0101010101010101
		high  = 0x80 * each
		lower = 0x20 * each
	)
	first, second := eight(s)|lower, eight(s[1:])|lower
	sw := (first ^ 's'*each) | (second ^ 'w'*each) // a byte is zero where the pair is
	pt := (first ^ 'p'*each) | (second ^ 't'*each)
	oi := (first ^ 'o'*each) | (second ^ 'i'*each)
	return ((sw-each)&^sw | (pt-each)&^pt | (oi-each)&^oi) & high
}

// eight is the first eight bytes of a string as a number.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
