package main

import (
	"strings"
	"testing"
)

func repository() map[string][]byte {
	return map[string][]byte{
		"go.mod":            []byte("module mine\n\ngo 1.26\n"),
		"method/a/a.go":     []byte("package a\n\nimport (\n\t\"fmt\"\n\n\t\"mine/method/b\"\n)\n\nvar _ = map[string]string{\n\t\"mine/method/b\": b.X,\n\t\"c\":                 fmt.Sprint(\"import \\\"mine/pipeline\\\"\"),\n}\n"),
		"method/b/b.go":     []byte("package b\n\n// X is.\nconst X = \"bin/mine/method\"\n"),
		"pipeline/main.go":  []byte("package main\n"),
		"README.md":         []byte("`mine/method/a`, mine/other and mine/pipelines; bin/mine run\n"),
		"data/profiles.bin": []byte("mine/method/a"),
	}
}

func TestPathsOfPackagesAreRewritten(t *testing.T) {
	changed, err := Renamed(repository(), "example.org/you/tool")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"go.mod":        "module example.org/you/tool\n\ngo 1.26\n",
		"method/a/a.go": "package a\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/you/tool/method/b\"\n)\n\nvar _ = map[string]string{\n\t\"example.org/you/tool/method/b\": b.X,\n\t\"c\":                             fmt.Sprint(\"import \\\"example.org/you/tool/pipeline\\\"\"),\n}\n",
		"README.md":     "`example.org/you/tool/method/a`, mine/other and mine/pipelines; bin/mine run\n",
	} {
		if got := string(changed[name]); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	if len(changed) != 3 {
		t.Errorf("%d files are others", len(changed))
	}
	// And back again, under yet another name.
	files := repository()
	for name, content := range changed {
		files[name] = content
	}
	again, err := Renamed(files, "example.com/tool/v2")
	if err != nil || len(again) != 3 || !strings.Contains(string(again["README.md"]), "`example.com/tool/v2/method/a`") {
		t.Errorf("%q, %v", again, err)
	}
}

func TestPathsThatNobodyCanFetch(t *testing.T) {
	for _, to := range []string{"", "speceval", "example.org", "you/speceval", "example.org/", "example.org//x", "https://example.org/x", "example.org/x y"} {
		if _, err := Renamed(repository(), to); err == nil {
			t.Errorf("%q is taken", to)
		}
	}
	if _, err := Renamed(map[string][]byte{"go.mod": []byte("go 1.26\n")}, "example.org/x"); err == nil {
		t.Error("a go.mod without a module is taken")
	}
}
