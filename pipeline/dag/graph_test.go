package dag

import (
	"context"
	"slices"
	"strings"
	"testing"
)

func nothing(context.Context, *Job) error { return nil }

func u(id, output string, needs ...Ref) Unit {
	return Unit{ID: id, Outputs: []string{output}, Needs: needs, Run: nothing}
}

func TestNewNamesEveryFault(t *testing.T) {
	one := func(units ...Unit) []Stage { return []Stage{{Name: "s", Units: units}} }
	tests := []struct {
		name   string
		stages []Stage
		want   string
	}{
		{"stage name", []Stage{{Name: "Two words"}}, `stage name "Two words" is not one lower-case word`},
		{"stage twice", []Stage{{Name: "s"}, {Name: "s"}}, "two stages are named s"},
		{"satisfied with units", []Stage{{Name: "s", Satisfied: "data", Units: []Unit{u("a", "a")}}}, "satisfied by data, and yet has 1 units"},
		{"unit twice", one(u("a", "x"), u("a", "y")), "two units are named s/a"},
		{"unit escapes", one(u("../a", "x")), "its name is not a plain relative path"},
		{"empty unit", one(u("", "x")), "its name is empty"},
		{"long unit", one(u(strings.Repeat("a", 201), "x")), "more than 200 bytes"},
		{"nothing to run", one(Unit{ID: "a", Outputs: []string{"x"}}), "unit s/a has nothing to run"},
		{"no output", one(Unit{ID: "a", Run: nothing}), "unit s/a has no output"},
		{"output twice", one(u("a", "x"), u("b", "x")), "x is an output of both s/a and s/b"},
		{"output escapes", one(u("a", "/x")), "is not a plain relative path"},
		{"output unclean", one(u("a", "x//y")), "is not a plain relative path"},
		{"output among manifests", one(u("a", "manifests/x")), "where the runner keeps its own files"},
		{"output is the lock", one(u("a", ".lock")), "where the runner keeps its own files"},
		{"output like a leftover", one(u("a", "x.partial")), "uses for leftovers"},
		{"file and folder", one(u("a", "x"), u("b", "x/y")), "x of s/a would have to be a folder for x/y of s/b"},
		{"manifest and folder", one(u("a.json/b", "x"), u("a", "y")), "manifests/s/a.json of s/a would have to be a folder for manifests/s/a.json/b.json of s/a.json/b"},
		{"file and folder of folders", one(u("a", "x/y/z/1"), u("b", "x/y/z/2"), u("c", "x")), "x of s/c would have to be a folder for x/y/z/1 of s/a"},
		{"unknown need", one(u("a", "x", Ref{"s", "b"})), "needs s/b, which does not exist"},
		{"need of a later stage", []Stage{{Name: "s", Units: []Unit{u("a", "x", Ref{"t", "b"})}}, {Name: "t", Units: []Unit{u("b", "y")}}}, "needs t/b of a later stage"},
		{"need of itself", one(u("a", "x", Ref{"s", "a"})), "in a circle: s/a needs s/a"},
		{"circle", one(u("a", "x", Ref{"s", "b"}), u("b", "y", Ref{"s", "c"}), u("c", "z", Ref{"s", "a"})), "in a circle: s/a needs s/b needs s/c needs s/a"},
		{"source without hash", one(Unit{ID: "a", Outputs: []string{"x"}, Run: nothing, Sources: []Source{{Name: "f"}}}), "source f has no hash"},
		{"source with two contents", one(Unit{ID: "a", Outputs: []string{"x"}, Run: nothing, Sources: []Source{{"f", "1"}, {"f", "2"}}}), "source f has two contents"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := New(test.stages); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestNewNamesSeveralFaultsAtOnce(t *testing.T) {
	_, err := New([]Stage{{Name: "s", Units: []Unit{u("a", "x"), u("b", "x"), {ID: "c", Outputs: []string{"y"}}}}})
	for _, want := range []string{"x is an output of both", "s/c has nothing to run"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %q", err, want)
		}
	}
}

func TestNeedsComeFirstWhateverTheOrderOfDeclaration(t *testing.T) {
	g, err := New([]Stage{{Name: "s", Units: []Unit{
		u("last", "1", Ref{"s", "mid"}, Ref{"s", "first"}),
		u("mid", "2", Ref{"s", "first"}),
		u("first", "3"),
		u("free", "4"),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range g.nodes {
		got = append(got, g.nodes[i].unit.ID)
	}
	if want := []string{"first", "mid", "last", "free"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func FuzzPlainPathsHaveNoFault(f *testing.F) {
	for _, name := range []string{"a/b.txt", "", "/a", "a/", "a//b", "a/../b", ".", "a\\b", "a\x7f", "é", "a/.b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if fault := oddPathFault(name); plainPath(name) && fault != "" {
			t.Errorf("%q counts as plain, yet it %s", name, fault)
		}
	})
}
