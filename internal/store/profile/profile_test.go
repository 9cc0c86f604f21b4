package profile_test

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/store/profile"
)

const header = "benchmark,model,task_index,task_id,pass_count,tested_k\n"

// good holds two profiles, rows and profiles out of order, with K = 100 and 7.
const good = header + `b2,m1,1,y,7,7
b1,m2,0,t0,0,100
b1,m2,2,"t,2",100,100
b1,m2,1,t1,37,100
b2,m1,0,x,3,7
`

func TestRowsInAnyOrderAreSorted(t *testing.T) {
	want := []profile.Profile{
		{Benchmark: "b1", Model: "m2", TaskIDs: []string{"t0", "t1", "t,2"}, PassCounts: []int{0, 37, 100}, TestedK: 100},
		{Benchmark: "b2", Model: "m1", TaskIDs: []string{"x", "y"}, PassCounts: []int{3, 7}, TestedK: 7},
	}
	forms := map[string]string{
		"plain":          good,
		"byte order":     "\ufeff" + good,
		"CRLF":           strings.ReplaceAll(good, "\n", "\r\n"),
		"further column": "note," + strings.ReplaceAll(strings.TrimSpace(good), "\nb", "\nn,b") + "\n",
	}
	for form, text := range forms {
		got, err := profile.Parse([]byte(text), "p.csv")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v", form, got, err)
		}
	}
}

const wideHeader = "benchmark,model,task_index,task_id,pass_count,tested_k,rewards,squares,prompt_tokens,completion_tokens,source,allocated\n"

// TestProfilesOfOtherRollouts reads what CSV and Parquet files say besides the published form.
func TestProfilesOfOtherRollouts(t *testing.T) {
	const text = "scorer," + wideHeader + "v1,b,m,0,x,1,4,2,1.5,40,,logs,true\nv1,b,m,1,y,2,2,,,20,9,logs,true\n"
	all, err := profile.ParseAny([]byte(text), "p.csv")
	want := []profile.Profile{{
		Benchmark: "b", Model: "m", TaskIDs: []string{"x", "y"}, PassCounts: []int{1, 2}, Tested: []int{4, 2},
		Rewards: []float64{2, 2}, Squares: []float64{1.5, 2}, PromptTokens: []int64{40, 20}, CompletionTokens: []int64{-1, 9},
		Scorer: "v1", Source: "logs", Allocated: true,
	}}
	if err != nil || !reflect.DeepEqual(all, want) {
		t.Fatalf("got %+v, %v", all, err)
	}
	p := all[0]
	if p.Rollouts(0) != 4 || p.P(0) != 0.5 || p.P(1) != 1 || p.Mean() != 0.75 || p.Variance(0) != 0.125 || p.VarianceSum() != 0.125 {
		t.Errorf("rollouts %d, p %v %v, mean %v, variances %v", p.Rollouts(0), p.P(0), p.P(1), p.Mean(), p.VarianceSum())
	}
	var csv, file bytes.Buffer
	if err := profile.WriteCSV(&csv, all); err != nil {
		t.Fatal(err)
	}
	if err := profile.Write(&file, all, nil); err != nil {
		t.Fatal(err)
	}
	for form, data := range map[string][]byte{"CSV": csv.Bytes(), "Parquet": file.Bytes()} {
		if again, err := profile.ParseAny(data, form); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%s: got %+v, %v", form, again, err)
		}
	}
}

// Rollouts that differ in number are no reason to refuse passes and failures.
func TestRolloutsMayDifferInNumber(t *testing.T) {
	all, err := profile.Parse([]byte(header+"b,m,0,x,1,9\nb,m,1,y,1,8\n"), "p.csv")
	if err != nil || all[0].TestedK != 0 || !reflect.DeepEqual(all[0].Tested, []int{9, 8}) {
		t.Fatalf("got %+v, %v", all, err)
	}
	if p := all[0]; p.P(1) != 0.125 || math.Abs(p.Mean()-(1.0/9+0.125)/2) > 1e-15 {
		t.Errorf("p = %v, mean %v", p.P(1), p.Mean())
	}
}

// What sums leave by rounding is no variance: three rewards of 0.1 are all alike.
func TestEqualRewardsAreDegenerate(t *testing.T) {
	for reward := 1; reward < 100; reward++ {
		sum, squares, x := 0.0, 0.0, float64(reward)/100
		for k := 1; k < 60; k++ {
			sum, squares = sum+x, squares+x*x
			p := profile.Profile{TestedK: k, PassCounts: []int{0, 0}, Rewards: []float64{sum, 0}, Squares: []float64{squares, 0}}
			if p.VarianceSum() != 0 {
				t.Fatalf("%d rewards of %v: variance %v", k, x, p.VarianceSum())
			}
		}
	}
}

// TestFilesOfOtherWriters reads what testdata/by_others.py has made of profiles.csv: counts
// as floats and in 32 bits, LZ4_RAW, delta encodings, split bytes, a column of nulls alone.
func TestFilesOfOtherWriters(t *testing.T) {
	want, err := profile.Read("testdata/profiles.csv")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(files) < 7 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		got, err := profile.Read(file)
		if strings.Contains(file, "wrong") {
			wantText(t, file, err, "column pass_count, row 1: 8.5 is no whole number of 32 bits")
		} else if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", file, got, err)
		}
	}
}

func TestFaultsAreToldWithFileAndRow(t *testing.T) {
	rows := func(lines ...string) string { return header + strings.Join(lines, "\n") + "\n" }
	wide := func(lines ...string) string { return wideHeader + strings.Join(lines, "\n") + "\n" }
	cases := []struct{ name, text, want string }{
		{"empty", "", "p.csv: the file is empty"},
		{"header only", header, "p.csv: there are no rows"},
		{"missing column", "benchmark,model,task_index,task_id,tested_k\n", "p.csv: column pass_count is missing"},
		{"doubled column", strings.Replace(header, "model", "benchmark", 1), "p.csv: column benchmark is there twice"},
		{"over", rows("b,m,0,x,1,9", "b,m,1,y,10,9"), "p.csv: row 2: pass_count 10 is outside 0 to tested_k = 9"},
		{"negative", rows("b,m,0,x,-1,9", "b,m,1,y,1,9"), "p.csv: row 1: pass_count -1 is outside"},
		{"tested_k", rows("b,m,0,x,0,0", "b,m,1,y,0,0"), "p.csv: row 1: tested_k 0 is not positive"},
		{"negative index", rows("b,m,-1,x,1,9", "b,m,1,y,1,9"), "row 1: task_index -1 is negative"},
		{"index twice", rows("b,m,0,x,1,9", "b,m,1,y,1,9", "b,m,1,z,1,9"), "row 3: b__model=m has task_index 1 already in row 2"},
		{"id twice", rows("b,m,0,x,1,9", "b,m,1,x,1,9"), `row 2: b__model=m has task_id "x" already in row 1`},
		{"gap", rows("b,m,0,x,1,9", "b,m,2,y,1,9"), "p.csv: b__model=m has no task_index 1 (row 2 has 2)"},
		{"starts at one", rows("b,m,1,x,1,9", "b,m,2,y,1,9"), "has no task_index 0"},
		{"rewards alone", wide("b,m,0,x,1,9,2,,,,,", "b,m,1,y,1,8,,,,,,"), "row 1: rewards and squares are there together"},
		{"rewards above", wide("b,m,0,x,1,9,9.5,9,,,,", "b,m,1,y,1,8,,,,,,"), "row 1: rewards 9.5 is outside pass_count 1 to tested_k 9"},
		{"rewards below", wide("b,m,0,x,3,9,2,2,,,,", "b,m,1,y,1,8,,,,,,"), "row 1: rewards 2 is outside pass_count 3"},
		{"rewards no number", wide("b,m,0,x,1,9,NaN,2,,,,", "b,m,1,y,1,8,,,,,,"), "row 1: rewards NaN is outside"},
		{"squares above", wide("b,m,0,x,1,9,3,3.5,,,,", "b,m,1,y,1,8,,,,,,"), "row 1: squares 3.5 is outside 1.5 to 3"},
		{"squares below", wide("b,m,0,x,1,9,3,1.4,,,,", "b,m,1,y,1,8,,,,,,"), "row 1: squares 1.4 is outside 1.5 to 3"},
		{"tokens", wide("b,m,0,x,1,9,,,-5,,,", "b,m,1,y,1,8,,,,,,"), "row 1: prompt_tokens -5 is negative"},
		{"sources", wide("b,m,0,x,1,9,,,,,a,", "b,m,1,y,1,8,,,,,b,"), `row 2: b__model=m has source "b" here but "a" in row 1`},
		{"partly allocated", wide("b,m,0,x,1,9,,,,,,true", "b,m,1,y,1,8,,,,,,"), "row 2: b__model=m has allocated false here but true in row 1"},
		{"no truth", wide("b,m,0,x,1,9,,,,,,perhaps", "b,m,1,y,1,8,,,,,,"), `row 1: allocated "perhaps" is not true or false`},
		{"an allocation", wide("b,m,0,x,1,9,,,,,,true", "b,m,1,y,1,8,,,,,,true"), "profile b__model=m is of an allocation"},
		{"graded", wide("b,m,0,x,1,9,3,2,,,,", "b,m,1,y,1,8,,,,,,"), "profile b__model=m has rewards between 0 and 1"},
		{"one task", rows("b,m,0,x,1,9"), "p.csv: b__model=m has 1 task, allocation needs at least 2"},
		{"fraction", rows("b,m,0,x,1.5,9", "b,m,1,y,1.0,9"), `row 1: pass_count "1.5" is not an integer`},
		{"huge", rows("b,m,0,x,1,99999999999", "b,m,1,y,1,9"), `row 1: tested_k "99999999999" is out of range`},
		{"blank", rows("b,m,0,x,,9", "b,m,1,y,1,9"), `row 1: pass_count "" is not an integer`},
		{"UTF-8", rows("b,m,0,x,1,9", "b,m,1,\xff,1,9"), `row 2: task_id "\xff" is not valid UTF-8`},
		{"no id", rows("b,m,0,,1,9", "b,m,1,y,1,9"), "row 1: task_id is empty"},
		{"slash", rows("b,org/m,0,x,1,9", "b,org/m,1,y,1,9"), `row 1: model "org/m" is not a name`},
		{"climbing", rows("..,m,0,x,1,9", "..,m,1,y,1,9"), `row 1: benchmark ".." is not a name`},
		{"short row", rows("b,m,0,x,1,9", "b,m,1,y,1"), "row 2: 5 fields, the header has 6"},
		{"cut in quotes", header + "b,m,0,\"x", "p.csv: row 1: "},
		{"scorers", strings.Replace(header, "\n", ",scorer\n", 1) + "b,m,0,x,1,9,v1\nb,m,1,y,1,9,v2\n", `row 2: b__model=m has scorer "v2" here but "v1" in row 1`},
		{"not Parquet inside", "PAR1 and then nothing", "p.csv: truncated Parquet"},
	}
	for _, c := range cases {
		_, err := profile.Parse([]byte(c.text), "p.csv")
		wantText(t, c.name, err, c.want)
	}
}

func TestSeveralFaultsAreToldAtOnce(t *testing.T) {
	text := header
	for i := range 25 {
		text += fmt.Sprintf("b,m,%d,t%d,9,8\n", i, i)
	}
	_, err := profile.Parse([]byte(text), "p.csv")
	wantText(t, "25 faults", err, "row 1: ", "row 10: ", "p.csv: and 15 more faults")
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 11 {
		t.Errorf("%d lines, want 11", lines)
	}
}

func TestEvaluatedSetsDegenerateProfilesAside(t *testing.T) {
	mixed := profile.Profile{Benchmark: "b", Model: "mixed", TaskIDs: []string{"x", "y"}, PassCounts: []int{0, 3}, TestedK: 4}
	sure := profile.Profile{Benchmark: "b", Model: "sure", TaskIDs: []string{"x", "y"}, PassCounts: []int{0, 4}, TestedK: 4}
	kept, degenerate, err := profile.Evaluated([]profile.Profile{sure, mixed})
	if err != nil || len(kept) != 1 || kept[0].Model != "mixed" || len(degenerate) != 1 || degenerate[0].Model != "sure" {
		t.Errorf("kept %v, degenerate %v, %v", kept, degenerate, err)
	}
	if v := mixed.VarianceSum(); v != 0.75*0.25 {
		t.Errorf("variance sum %v", v)
	}
	_, _, err = profile.Evaluated([]profile.Profile{sure})
	wantText(t, "all degenerate", err, "none of the 1 profiles can be evaluated")
	_, _, err = profile.Evaluated(nil)
	wantText(t, "none", err, "none of the 0 profiles")
}

func TestDigestFollowsEveryPartOfTheContent(t *testing.T) {
	base := profile.Profile{Benchmark: "b", Model: "m", TaskIDs: []string{"x", "y"}, PassCounts: []int{1, 3}, TestedK: 4}
	changes := map[string]func(*profile.Profile){
		"benchmark": func(p *profile.Profile) { p.Benchmark = "c" },
		"model":     func(p *profile.Profile) { p.Model = "n" },
		"task id":   func(p *profile.Profile) { p.TaskIDs = []string{"x", "z"} },
		"order":     func(p *profile.Profile) { p.TaskIDs = []string{"y", "x"} },
		"count":     func(p *profile.Profile) { p.PassCounts = []int{1, 2} },
		"K":         func(p *profile.Profile) { p.TestedK = 5 },
		"unequal K": func(p *profile.Profile) { p.TestedK, p.Tested = 0, []int{4, 5} },
		"rewards":   func(p *profile.Profile) { p.Rewards, p.Squares = []float64{1.5, 3}, []float64{1.25, 3} },
		"allocated": func(p *profile.Profile) { p.Allocated = true },
	}
	seen := map[string]string{base.SHA256(): "base"}
	for part, change := range changes {
		p := base
		change(&p)
		if other, ok := seen[p.SHA256()]; ok {
			t.Errorf("%s: digest of %s", part, other)
		}
		seen[p.SHA256()] = part
	}
	// The digest of the published form stays, and does not depend on source and tokens.
	base.Source, base.PromptTokens = "elsewhere", []int64{1, 2}
	if got := base.SHA256(); got != "1e4edfdf8057ccf723239da4d18901fc135cf5fab42f91c221beb5c8367c61ab" {
		t.Errorf("digest %s", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(header + "b,m,0,x,1,9\nb,m,1,y,10,9\n"))
	f.Add([]byte(wideHeader + "b,m,0,x,1,4,2,1.5,40,,logs,true\nb,m,1,y,2,2,,,20,9,logs,true\n"))
	f.Add([]byte("benchmark,model,scorer,task_index,task_id,pass_count,tested_k\nb,m,s,0,\"x\ny\",1,2\nb,m,s,1,z,2,2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		profiles, err := profile.ParseAny(data, "fuzz.csv")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz.csv: ") {
				t.Errorf("error %q does not name the file", err)
			}
			return
		}
		var b bytes.Buffer
		if err := profile.Write(&b, profiles, nil); err != nil {
			t.Fatal(err)
		}
		again, err := profile.ParseAny(b.Bytes(), "again.parquet")
		if err != nil || !reflect.DeepEqual(again, profiles) {
			t.Errorf("profiles changed on the way through Parquet: %v, %v, %v", profiles, again, err)
		}
		for _, p := range profiles {
			for i, n := range p.PassCounts {
				if q := p.P(i); n < 0 || n > p.Rollouts(i) || q < -1e-9 || q > 1+1e-9 || p.Variance(i) < 0 || p.N() < 2 {
					t.Errorf("unsound profile %v", p)
				}
			}
		}
	})
}

func wantText(t *testing.T, name string, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %q, want one with %q", name, fmt.Sprint(err), text)
		}
	}
}
