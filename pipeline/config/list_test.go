package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// What takes the TOML library gigabytes and minutes is refused with its line, in
// little of either.
func TestHostileConfigurations(t *testing.T) {
	const n = 200_000
	table := strings.Repeat("[[benchmark]]\nid = \"b\"\n", 5_000)
	long := strings.Repeat("x", 500_000)
	cases := map[string]struct{ text, want string }{
		"a dotted key":            {"\n" + strings.Repeat("a.", n) + "a = 1", "f.toml:2: a key has more than 16 parts"},
		"of quoted parts":         {strings.Repeat(`"a".`, n) + "a = 1", "f.toml:1: a key has more"},
		"of literal parts":        {strings.Repeat(`'a' . `, n) + "a = 1", "f.toml:1: a key has more"},
		"a dotted header":         {"a = 1\n[" + strings.Repeat("a.", n) + "a]", "f.toml:2: a key has more"},
		"of a list of tables":     {"\n\n[[" + strings.Repeat("a.", n) + "a]]", "f.toml:3: a key has more"},
		"in an inline table":      {"a = {" + strings.Repeat("a.", n) + "a = 1}", "f.toml:1: a key has more"},
		"after a text":            {"a = [\"\"\"x\n\"\"\"\"\", {" + strings.Repeat("a.", n) + "a = 1}]", "f.toml:2: a key has more"},
		"after an escaped quote":  {`a = ["\"", "\\", {` + strings.Repeat("a.", n) + "a = 1}]", "f.toml:1: a key has more"},
		"after three escaped":     {`a = ["""\"""", {` + strings.Repeat("a.", n) + "a = 1}]", "f.toml:1: a key has more"},
		"lists":                   {"a = " + strings.Repeat("[", n), "f.toml:1: lists and tables are nested deeper than 16"},
		"lists, a line each":      {"a = " + strings.Repeat("[\n", n), "f.toml:17: lists and tables are nested"},
		"nothing but brackets":    {strings.Repeat("[", n), "f.toml:1: lists and tables are nested"},
		"tables":                  {"a = " + strings.Repeat("{a = ", n), "f.toml:1: lists and tables are nested"},
		"many keys":               {strings.Repeat("a=1\n", n), "f.toml:20001: there are more than 20000 keys"},
		"many headers":            {strings.Repeat("[[a]]\n", n/2), "there are more than 20000 keys"},
		"a long header":           {"[" + long + "]\na = 1", "f.toml:1: a key is longer than 1024 bytes"},
		"a long key":              {"\"" + long + "\" = 1", "f.toml:1: a key is longer"},
		"quotes":                  {strings.Repeat(`"`, n), "f.toml:1"},
		"apostrophes":             {strings.Repeat(`'`, n), "f.toml:1"},
		"a text that never ends":  {"a = \"\"\"" + strings.Repeat("\\\"\"\"", n), "not valid TOML"},
		"many tables of one key":  {table, "f.toml:"},
		"unknown keys":            {some(15_000, func(i int) string { return fmt.Sprintf("k%d = 1\n", i) }), "f.toml:1"},
		"unknown keys within one": {"[replay]\n" + some(15_000, func(i int) string { return fmt.Sprintf("k%d.a.b.c.d.e = 1\n", i) }), "replay.k0: unknown key"},
		"a long list":             {"[experiment]\nbudgets = [" + strings.Repeat("1,", 400_000) + "1]", "f.toml:2"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := Parse([]byte(test.text), "f.toml", nil)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.300v, want %q", err, test.want)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > 512<<20 || took > 5*time.Second {
				t.Errorf("it took %d MiB and %v", made>>20, took)
			}
		})
	}
}

func some(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}

func TestHostileOverrides(t *testing.T) {
	for set, want := range map[string]string{
		strings.Repeat("a.", 60_000) + "a=1":            "a key has more than 16 parts",
		"replay.draws=" + strings.Repeat("[", 60_000):   "nested deeper",
		"replay.draws={" + strings.Repeat("a.", 60_000): "a key has more",
	} {
		if _, err := Parse(nil, "f.toml", []string{set}); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("%.40s: %.200v, want %q", set, err, want)
		}
	}
}

// Honest texts of all forms stay within the bounds.
func TestHonestConfigurations(t *testing.T) {
	files, err := filepath.Glob("../../experiments*.toml")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = checkBounds(file, string(text))
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{
		"a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9]",
		"a = \"" + strings.Repeat(".", 5000) + "\" # " + strings.Repeat("[.", 100),
		"a = '''" + strings.Repeat("[.\n", 5000) + "'''\nb = 1",
		"a = \"\"\"" + strings.Repeat("[.\\\n", 5000) + "\"\"\"\"\nb = 1",
		strings.Repeat("[a]\n[[b]]\nc = [[1], [2]]\n", 1000),
		"a = [ # [ [\n [1], # ]\n [2]\n]\n[b]\n",
	} {
		if err := checkBounds("f", text); err != nil {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

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
	if len(got) != len(want) {
		t.Errorf("got %v", got)
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
	c, err := Parse([]byte("[replay]\ndraws = 16\n"), "x.toml", []string{"experiment.budgets=[4,8]"})
	if err != nil {
		t.Fatal(err)
	}
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
	c, err := Parse([]byte("[[benchmark]]\nid = \"aime24\"\n[[benchmark]]\nid = \"mine\"\ntasks = \"mine.csv\"\n"), "x.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
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
`
	c, err := Parse([]byte(file), "x.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		if strings.Contains(s.Value+s.Default, "hush") {
			t.Errorf("%s tells a secret: %s", s.Key, s.Value)
		}
	}
	if s := setting(t, c, "worker"); !strings.Contains(s.Value, "HF_TOKEN=…") || !strings.Contains(s.Value, "host:8000") {
		t.Errorf("worker is listed as %s", s.Value)
	}
	if c.Workers[1].Environment[0] != "HF_TOKEN=hush" {
		t.Error("the listing has changed the configuration")
	}
}
