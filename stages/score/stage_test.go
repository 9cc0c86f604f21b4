package score_test

import (
	"testing"

	"speceval/stages/score"
)

func TestProfilesStandInForTheStage(t *testing.T) {
	stage := score.Stage("profiles from mine.csv")
	if stage.Name != "score" || stage.Satisfied != "profiles from mine.csv" || len(stage.Units) != 0 {
		t.Errorf("got %+v", stage)
	}
}
