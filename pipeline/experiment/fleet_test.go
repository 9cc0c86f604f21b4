package experiment

import (
	"strings"
	"testing"

	"speceval/pipeline/config"
)

func TestFleetPlaces(t *testing.T) {
	cfg := &config.Config{Workers: []config.Worker{
		{URLs: []string{"http://h20:8000", "http://localhost:8001", "https://127.0.0.1:1", "http://127.0.0.2:8002/v1"}},
		{URLs: []string{"http://[::1]"}},
	}}
	cfg.Judge.URLs = []string{"http://localhost:9000", "http://far:9000"}
	for _, test := range []struct {
		fleet Fleet
		want  string
	}{
		{Fleet{}, "localhost:8001 127.0.0.2:8002 [::1]:80; localhost:9000"},
		{Fleet{Model: "one"}, "localhost:8001 127.0.0.2:8002 [::1]:80; "},
		{Fleet{Count: 2, Port: 8000}, "127.0.0.1:8000 127.0.0.1:8001; "},
	} {
		workers, judges := test.fleet.places(cfg)
		if got := strings.Join(workers, " ") + "; " + strings.Join(judges, " "); got != test.want {
			t.Errorf("%+v: places %s, want %s", test.fleet, got, test.want)
		}
	}
}
