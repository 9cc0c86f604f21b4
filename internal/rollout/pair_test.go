package rollout_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"speceval/internal/rollout"
	"speceval/internal/seed"
)

func scoreFile(t *testing.T, all ...*rollout.Score) string {
	t.Helper()
	var b bytes.Buffer
	if err := rollout.WriteScores(&b, scores(all...), scoreFooter); err != nil {
		t.Fatal(err)
	}
	return file(t, b.Bytes())
}

// pairsOf reads two files up to the first error.
func pairsOf(a, b string) (pairs []string, err error) {
	for p, err := range rollout.Pairs(a, b) {
		if err != nil {
			return pairs, err
		}
		id := func(s *rollout.Score) any {
			if s == nil {
				return "none"
			}
			return s.ID()
		}
		pairs = append(pairs, fmt.Sprint(id(p.Old), ", ", id(p.New)))
	}
	return pairs, nil
}

// Pairs of random files against a union of their ids.
func TestPairsHaveEveryRolloutOnce(t *testing.T) {
	random := seed.Root(3).Stream()
	for range 50 {
		var files [2][]*rollout.Score
		var want []string
		for i := range 12 {
			in := random.Uint64() % 4
			id := rollout.ID{Task: int32(i / 4), Rollout: int32(i % 4)}
			names := [2]string{"none", "none"}
			for f := range files {
				if in>>f&1 == 1 {
					files[f] = append(files[f], score(i/4, i%4))
					names[f] = id.String()
				}
			}
			if in != 0 {
				want = append(want, names[0]+", "+names[1])
			}
		}
		got, err := pairsOf(scoreFile(t, files[0]...), scoreFile(t, files[1]...))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v\nwant %q", got, err, want)
		}
	}
}

func TestPairsOfOtherCorporaAreErrors(t *testing.T) {
	model, task, good := score(0, 0), score(0, 1), scoreFile(t, score(0, 0), score(0, 1))
	model.Model, task.TaskID = "other", "t9"
	for _, c := range []struct{ path, want string }{
		{scoreFile(t, model), ": they are of b with m and of b with other"},
		{scoreFile(t, score(0, 0), task), `: task 0 has the task_id "t9" here and "t0" before`},
		{scoreFile(t, task), `: task 0 is "t0" in one and "t9" in the other`},
		{good + ".absent", "no such file"},
		{scoreFile(t, score(1, 0), score(0, 0)), ": row 2: "},
	} {
		_, err := pairsOf(good, c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("error %v, want %s", err, c.want)
		}
		if _, err := pairsOf(c.path, good); err == nil {
			t.Errorf("the other way round: no error, want %s", c.want)
		}
	}
}
