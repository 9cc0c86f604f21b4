package display_test

import (
	"strings"
	"testing"

	"speceval/internal/display"
)

func TestAddressesTellNoSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"http://host:8000/v1":                "http://host:8000/v1",
		"http://host/a@b":                    "http://host/a@b",
		"http://me:hunter2@host:8000/v1":     "http://…@host:8000/v1",
		"http://hunter2@host":                "http://…@host",
		"http://me:hun/ter2@host":            "http://…@host",
		"http://me:hun?hunter2@host":         "http://…@host",
		"http://me:hun#hunter2@host":         "http://…@host",
		"http://me:%zzhunter2@host:8000":     "http://…@host:8000",
		"http://me:hunter2@host:port":        "http://…@host:port",
		"http://me:hunter2@":                 "http://…@",
		"me:hunter2@host:8000":               "…@host:8000",
		"http://host?key=hunter2":            "http://host?…",
		"http://host/v1?key=hunter2#hunter2": "http://host/v1?…",
		"http://host:port?key=hunter2":       "http://host:port?…",
		"http://host/\x1b[2J":                `http://host/\u001b[2J`,
		"localhost":                          "localhost",
	} {
		got := display.Address(address)
		if got != want || strings.Contains(got, "hunter2") {
			t.Errorf("%q is shown as %q, want %q", address, got, want)
		}
		if has := display.HasCredentials(address); has != strings.Contains(want, "…@") {
			t.Errorf("%q has credentials: %t", address, has)
		}
	}
	const line = `speceval evaluate --worker http://me:hun/ter2@host --worker=http://hunter2@b --model a@b`
	if got := display.WithoutCredentials(line); got != `speceval evaluate --worker http://…@host --worker=http://…@b --model a@b` {
		t.Error(got)
	}
}
