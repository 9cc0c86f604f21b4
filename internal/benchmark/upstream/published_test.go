package upstream

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/scoring/family"
	"speceval/internal/store/profile"
)

// published are the ids of every benchmark of the paper, in order.
func published(t *testing.T) map[string][]string {
	t.Helper()
	profiles, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string][]string{}
	for _, p := range profiles {
		ids[p.Benchmark] = p.TaskIDs
	}
	return ids
}

// TestGroupsAreThePapers has the eighteen benchmarks, each with published tasks.
func TestGroupsAreThePapers(t *testing.T) {
	all, ids := Groups(), published(t)
	if len(all) != 18 || len(ids) != 18 {
		t.Fatalf("%d groups and %d published benchmarks", len(all), len(ids))
	}
	for _, g := range all {
		if _, err := family.Named(g.Scorer()); err != nil || len(ids[g.ID]) == 0 || g.Title == "" {
			t.Errorf("%s: scorer %v, %d published tasks, title %q", g.ID, err, len(ids[g.ID]), g.Title)
		}
	}
}

// whole reports whether a group to rank has at most a hundred rows, as published.
func whole(g Group) bool {
	return strings.HasPrefix(g.ID, "gpqa") || g.ID == "mmlu_science__subject_college_chemistry"
}

// TestPublishedOrderIsTheRank has every ranked group of which there were more than a
// hundred rows.
func TestPublishedOrderIsTheRank(t *testing.T) {
	ids, n := published(t), 0
	for _, g := range Groups() {
		if g.Selection != Rank || whole(g) {
			continue
		}
		n++
		rows := make([]row, 0, len(ids[g.ID])+1)
		for _, id := range slices.Sorted(slices.Values(ids[g.ID])) {
			rows = append(rows, rowOf(id))
		}
		last := RankKey(g.ID, ids[g.ID][99])
		for i := 0; len(rows) < 150; i++ { // a pool with others that come after
			if id := "other-" + itoa(i); RankKey(g.ID, id) > last {
				rows = append(rows, rowOf(id))
			}
		}
		if chosen := idsOf(g.choose(rows)); !slices.Equal(chosen, ids[g.ID]) {
			t.Errorf("%s: another order: %v", g.ID, chosen[:5])
		}
	}
	if n != 9 {
		t.Errorf("%d groups were ranked, want 9", n)
	}
}

// sampled are the rows of MATH-500 in MATH-100, as published.
const sampled = "3 12 13 15 16 22 23 35 36 40 44 47 49 51 52 57 63 71 79 81 83 98 101 107 110 111 112 114 116 119 125 135 136 140 142 148 150 172 174 176 181 183 185 186 189 193 194 214 216 229 232 235 258 274 279 282 287 295 301 302 308 309 316 321 325 327 331 332 338 343 346 349 357 359 360 366 373 377 379 388 390 395 412 413 414 424 433 444 445 447 454 456 464 470 478 480 483 486 490 496"

func TestSampleIsThePublishedOne(t *testing.T) {
	i := slices.IndexFunc(Groups(), func(g Group) bool { return g.Selection == Sample })
	g := Groups()[i]
	rows := make([]row, 500)
	for i := range rows {
		rows[i].ID = itoa(i)
	}
	if got := strings.Join(idsOf(g.choose(rows)), " "); got != sampled {
		t.Error(got)
	}
	if chosen := g.choose(rows[:60]); len(chosen) != 60 {
		t.Errorf("of 60 rows that were never published: %d", len(chosen))
	}
}

// TestContentHash has a row of MMLU that needs every kind of escape, and the hash of
// it that CPython gives.
func TestContentHash(t *testing.T) {
	choices := []string{`a "b" \ c`, "<d> & e", "f\u2028g", "h\ti\n\x01\x7f"}
	got, err := contentHash("What is ½ of ∞?", "college_physics", choices, 2)
	if want := "f276aaf2c34b0619904474aa997977ab0aab1cecd1906fe5bb64faca3b26a2a7"; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// The published letters of the right options of GPQA, and the orders of options, by
// place in a group.
const (
	letters = "DDBADCCDABCAADDDCCBCCACADDBDDBDCDAABCAAAABCBDBCDBDAACBAABBAAABDBCABCBAADBCCCBCCDADBCDDACABCAB"
	orders  = "2130 2310 1023 0312 2310 3102 3102 3210 0213 3021 3102 0231 0231 1230 3210 2310 3201 2301 3012 1203 3201 0213 2103 0213 3210 2130 1023 1230 3210 1032 1320 3102 2310 0123 0312 3012 2301 0231 0312 0213 0231 2013 3102 3021 3120 3021 2103 3120 3021 1320 0123 0123 2301 2031 0312 0231 1032 2013 0231 0321 0321 1023 1230 1032 2103 0321 3021 3102 1023 0231 0123 3120 3021 1302 1302 3201 2031 3102 2301 2130 0321 2310 1032 2301 3120 1320 0231 3102 0213 3012 2103 0213 1023"
)

func TestShuffleIsThePublishedOne(t *testing.T) {
	for place, order := range strings.Fields(orders) {
		r := row{Task: benchmark.Task{OptionTexts: []string{"0", "1", "2", "3"}}}
		shuffledChoices.finish(&r, place)
		if got := strings.Join(r.OptionTexts, ""); got != order || r.Answer != letters[place:place+1] {
			t.Errorf("place %d: %s, right is %s; want %s, %s", place, got, r.Answer, order, letters[place:place+1])
		}
	}
}

func itoa(i int) string { return strconv.Itoa(i) }

func rowOf(id string) row { return row{Task: benchmark.Task{ID: id}} }

func TestCompare(t *testing.T) {
	theirs := []string{"a", "b", "c", "d"}
	for _, test := range []struct {
		ids, pool []string
		want      []string // nil: no difference
	}{
		{theirs, nil, nil},
		{[]string{"a", "c", "b", "d"}, theirs, []string{`task 1 is "c", published is "b"`, "4 of 4 published tasks are there"}},
		{[]string{"a", "b", "c", "e"}, []string{"a", "b", "c", "d", "e"}, []string{`task 3 is "e", published is "d"`, "3 of 4 published tasks are there"}},
		{[]string{"a", "b", "c", "e"}, []string{"a", "b", "c", "e"}, []string{"3 of 4 published tasks are in the files", "another revision"}},
		{[]string{"a", "b", "c"}, []string{"a", "b", "c"}, []string{`task 3 is missing, published is "d"`, "another revision"}},
		{[]string{"a", "b", "c", "d", "e"}, []string{"a", "b", "c", "d", "e"}, []string{`task 4 is "e", published is missing`, "4 of 4 published tasks are there"}},
		{[]string{"a", "x", "c"}, nil, []string{"2 of 4 published tasks are there"}},
	} {
		err := Compare(test.ids, theirs, test.pool)
		if test.want == nil {
			if err != nil {
				t.Errorf("%v: %v", test.ids, err)
			}
			continue
		}
		if !errors.Is(err, ErrOther) || slices.ContainsFunc(test.want, func(w string) bool { return !strings.Contains(err.Error(), w) }) {
			t.Errorf("%v of %v: %v, want %q", test.ids, test.pool, err, test.want)
		}
	}
}
