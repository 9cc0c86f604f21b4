package page

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"speceval/internal/golden"
)

func written(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// content is a page without its styles and its script, which have files of their
// own.
func content(page string) string {
	page = strings.Replace(page, script, "…", 1)
	page = strings.Replace(page, policy(), "…", 1)
	page = regexp.MustCompile(`content="default-src[^"]*"`).ReplaceAllString(page, `content="…"`)
	return strings.Replace(page, style, "…", 1)
}

func TestPageMatchesGoldenFile(t *testing.T) {
	golden.Check(t, "page.html", []byte(content(written(t, sample()))))
}

func TestSamePageSameBytes(t *testing.T) {
	if first, second := written(t, sample()), written(t, sample()); first != second {
		t.Error("the same page has other bytes")
	}
}

// TestNamesAreText looks for tags and attributes that came from a name.
func TestNamesAreText(t *testing.T) {
	page := content(written(t, sample()))
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "</script>alert") {
		t.Error("a name has become a script")
	}
	if regexp.MustCompile(`<[a-z]+(\s+[a-z-]+(="[^"]*")?)*\s+onclick`).MatchString(page) {
		t.Error("a name has become an attribute")
	}
	if regexp.MustCompile(`(?i)(href|src)\s*=\s*"?javascript`).MatchString(page) {
		t.Error("a name has become an address")
	}
	if n := strings.Count(page, "&lt;script&gt;alert"); n < 10 {
		t.Errorf("the hostile name stands in %d places, want it wherever a name can stand", n)
	}
}

// TestPageAsksForNothing looks for whatever makes a browser fetch something.
func TestPageAsksForNothing(t *testing.T) {
	page := written(t, sample())
	for _, pattern := range []string{`<(link|img|iframe|object|embed|base|audio|video|source)\b`, `\ssrc=`, `https?://`, `@import`, `url\(`, `\bfetch\(`, `XMLHttpRequest`} {
		if found := regexp.MustCompile(pattern).FindString(page); found != "" {
			t.Errorf("the page has %q", found)
		}
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Error("the page does not forbid itself to ask")
	}
}

// TestLinksLeadSomewhere checks every fragment, and that no place is named twice.
func TestLinksLeadSomewhere(t *testing.T) {
	page := written(t, sample())
	places := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if places[m[1]] {
			t.Errorf("two places are named %s", m[1])
		}
		places[m[1]] = true
	}
	links := regexp.MustCompile(`\shref="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) < 20 {
		t.Errorf("%d links: is the test still looking for them rightly?", len(links))
	}
	for _, m := range links {
		if fragment, inside := strings.CutPrefix(m[1], "#"); !inside || !places[fragment] {
			t.Errorf("a link to %q leads nowhere", m[1])
		}
	}
}

// TestCellsSayWhereTheyComeFrom looks for what the script shows beside a number.
func TestCellsSayWhereTheyComeFrom(t *testing.T) {
	page := written(t, sample())
	row := regexp.MustCompile(`(?s)<tr data-r="published b=8">.*?</tr>`).FindString(page)
	for _, want := range []string{`<td data-d="+0.0005"><a href="#pop" title="0.87247">0.8725 `, ">0.872 ", "agrees", `data-n="&#34;&#39; onclick=`} {
		if !strings.Contains(row, want) {
			t.Errorf("its row lacks %q:\n%s", want, row)
		}
	}
	if want := `data-f="The mean of r over profiles &lt; all &amp; sundry."`; !strings.Contains(page, want) {
		t.Errorf("the page lacks %s", want)
	}
}

func TestOwnProfilesHaveNoVerdicts(t *testing.T) {
	p := sample()
	p.Summary, p.Others, p.Tables[0].Extra = nil, nil, nil
	for i := range p.Tables[0].Rows {
		for j := range p.Tables[0].Rows[i].Cells {
			c := &p.Tables[0].Rows[i].Cells[j]
			c.Paper, c.Verdict = "", Verdict{}
		}
	}
	page := written(t, p)
	for _, unwanted := range []string{"Verdict", "verdict", "agrees", "Paper"} {
		if strings.Contains(content(page), unwanted) {
			t.Errorf("the page speaks of %q", unwanted)
		}
	}
}

func TestRepeatedKeysAreDrawnOnce(t *testing.T) {
	rows := []Row{{Keys: []string{"a", "x", "1"}}, {Keys: []string{"a", "x", "2"}}, {Keys: []string{"a", "y", "1"}}, {Keys: []string{"b", "y", "1"}}}
	want := [][]int{{3, 2, 1}, {0, 0, 1}, {0, 1, 1}, {1, 1, 1}}
	for i, spans := range keySpans(rows, 3) {
		for j := range spans {
			if spans[j] != want[i][j] {
				t.Errorf("row %d: spans %v, want %v", i, spans, want[i])
				break
			}
		}
	}
}
