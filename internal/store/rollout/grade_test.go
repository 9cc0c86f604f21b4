package rollout_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/store/journal"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
)

// graded is a score with a reward.
func graded(task, k int, reward float64) *rollout.Score {
	s := score(task, k)
	if err := s.Grade(reward); err != nil {
		panic(err)
	}
	return s
}

func TestGrades(t *testing.T) {
	for _, reward := range []float64{0, math.SmallestNonzeroFloat64, 1. / 3, 0.5, math.Nextafter(1, 0), 1} {
		s := score(0, 1) // not correct
		if err := s.Grade(reward); err != nil || s.Reward() != reward || s.Correct != (reward == 1) {
			t.Errorf("graded with %v: %+v, reward %v, %v", reward, s, s.Reward(), err)
		}
		s = score(0, 0) // correct
		if err := s.Grade(reward); err != nil || s.Reward() != reward || s.Correct != (reward == 1) {
			t.Errorf("graded with %v: %+v, reward %v, %v", reward, s, s.Reward(), err)
		}
	}
	for _, reward := range []float64{-0.1, math.Nextafter(1, 2), 10, math.Inf(1), math.Inf(-1), math.NaN()} {
		err := score(3, 7).Grade(reward)
		if want := fmt.Sprintf("benchmark b: task t3: rollout 7 has a reward of %v from math/1", reward); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	both := score(0, 0)
	both.Partial = 0.5
	if err := both.Check(); err == nil {
		t.Error("a correct one has a part of a reward")
	}
}

func TestPassesAndFailuresAreStoredAsEver(t *testing.T) {
	var all []*rollout.Score
	for i := range 40 {
		all = append(all, score(i/4, i%4))
	}
	var b bytes.Buffer
	ok(t, rollout.WriteScores(&b, scores(all...), scoreFooter))
	if got, want := fmt.Sprintf("%x", sha256.Sum256(b.Bytes())), "ff0614bd01fc5efe7cfdcf59283b2d695ddf28380b6b8eaf16b3f91c38bb75d7"; got != want {
		t.Errorf("the file has the digest %s, want %s", got, want)
	}
}

func TestLinesOfScoresStayAsTheyAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scores"+journal.Suffix)
	j, _, err := journal.Open(path, (*rollout.Score).ID)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	want := []*rollout.Score{score(0, 0), score(0, 1), graded(0, 2, 0.25)}
	for _, s := range want {
		ok(t, j.Append(s))
		if got, err := j.Read(s.ID()); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("read %+v, %v", got, err)
		}
	}
	text := must(os.ReadFile(path))
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		want := fmt.Sprintf(`{"benchmark":"b","model":"m","task_index":0,"task_id":"t0","rollout":%d,"correct":%t,"answer":"“½”\n","scorer":"math/1","note":"no box"%s}`,
			i, i == 0, []string{"", "", `,"reward":0.25`}[i])
		if _, got, _ := strings.Cut(line, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestGradedScoresComeBack(t *testing.T) {
	want := []rollout.Score{*graded(0, 0, 1), *graded(0, 1, 1./3), *graded(0, 2, 0), *graded(5, 0, 0.75)}
	all := scores(&want[0], &want[1], &want[2], &want[3])
	var b bytes.Buffer
	if err := rollout.WriteScores(&b, all, scoreFooter); err == nil || !strings.Contains(err.Error(), "benchmark b: task t0: rollout 1 has a reward of 0.333") {
		t.Errorf("error %v", err)
	}
	b.Reset()
	ok(t, rollout.WriteGraded(&b, all, scoreFooter))
	path := file(t, b.Bytes())
	if got, err := collect(rollout.Scores(path)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	type column struct {
		Correct bool    `parquet:"correct"`
		Reward  float64 `parquet:"reward"`
	}
	rows, _, err := rowfile.ReadFile[column](path)
	if want := []column{{true, 1}, {false, 1. / 3}, {false, 0}, {false, 0.75}}; err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("columns %v, %v", rows, err)
	}
	if old, _, err := rowfile.ReadFile[rollout.Score](path); err != nil || !old[0].Correct || old[1].Correct {
		t.Errorf("verdicts alone: %v, %v", old, err)
	}
}

// A file by another hand may hold anything.
func TestRewardsThatCannotBeAreErrorsOfARow(t *testing.T) {
	type row struct {
		rollout.Score
		Full float64 `parquet:"reward"`
	}
	for _, tt := range []struct {
		correct bool
		reward  float64
		want    string
	}{
		{false, 1.5, "reward of 1.5"}, {true, -1, "reward of -1"}, {false, math.NaN(), "reward of NaN"},
		{true, 0.5, "correct is true beside a reward of 0.5"}, {false, 1, "correct is false beside a reward of 1"},
	} {
		rows := []row{{*score(0, 0), 1}, {*score(0, 1), tt.reward}}
		rows[1].Correct = tt.correct
		var b bytes.Buffer
		ok(t, rowfile.Write(&b, rows, scoreFooter))
		path := file(t, b.Bytes())
		got, err := collect(rollout.Scores(path))
		if len(got) != 1 || err == nil || !strings.HasPrefix(err.Error(), path+": row 2: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d rows, error %v, want %s", len(got), err, tt.want)
		}
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
