package dag

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
)

// canonical is the text that a key is the hash of, in the making: to the last
// byte the JSON that encoding/json makes of [Parts]. Its memory serves one key
// after the other.
type canonical struct {
	text                    []byte
	config, sources, inputs object
}

// object is one of the maps of [Parts].
type object struct {
	pairs []pair
	null  bool // a nil map
}

type pair struct{ name, value string }

var canonicals = sync.Pool{New: func() any { return new(canonical) }}

// newCanonical has nothing gathered. It goes back by free.
func newCanonical() *canonical {
	c := canonicals.Get().(*canonical)
	for _, o := range []*object{&c.config, &c.sources, &c.inputs} {
		o.pairs, o.null = o.pairs[:0], false
	}
	return c
}

func (c *canonical) free() { canonicals.Put(c) }

// unit gathers the parts of a unit but for its inputs.
func (c *canonical) unit(u *Unit) {
	c.config.gather(u.Config)
	for _, source := range u.Sources {
		c.sources.add(source.Name, source.SHA256)
	}
}

// key is the key of what was gathered, under the head of parts.
func (c *canonical) key(head *Parts) string {
	b := append(c.text[:0], `{"format":`...)
	b = strconv.AppendInt(b, int64(head.Format), 10)
	b = appendText(append(b, `,"stage":`...), head.Stage)
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, int64(head.Version), 10)
	b = appendText(append(b, `,"unit":`...), head.Unit)
	b = c.config.append(append(b, `,"config":`...))
	b = appendText(append(b, `,"seed":`...), head.Seed)
	b = c.sources.append(append(b, `,"sources":`...))
	b = c.inputs.append(append(b, `,"inputs":`...))
	c.text = append(b, '}')
	sum := sha256.Sum256(c.text)
	return hex.EncodeToString(sum[:])
}

func (o *object) add(name, value string) { o.pairs = append(o.pairs, pair{name, value}) }

func (o *object) gather(from map[string]string) {
	for name, value := range from {
		o.add(name, value)
	}
}

// append appends the object as JSON, sorted by name, each name once.
func (o *object) append(b []byte) []byte {
	if o.null {
		return append(b, "null"...)
	}
	slices.SortFunc(o.pairs, func(x, y pair) int { return cmp.Compare(x.name, y.name) })
	b = append(b, '{')
	for i, p := range o.pairs {
		if i > 0 {
			if p.name == o.pairs[i-1].name {
				continue
			}
			b = append(b, ',')
		}
		b = append(appendText(b, p.name), ':')
		b = appendText(b, p.value)
	}
	return append(b, '}')
}

// appendText appends a JSON string. All but plain texts are left to
// encoding/json.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if !plain[s[i]] {
			text, err := json.Marshal(s)
			if err != nil {
				panic(err) // strings always marshal
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// plain are the bytes that stand for themselves in what encoding/json writes.
var plain = func() (plain [256]bool) {
	for c := ' '; c <= '~'; c++ {
		plain[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return plain
}()
