package display

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

// PageStyle is the look of all HTML pages.
//
//go:embed page.css
var PageStyle string

// PageGuard is a content security policy that forbids a page everything but its own styles,
// its one script, and what it fetches from the given sources.
func PageGuard(script string, sources ...string) string {
	sum := sha256.Sum256([]byte(script))
	policy := "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"
	for _, s := range sources {
		policy += "; connect-src " + s
	}
	return policy
}
