package version

import (
	"regexp"
	"testing"
)

func TestTheNumberIsOfSemanticVersioning(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(Number) {
		t.Errorf("%s: wheels and tags take three numbers", Number)
	}
}

func TestABuildInOneLine(t *testing.T) {
	b := Build{Version: "v1.2.3", Commit: "0123456789012345678901234567890123456789", Changed: true, Date: "2026-11-23", Go: "go1.26", System: "linux", Machine: "amd64"}
	if got, want := b.String(), "speceval v1.2.3 (012345678901 with uncommitted changes, 2026-11-23, go1.26, linux/amd64)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := (Build{Version: "v1.2.3", Commit: "unknown", Go: "go1.26", System: "linux", Machine: "arm64"}).String(), "speceval v1.2.3 (unknown, go1.26, linux/arm64)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
