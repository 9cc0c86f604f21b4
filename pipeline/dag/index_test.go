package dag

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tick waits until the clock of the file system has moved on.
func (l *lab) tick() {
	l.t.Helper()
	var first, now time.Time
	for now.Equal(first) {
		l.put("tick", "")
		info, err := os.Stat(l.file("tick"))
		if err != nil {
			l.t.Fatal(err)
		}
		if now = info.ModTime(); first.IsZero() {
			first = now
		}
	}
	l.remove("tick")
}

// indexed is a plan of everything made with the index, and whether files were read for it.
func (l *lab) indexed() (p *Plan, read bool) {
	l.t.Helper()
	g := l.graph()
	x := openIndex(g, l.dir, 0)
	wantIndex(l.t, x)
	return l.planOf(g, x), x.Reads() > 0
}

// wantIndex skips a test where temporary files keep no index; never in CI.
func wantIndex(t testing.TB, x *index) {
	t.Helper()
	switch {
	case x != nil:
	case os.Getenv("SPECEVAL_CI") == "1":
		t.Fatal("the file system of temporary files keeps no index")
	default:
		t.Skip("the file system of temporary files keeps no index")
	}
}

func (l *lab) planOf(g *Graph, x *index) *Plan {
	l.t.Helper()
	s, err := g.scan(context.Background(), l.dir, x)
	if err != nil {
		l.t.Fatal(err)
	}
	p, err := s.Plan(Selection{})
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

// wantSameAsRead compares what is known with the index with what is on disk.
func (l *lab) wantSameAsRead(what string) {
	l.t.Helper()
	with, _ := l.indexed()
	without := l.planOf(l.graph(), nil)
	for i, r := range without.snapshot.records {
		if got := with.snapshot.records[i]; !reflect.DeepEqual(got.manifest, r.manifest) || !slices.Equal(got.have, r.have) {
			l.t.Fatalf("%s: %s is %+v, %v with the index; %+v, %v without", what, with.snapshot.graph.ref(i), got.manifest, got.have, r.manifest, r.have)
		}
	}
	for i, stage := range without.Stages {
		if got := with.Stages[i]; !reflect.DeepEqual(got.Run, stage.Run) || got.Fresh != stage.Fresh {
			l.t.Fatalf("%s: %+v with the index, %+v without", what, got, stage)
		}
	}
}

// tamper does to the files of a unit what people and programs do.
func (l *lab) tamper(r *rand.Rand) string {
	s := &l.stages[r.IntN(len(l.stages))]
	u := &s.Units[r.IntN(len(s.Units))]
	file := u.Outputs[0]
	if r.IntN(2) == 0 {
		file = manifestPath(Ref{s.Name, u.ID})
	}
	info, err := os.Stat(l.file(file))
	if err != nil {
		return "nothing"
	}
	data := []byte(l.get(file))
	what := r.IntN(6)
	switch what {
	case 0: // another byte in place, all times that can be set as before
		data[r.IntN(len(data))] ^= 1 + byte(r.IntN(7))
		l.put(file, string(data))
	case 1: // the same in a new file
		data[r.IntN(len(data))] ^= 1 + byte(r.IntN(7))
		l.put("new", string(data))
		os.Chtimes(l.file("new"), info.ModTime(), info.ModTime())
		os.Rename(l.file("new"), l.file(file))
	case 2:
		l.remove(file)
		return file + " removed"
	case 3: // the file of another unit
		other := l.stages[0].Units[0].Outputs[0]
		if strings.HasSuffix(file, manifestExt) {
			other = manifestPath(Ref{l.stages[0].Name, l.stages[0].Units[0].ID})
		}
		os.Rename(l.file(other), l.file(file))
		return other + " moved to " + file
	case 4: // nothing but the times
		os.Chtimes(l.file(file), time.Unix(1, 0), time.Unix(1, 0))
		return file + " aged"
	case 5:
		os.Truncate(l.file(file), int64(r.IntN(len(data))))
	}
	os.Chtimes(l.file(file), info.ModTime(), info.ModTime())
	return fmt.Sprintf("%s changed in way %d", file, what)
}

// TestPlansAreTheSameWithAnIndex tampers with random experiments, with and
// without time for the clock to move in between, and runs some of them again:
// what is known with the index is always what is on disk.
func TestPlansAreTheSameWithAnIndex(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := randomLab(t, r)
		l.run(Selection{})
		for step := range 12 {
			if r.IntN(2) == 0 {
				l.tick()
			}
			l.wantSameAsRead(fmt.Sprintf("seed %d step %d", seed, step))
			what := l.tamper(r)
			if r.IntN(3) == 0 {
				what += ", " + l.disturb(r)
			}
			l.wantSameAsRead(fmt.Sprintf("seed %d step %d, %s", seed, step, what))
			if r.IntN(4) == 0 {
				l.run(Selection{})
			}
		}
	}
}

func TestNothingIsReadTwice(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	l.tick()
	l.indexed()
	l.unit("replay/x").Config["replay.draws"] = "1024"
	l.stages[0].Units = slices.Insert(l.stages[0].Units, 0, u("first", "score/first.txt"))
	if p, read := l.indexed(); read || p.Units() != 4 {
		t.Errorf("of another experiment %d units are to run, files read: %t; want 4, none", p.Units(), read)
	}
}

// TestNewFilesAreNotTrusted holds Scan to the time that a file must rest.
func TestNewFilesAreNotTrusted(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	l.tick()
	g := l.graph()
	if _, err := g.Scan(t.Context(), l.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.file("manifests/.index")); err == nil {
		t.Error("files that are not two seconds old are in the index")
	}
	if left, _ := filepath.Glob(l.file("manifests/.index*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestPlanOfNoFolderMakesNone(t *testing.T) {
	l := crossing(t)
	l.dir = filepath.Join(l.dir, "nowhere")
	if p := l.plan(Selection{}); p.Units() != 6 {
		t.Errorf("%d units to run in a folder that is not there", p.Units())
	}
	if _, err := os.Stat(l.dir); err == nil {
		t.Error("a plan made the folder")
	}
}

// TestScansAtTheSameTime has several scans write the index of a folder that
// changes between them.
func TestScansAtTheSameTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	l := crossing(t)
	l.run(Selection{})
	for range 20 {
		l.tick()
		g := l.graph()
		want := planned(l.planOf(g, nil))
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				s, err := g.scan(t.Context(), l.dir, openIndex(g, l.dir, 0))
				if err != nil {
					t.Error(err)
					return
				}
				if p, err := s.Plan(Selection{}); err != nil || !reflect.DeepEqual(planned(p), want) {
					t.Errorf("planned %v, %v; want %v", planned(p), err, want)
				}
			})
		}
		wg.Wait()
		l.tamper(r)
		l.run(Selection{})
	}
	if left, _ := filepath.Glob(l.file("manifests/.index.*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
