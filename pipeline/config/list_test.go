package config

import (
	"os"
	"strings"
	"testing"
)

func TestEveryKeyHasItsLine(t *testing.T) {
	const text = `# comment = 1
top = 1
"quoted key" = 2 # [not.a.table]

[table]
a.b = """
c = 3
\"""" # d = 4
list = [
  1, # ]
  [2, "]"],
]
last = 'x # y'
quotes = """one quote""""
[[array]]
id = 1
[[array]]
id = 2
[ table . sub ]
e = {f = "}", g = [1]}
h = 5`
	want := map[string]int{
		"top": 2, "quoted key": 3, "table": 5, "table.a.b": 6, "table.list": 9, "table.last": 13, "table.quotes": 14,
		"array[0]": 15, "array[0].id": 16, "array[1]": 17, "array[1].id": 18, "table.sub": 19, "table.sub.e": 20, "table.sub.h": 21,
	}
	got := keyLines(text)
	for key, line := range want {
		same(t, "line of "+key, got[key], line)
	}
}

func TestEveryKeyStandsInTheShippedFile(t *testing.T) {
	text := must(os.ReadFile(shipped))
	for key := range Default().values {
		last := key[strings.LastIndexByte(key, '.')+1:]
		if !strings.Contains(string(text), "\n"+last+" = ") && !strings.Contains(string(text), "[["+last+"]]") {
			t.Errorf("experiments.toml does not show %s", key)
		}
	}
}

// TestNoResultDependsOnWhereAFileIs has tasks of one's own.
func TestNoResultDependsOnWhereAFileIs(t *testing.T) {
	c := must(Parse([]byte("[[benchmark]]\nid = \"aime24\"\n[[benchmark]]\nid = \"mine\"\ntasks = \"mine.csv\"\n"), "x.toml", nil))
	if got := c.Slice("benchmark")["benchmark"]; got != `[{"ID":"aime24"},{"ID":"mine"}]` {
		t.Errorf("units read of benchmarks %s", got)
	}
}
