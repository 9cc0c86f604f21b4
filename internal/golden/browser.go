package golden

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// probed is a page with a script of a test in it, which its policy then allows.
func probed(page, script string) string {
	sum := sha256.Sum256([]byte(script))
	page = strings.Replace(page, "script-src ", "script-src &#39;sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"&#39; ", 1)
	return strings.Replace(page, "</body>", "<script>"+script+"</script></body>", 1)
}

// frames shows a page in two widths and writes down the messages of its probe. A headless
// Chromium has no windows of less than 500 pixels.
const frames = `<!doctype html><script>
addEventListener("message", function (e) { var p = document.createElement("pre"); p.textContent = e.data; document.body.appendChild(p); });
</script><link rel="icon" href="data:,"><body><iframe src="PAGE" style="width:390px;height:800px;border:0"></iframe><iframe src="PAGE" style="width:1280px;height:800px;border:0"></iframe></body>`

// Browse opens a page of a handler in a headless Chromium, 390 and 1280 pixels wide, with the
// probe, a script, in it, and returns what the probe posts to its parent. A message on the
// console is a fault. Without a Chromium the test is skipped, or fails where required.
func Browse(t testing.TB, pages http.Handler, target, probe string, required bool) (posted []string) {
	t.Helper()
	program := ""
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
		}
	}
	if program == "" {
		lack := t.Skipf
		if required {
			lack = t.Fatalf
		}
		lack("no Chromium is installed (Debian: chromium)")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/frames" {
			io.WriteString(w, strings.ReplaceAll(frames, "PAGE", target))
			return
		}
		page := httptest.NewRecorder()
		pages.ServeHTTP(page, r)
		io.WriteString(w, probed(page.Body.String(), probe))
	}))
	defer server.Close()
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
		"--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom", server.URL+"/frames")
	var dom, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &dom, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, &log)
	}
	if lines := regexp.MustCompile(`(?m)^.*CONSOLE.*$`).FindAllString(log.String(), -1); lines != nil {
		t.Errorf("the console says\n%s", strings.Join(lines, "\n"))
	}
	for _, said := range regexp.MustCompile(`<pre>([^<]*)</pre>`).FindAllStringSubmatch(dom.String(), -1) {
		posted = append(posted, html.UnescapeString(said[1]))
	}
	if len(posted) == 0 {
		t.Errorf("no frame has answered\n%s", &log)
	}
	return posted
}
