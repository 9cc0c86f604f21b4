package golden

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Probed is a page with a script of a test in it, which its policy then allows.
func Probed(page, script string) string {
	sum := sha256.Sum256([]byte(script))
	page = strings.Replace(page, "script-src ", "script-src &#39;sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"&#39; ", 1)
	return strings.Replace(page, "</body>", "<script>"+script+"</script></body>", 1)
}

// frames shows a page in two widths and writes down the messages of its probe. A headless
// Chromium has no windows of less than 500 pixels.
const frames = `<!doctype html><script>
addEventListener("message", function (e) { var p = document.createElement("pre"); p.textContent = e.data; document.body.appendChild(p); });
</script><body><iframe src="PAGE" style="width:390px;height:800px;border:0"></iframe><iframe src="PAGE" style="width:1280px;height:800px;border:0"></iframe></body>`

// Browse opens the page at a URL in a headless Chromium, 390 and 1280 pixels wide, and returns
// what its probe posts to its parent. A message on the console is a fault. Without a Chromium
// the test is skipped, or fails where required.
func Browse(t testing.TB, url string, required bool) (posted []string) {
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
	dir := t.TempDir()
	file := filepath.Join(dir, "frames.html")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(frames, "PAGE", url)), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom", "file://"+file)
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
