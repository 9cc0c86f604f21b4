package lab_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"speceval/drills/lab"
)

func TestRunSaysHowItWent(t *testing.T) {
	for _, test := range []struct {
		limit time.Duration
		do    func(context.Context) error
		code  int
		want  string
	}{
		{time.Minute, func(context.Context) error { return nil }, 0, `^it took 0s\ndrill-x: passed\n$`},
		{time.Minute, func(context.Context) error { return errors.New("3 are lost") }, 1, `^3 are lost\ndrill-x: failed\n$`},
		{time.Nanosecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 1, `^not done after 1ns\n.*\ndrill-x: failed\n$`},
	} {
		var said strings.Builder
		if code := lab.Run("drill-x", test.limit, &said, test.do); code != test.code || !regexp.MustCompile(test.want).MatchString(said.String()) {
			t.Errorf("exit code %d, %q, want %d, %s", code, said.String(), test.code, test.want)
		}
	}
}

func TestFoldersAreKeptAfterAFailureOrWhenNamed(t *testing.T) {
	named := filepath.Join(t.TempDir(), "named")
	broken := errors.New("broken")
	for _, test := range []struct {
		dir  string
		err  error
		kept bool
	}{{"", nil, false}, {"", broken, true}, {named, nil, true}} {
		var said strings.Builder
		at := ""
		err := lab.InFolder(test.dir, &said, func(dir string) error {
			at = dir
			return errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o666), test.err)
		})
		_, gone := os.Stat(filepath.Join(at, "file"))
		if !errors.Is(err, test.err) || (gone == nil) != test.kept || strings.Contains(said.String(), at) != (test.err != nil) {
			t.Errorf("%+v: %v; %v; said %q", test, err, gone, said.String())
		}
		os.RemoveAll(at)
	}
	if err := os.Mkdir(named, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := lab.InFolder(named, os.Stdout, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a folder that is there: %v", err)
	}
}

func TestExperimentsWithoutServersOfTheirOwn(t *testing.T) {
	if e, err := lab.LoadExperiment("../../experiments-live.toml"); err != nil || e.Workers[0].Launch == "" {
		t.Errorf("the shipped one: %v", err)
	}
	urls := filepath.Join(t.TempDir(), "urls.toml")
	if err := os.WriteFile(urls, []byte("[[model]]\nid = \"m\"\n[[worker]]\nname = \"w\"\nurls = [\"http://a:1\"]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../../experiments.toml", urls} {
		if _, err := lab.LoadExperiment(path); err == nil || !strings.HasPrefix(err.Error(), path+": a drill needs") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
