package generate_test

import (
	"testing"

	"speceval/stages/generate"
)

func TestProfilesStandInForTheStage(t *testing.T) {
	stage := generate.Stage("profiles from mine.csv")
	if stage.Name != "generate" || stage.Satisfied != "profiles from mine.csv" || len(stage.Units) != 0 {
		t.Errorf("got %+v", stage)
	}
}
