package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// chromium runs a headless Chromium on the file and returns what it says of the
// document and of itself. Without one the test is skipped, or fails where
// SPECEVAL_CI asks for every optional tool.
func chromium(t *testing.T, file string, flags ...string) (dom, log string) {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		lack := t.Skipf
		if os.Getenv("SPECEVAL_CI") != "" {
			lack = t.Fatalf
		}
		lack("no Chromium is installed (Debian: chromium)")
	}
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
		"--user-data-dir=" + t.TempDir(), "--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom"}, flags...)
	cmd := exec.Command(program, append(args, "file://"+file)...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Run(); e != nil {
		t.Fatalf("chromium: %v\n%s", e, err.String())
	}
	return out.String(), err.String()
}

// consoleLines is what a page has said on the console: errors of its script, and
// everything that its policy refused.
func consoleLines(log string) []string {
	return regexp.MustCompile(`(?m)^.*CONSOLE.*$`).FindAllString(log, -1)
}

// TestPageInABrowser opens the page as a user does and as wide as a phone and a
// desktop, and points at a number.
func TestPageInABrowser(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("page.html", probed(t, written(t, sample())))
	dom, log := chromium(t, put("frames.html", frames))
	if lines := consoleLines(log); len(lines) > 0 {
		t.Errorf("the console says\n%s", strings.Join(lines, "\n"))
	}
	said := regexp.MustCompile(`<pre>([^<]*)</pre>`).FindAllStringSubmatch(dom, -1)
	if len(said) != 2 {
		t.Fatalf("%d of 2 frames have answered:\n%s\n%s", len(said), dom, log)
	}
	for _, s := range said {
		var got answer
		if err := json.Unmarshal([]byte(html.UnescapeString(s[1])), &got); err != nil {
			t.Fatal(err)
		}
		got.check(t)
	}
}

// answer is what the probe finds out about the page in a frame.
type answer struct {
	Width, Scroll int      // of the viewport, and of what has to be scrolled
	Wide          []string // elements that stick out on the right
	Pop           string   // what is shown beside the number that was pointed at
	Folded        string   // the same for a number of a long table
	Alerts        int      // that a name has raised
}

func (a answer) check(t *testing.T) {
	t.Helper()
	if a.Width != 360 && a.Width != 1280 {
		t.Fatalf("a frame is %d wide", a.Width)
	}
	if a.Scroll > a.Width {
		t.Errorf("at %d pixels the page is %d wide: %s", a.Width, a.Scroll, a.Wide)
	}
	for _, want := range []string{"published b=8", "0.87247", "The mean of r over profiles < all & sundry.", "Difference +0.0005", "speceval explain table1_made 'published b=8' hbn"} {
		if !strings.Contains(a.Pop, want) {
			t.Errorf("at %d pixels the explanation lacks %q: %q", a.Width, want, a.Pop)
		}
	}
	if want := "speceval explain profile_ratios 'b__model=m b=8 oracle' variance_ratio"; !strings.Contains(a.Folded, want) {
		t.Errorf("at %d pixels the explanation of a long table lacks %q: %q", a.Width, want, a.Folded)
	}
	if a.Alerts > 0 {
		t.Errorf("at %d pixels: %d alerts", a.Width, a.Alerts)
	}
}

// probed is the page with a script that looks at it, which its policy then has
// to allow: everything else stays forbidden.
func probed(t *testing.T, page string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(probe))
	allowed := "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	out := strings.Replace(page, "script-src ", "script-src &#39;"+allowed+"&#39; ", 1)
	out = strings.Replace(out, "</body>", "<script>"+probe+"</script></body>", 1)
	if len(out) < len(page)+len(probe) {
		t.Fatal("the page has changed: the probe does not fit in")
	}
	return out
}

const probe = `
var alerts = 0;
window.alert = function () { alerts++; };
addEventListener("load", function () {
  var root = document.documentElement, pop = document.getElementById("pop");
  function shown(link) { link.click(); var open = pop.matches(":popover-open"); var text = open ? pop.textContent : "closed"; pop.hidePopover(); return text; }
  document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  var wide = [];
  document.querySelectorAll("body *").forEach(function (e) {
    if (!e.closest(".scroll") && !e.closest("#pop") && e.getBoundingClientRect().right > innerWidth + 1) wide.push(e.tagName + "." + e.className);
  });
  var links = document.querySelectorAll("#profile_ratios .grid td a");
  parent.postMessage(JSON.stringify({
    Width: innerWidth, Scroll: root.scrollWidth, Wide: wide.slice(0, 5),
    Pop: shown(document.querySelector("#table1_made .grid td a")), Folded: shown(links[links.length - 1]),
    Alerts: alerts
  }), "*");
});
`

// frames shows the page in two widths and writes down what the probes say. A
// headless Chromium has no windows of less than 500 pixels.
var frames = fmt.Sprintf(`<!doctype html><script>
addEventListener("message", function (e) { var p = document.createElement("pre"); p.textContent = e.data; document.body.appendChild(p); });
</script><body><iframe src="page.html" style="width:%dpx;height:800px;border:0"></iframe><iframe src="page.html" style="width:%dpx;height:800px;border:0"></iframe></body>`, 360, 1280)
