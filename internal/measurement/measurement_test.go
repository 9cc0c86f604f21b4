package measurement_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"speceval/internal/measurement"
	"speceval/internal/rowfile"
)

func sound() measurement.Measurement {
	return measurement.Measurement{
		Benchmark: "b", Model: "m", NTasks: 30, ReferenceBudget: 8, Budget: 8,
		Strategy: measurement.HBNAsync, Provenance: measurement.Simulated,
		TimeSeconds: 1.5, UsefulFLOPs: 1e16, WastedFLOPs: 0, AcceptedRollouts: 240, ExtraRollouts: 3,
	}
}

func TestSoundRowsComeBack(t *testing.T) {
	equivalent := sound()
	equivalent.Strategy, equivalent.Budget, equivalent.AcceptedRollouts = measurement.UniformEquivalent, 9, 270
	want := []measurement.Measurement{sound(), equivalent}
	var b bytes.Buffer
	if err := rowfile.Write(&b, want, nil); err != nil {
		t.Fatal(err)
	}
	got, err := measurement.Parse(b.Bytes(), "m.parquet")
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestUnsoundRowsAreRefused(t *testing.T) {
	cases := map[string]func(*measurement.Measurement){
		"benchmark or model is empty": func(m *measurement.Measurement) { m.Model = "" },
		"is not positive":             func(m *measurement.Measurement) { m.NTasks = 0 },
		"differs from reference":      func(m *measurement.Measurement) { m.ReferenceBudget = 16 },
		`strategy "" is unknown`:      func(m *measurement.Measurement) { m.Strategy = "" },
		`provenance "guessed"`:        func(m *measurement.Measurement) { m.Provenance = "guessed" },
		"time NaN s":                  func(m *measurement.Measurement) { m.TimeSeconds = math.NaN() },
		"useful -1":                   func(m *measurement.Measurement) { m.UsefulFLOPs = -1 },
		"wasted -1":                   func(m *measurement.Measurement) { m.WastedFLOPs = -1 },
		"n_tasks × budget = 240":      func(m *measurement.Measurement) { m.AcceptedRollouts = 239 },
		"extra_rollouts -1":           func(m *measurement.Measurement) { m.ExtraRollouts = -1 },
	}
	for want, spoil := range cases {
		m := sound()
		spoil(&m)
		var b bytes.Buffer
		if err := rowfile.Write(&b, []measurement.Measurement{sound(), m}, nil); err != nil {
			t.Fatal(err)
		}
		_, err := measurement.Parse(b.Bytes(), "m.parquet")
		if text := fmt.Sprint(err); !strings.HasPrefix(text, "m.parquet: row 2 (b__model=") || !strings.Contains(text, want) {
			t.Errorf("error %q, want one with %q", text, want)
		}
	}
}
