package report_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"speceval/internal/golden"
)

// TestThePageInABrowser opens the page as wide as a phone and a desktop, with all of it
// unfolded, and reads a popover by keyboard.
func TestThePageInABrowser(t *testing.T) {
	page := string(whole(t).page(t))
	pages := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page) })
	var widths []int
	for _, posted := range golden.Browse(t, pages, "/", probe, os.Getenv("SPECEVAL_CI") != "") {
		var got struct {
			Width, Scroll int      // of the viewport, and of the document
			Height        int      // of the document before it was unfolded
			Clipped       []string // regions with more than their width
			Contrast      float64  // of the faintest text
			Unreached     int      // numbers that take no focus
			Pop           string   // the text of a popover
		}
		ok(t, json.Unmarshal([]byte(posted), &got))
		widths = append(widths, got.Width)
		if got.Scroll > got.Width || got.Height > 25*800 || got.Contrast < 4.5 || got.Unreached > 0 || got.Width == 1280 && len(got.Clipped) > 0 {
			t.Errorf("%+v", got)
		}
		for _, want := range []string{"b=8, HBN: 0.872", " ± 0.0002", "The variance of HBN over that of Uniform", "paper: 0.872; difference", "speceval explain table1_variance b=8 hbn"} {
			if !strings.Contains(got.Pop, want) {
				t.Errorf("at %d pixels the popover lacks %q: %q", got.Width, want, got.Pop)
			}
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(widths)), []int{390, 1280}) {
		t.Errorf("frames of %v pixels have answered", widths)
	}
}

const probe = `
addEventListener("load", function () {
  var root = document.documentElement, pop = document.getElementById("pop"), height = root.scrollHeight;
  var all = function (s) { return Array.from(document.querySelectorAll(s)); };
  function rgb(s) { return s.match(/[\d.]+/g).map(Number); }
  function light(s) { return rgb(s).slice(0, 3).reduce(function (sum, v, i) { v /= 255; return sum + [0.2126, 0.7152, 0.0722][i] * (v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4)); }, 0); }
  function ground(e) { return !e ? "rgb(255,255,255)" : rgb(getComputedStyle(e).backgroundColor)[3] === 0 ? ground(e.parentElement) : getComputedStyle(e).backgroundColor; }
  all("details").forEach(function (d) { d.open = true; });
  var contrast = 21;
  all("body *").forEach(function (e) {
    if (e.closest("svg") || !Array.from(e.childNodes).some(function (n) { return n.nodeType === 3 && n.textContent.trim(); })) return;
    var a = light(getComputedStyle(e).color), b = light(ground(e));
    contrast = Math.min(contrast, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  });
  var unreached = all(".grid td a").filter(function (a) { a.focus({ preventScroll: true }); return document.activeElement !== a; });
  var last = all("#table1_variance tbody tr:first-child a").pop();
  last.focus();
  document.activeElement.click(); // as the key Enter does
  parent.postMessage(JSON.stringify({
    Width: innerWidth, Scroll: root.scrollWidth, Height: height, Contrast: contrast, Unreached: unreached.length,
    Clipped: all(".scroll, section, details, table").filter(function (e) { return e.scrollWidth > e.clientWidth + 1; }).map(function (e) { return e.className; }),
    Pop: pop.matches(":popover-open") ? pop.textContent : "closed"
  }), "*");
});
`
