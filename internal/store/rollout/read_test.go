package rollout_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/store/rollout"
)

// partFile writes a part of the given rollouts.
func partFile(t *testing.T, schema string, all ...*rollout.Rollout) string {
	t.Helper()
	var b bytes.Buffer
	ok(t, rollout.WritePart(&b, sequence(all, nil), map[string]string{"speceval.schema": schema}))
	return file(t, b.Bytes())
}

func file(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.parquet")
	ok(t, os.WriteFile(path, data, 0o666))
	return path
}

func response(r *rollout.Rollout) rollout.Response {
	return rollout.Response{Benchmark: r.Benchmark, Model: r.Model, TaskIndex: r.TaskIndex, TaskID: r.TaskID, Rollout: r.Rollout, FinishReason: r.FinishReason, Text: r.Text}
}

// collect reads a sequence up to its first error.
func collect[T any](all iter.Seq2[*T, error]) (rows []T, err error) {
	for row, err := range all {
		if err != nil {
			return rows, err
		}
		rows = append(rows, *row)
	}
	return rows, nil
}

func TestResponsesOfAllPartsInOrder(t *testing.T) {
	first := partFile(t, rollout.Schema, some(0, 0), some(0, 1), some(1, 0))
	second := partFile(t, rollout.Schema, some(1, 1), some(2, 0))
	got, err := collect(rollout.Responses([]string{first, second}))
	want := []rollout.Response{response(some(0, 0)), response(some(0, 1)), response(some(1, 0)), response(some(1, 1)), response(some(2, 0))}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for r, err := range rollout.Responses([]string{first, second + ".absent"}) {
		if err != nil || r.ID() != (rollout.ID{}) {
			t.Errorf("first %v, %v", r, err)
		}
		break // before the file that is not there
	}
	if got, err := collect(rollout.Responses(nil)); len(got) != 0 || err != nil {
		t.Errorf("of no parts %v, %v", got, err)
	}
}

func TestFaultsOfPartsNameFileAndRow(t *testing.T) {
	model, task := some(0, 1), some(0, 1)
	model.Model, task.TaskID = "other", "t9"
	good := partFile(t, rollout.Schema, some(0, 0))
	for name, c := range map[string]struct {
		path, want string
	}{
		"model":  {partFile(t, rollout.Schema, model), `: row 1: it is of benchmark "b" and model "other", rows before it of "b" and "m"`},
		"twice":  {partFile(t, rollout.Schema, some(0, 1), some(0, 1)), ": row 2: rollout 1 of task 0 stands after rollout 1 of task 0"},
		"order":  {partFile(t, rollout.Schema, some(2, 0), some(3, 0), some(2, 1)), ": row 3: rollout 1 of task 2 stands after rollout 0 of task 3"},
		"task":   {partFile(t, rollout.Schema, task), `: row 1: task 0 has the task_id "t9" here and "t0" before`},
		"below":  {partFile(t, rollout.Schema, some(1, -1)), ": row 1: task_index 1, rollout -1: want both from 0"},
		"schema": {partFile(t, "rollouts/0", some(1, 1)), ` has schema "rollouts/0", want "rollouts/1"`},
		"damage": {file(t, []byte("PAR1 and no more")), ": truncated Parquet file"},
	} {
		got, err := collect(rollout.Responses([]string{good, c.path}))
		if len(got) == 0 || err == nil || !strings.HasPrefix(err.Error(), c.path+c.want) {
			t.Errorf("%s: after %d rows the error %v, want %s%s", name, len(got), err, c.path, c.want)
		}
	}
	if _, err := collect(rollout.Responses([]string{good + ".absent"})); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func score(task, k int) *rollout.Score {
	return &rollout.Score{
		Benchmark: "b", Model: "m", TaskIndex: int32(task), TaskID: fmt.Sprint("t", task), Rollout: int32(k),
		Correct: k%2 == 0, Answer: "“½”\n", Scorer: "math/1", Note: "no box",
	}
}

func scores(all ...*rollout.Score) iter.Seq2[*rollout.Score, error] {
	return func(yield func(*rollout.Score, error) bool) {
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
	}
}

var scoreFooter = map[string]string{"speceval.schema": rollout.ScoreSchema}

func TestScoresComeBack(t *testing.T) {
	var b bytes.Buffer
	want := []rollout.Score{*score(0, 0), *score(0, 1), *score(7, 0)}
	ok(t, rollout.WriteScores(&b, scores(&want[0], &want[1], &want[2]), scoreFooter))
	path := file(t, b.Bytes())
	if got, err := collect(rollout.Scores(path)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	want[2].Metadata = `{"level":3}`
	b.Reset()
	ok(t, rollout.WriteScores(&b, scores(&want[0], &want[1], &want[2]), scoreFooter))
	if got, err := collect(rollout.Scores(file(t, b.Bytes()))); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := collect(rollout.Responses([]string{path})); err == nil {
		t.Error("scores are read as responses")
	}
	b.Reset()
	ok(t, rollout.WriteScores(&b, scores(score(1, 0), score(0, 0)), scoreFooter))
	path = file(t, b.Bytes())
	if _, err := collect(rollout.Scores(path)); err == nil || !strings.HasPrefix(err.Error(), path+": row 2: rollout 0 of task 0 stands after") {
		t.Errorf("error %v", err)
	}
}
