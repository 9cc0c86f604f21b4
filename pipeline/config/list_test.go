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

func setting(t *testing.T, c *Config, key string) Setting {
	t.Helper()
	all := c.Settings()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		t.Fatalf("%s is not listed", key)
	}
	return all[i]
}

func TestSettingsAreListedWithWhatDiffers(t *testing.T) {
	for _, s := range Default().Settings() {
		if s.Default != "" || s.Value == "" {
			t.Errorf("the default %+v differs from itself, or is not there", s)
		}
	}
	c := must(Parse([]byte("[replay]\ndraws = 16\n"), "x.toml", []string{"experiment.budgets=[4,8]"}))
	if s := setting(t, c, "replay.draws"); s.Value != "16" || s.Default != "8192" {
		t.Errorf("%+v", s)
	}
	if s := setting(t, c, "experiment.budgets"); s.Value != "[4, 8]" || s.Default != "[8, 16, 32, 64]" {
		t.Errorf("%+v", s)
	}
	keys := []string{}
	for _, s := range c.Settings() {
		keys = append(keys, s.Key)
	}
	if !slices.IsSorted(keys) || len(keys) < 40 {
		t.Errorf("%d keys: %q", len(keys), keys)
	}
}

func TestListsOfTablesReadAsInTheFile(t *testing.T) {
	s := setting(t, Default(), "model")
	first, rest, _ := strings.Cut(s.Value, "\n")
	if first != `id = "qwen2_5_3b", title = "Qwen2.5-3B", max_sequences = 256, path = "Qwen/Qwen2.5-3B-Instruct", served = "qwen2_5_3b"` || strings.Count(rest, "\n") != 4 {
		t.Errorf("model is listed as\n%s", s.Value)
	}
	if s := setting(t, Default(), "benchmark"); !strings.HasPrefix(s.Value, `"aime24", "aime25", `) {
		t.Errorf("benchmark is listed as %s", s.Value)
	}
	c := must(Parse([]byte("[[benchmark]]\nid = \"aime24\"\n[[benchmark]]\nid = \"mine\"\ntasks = \"mine.csv\"\n"), "x.toml", nil))
	if s := setting(t, c, "benchmark"); s.Value != "id = \"aime24\"\nid = \"mine\", tasks = \"mine.csv\"" {
		t.Errorf("benchmark is listed as %s", s.Value)
	}
	// No result depends on where a file is.
	if got := c.Slice("benchmark")["benchmark"]; got != `[{"ID":"aime24"},{"ID":"mine"}]` {
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
	if s := setting(t, c, "worker"); !strings.Contains(s.Value, "HF_TOKEN=…") || !strings.Contains(s.Value, "host:8000") {
		t.Errorf("worker is listed as %s", s.Value)
	}
	if s := setting(t, c, "executor.status"); s.Value != `"list …"` {
		t.Errorf("executor.status is listed as %s", s.Value)
	}
	if c.Workers[1].Environment[0] != "HF_TOKEN=hush" {
		t.Error("the listing has changed the configuration")
	}
}
