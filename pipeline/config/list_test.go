package config

import (
	"slices"
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
		if got[key] != line {
			t.Errorf("%s: line %d, want %d", key, got[key], line)
		}
	}
}

func setting(c *Config, key string) Setting {
	all := c.Settings()
	return all[slices.IndexFunc(all, func(s Setting) bool { return s.Key == key })]
}

func TestSettingsAreListedAsInTheFileWithWhatDiffers(t *testing.T) {
	keys := []string{}
	for _, s := range Default().Settings() {
		if keys = append(keys, s.Key); s.Default != "" || s.Value == "" {
			t.Errorf("the default %+v differs from itself, or is not there", s)
		}
	}
	if !slices.IsSorted(keys) || len(keys) < 40 {
		t.Errorf("%d keys: %q", len(keys), keys)
	}
	file := "[replay]\ndraws = 16\n[[benchmark]]\nid = \"aime24\"\n[[benchmark]]\nid = \"mine\"\ntasks = \"mine.csv\"\n"
	c := must(Parse([]byte(file), "x.toml", []string{"experiment.budgets=[4,8]"}))
	for _, want := range []Setting{
		{Key: "replay.draws", Value: "16", Default: "8192"}, {Key: "experiment.budgets", Value: "[4, 8]", Default: "[8, 16, 32, 64]"},
		{Key: "benchmark", Value: "id = \"aime24\"\nid = \"mine\", tasks = \"mine.csv\"", Default: setting(Default(), "benchmark").Value},
	} {
		if got := setting(c, want.Key); got != want {
			t.Errorf("listed is %+v, want %+v", got, want)
		}
	}
	first, rest, _ := strings.Cut(setting(c, "model").Value, "\n")
	if first != `id = "qwen2_5_3b", title = "Qwen2.5-3B", max_sequences = 256, path = "Qwen/Qwen2.5-3B-Instruct", served = "qwen2_5_3b"` || strings.Count(rest, "\n") != 4 {
		t.Errorf("model is listed as\n%s\n%s", first, rest)
	}
	if s := setting(Default(), "benchmark"); !strings.HasPrefix(s.Value, `"aime24", "aime25", `) {
		t.Errorf("benchmark is listed as %s", s.Value)
	}
	if got := c.Slice("benchmark")["benchmark"]; got != `[{"ID":"aime24"},{"ID":"mine"}]` { // no result depends on where a file is
		t.Errorf("units read of benchmarks %s", got)
	}
}

// TestSettingsTellNoSecrets: the list is shown to others.
func TestSettingsTellNoSecrets(t *testing.T) {
	file := `[[worker]]
name = "a"
urls = ["http://host:8000"]
[[worker]]
name = "b"
launch = "vllm serve {model} --api-key hush"
arguments = ["--api-key=hush"]
environment = ["HF_TOKEN=hush", "CUDA_HOME=/opt"]
[executor]
kind = "command"
submit = "TOKEN=hush submit {command}"
status = "list --token hush"
cancel = "end {jobs} --token hush"
`
	c := must(Parse([]byte(file), "x.toml", nil))
	for _, s := range c.Settings() {
		if strings.Contains(s.Value+s.Default, "hush") {
			t.Errorf("%s tells a secret: %s", s.Key, s.Value)
		}
	}
	if s := setting(c, "worker"); !strings.Contains(s.Value, "HF_TOKEN=…") || !strings.Contains(s.Value, "host:8000") {
		t.Errorf("worker is listed as %s", s.Value)
	}
	if s := setting(c, "executor.status"); s.Value != `"list …"` {
		t.Errorf("executor.status is listed as %s", s.Value)
	}
	if c.Workers[1].Environment[0] != "HF_TOKEN=hush" {
		t.Error("the listing has changed the configuration")
	}
}
