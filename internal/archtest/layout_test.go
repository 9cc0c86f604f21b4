package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layoutPage is where the list of all packages stands.
const layoutPage = "docs/architecture.md"

// layoutLine is a line of the layout of docs/architecture.md: a folder and what it is for.
var layoutLine = regexp.MustCompile(`(?m)^([a-z/]+)/ +\S`)

// layoutFaults compares the folders that the page lists with the packages. Test
// helpers (…test below another package) and programs that make data need no
// line.
func layoutFaults(page string, packages []string) []string {
	var listed, faults []string
	for _, match := range layoutLine.FindAllStringSubmatch(page, -1) {
		listed = append(listed, match[1])
		if !slices.Contains(packages, match[1]) {
			faults = append(faults, layoutPage+" lists "+match[1]+", which is no package")
		}
	}
	for _, p := range packages {
		helper := strings.HasSuffix(p, "test") && strings.Count(p, "/") > 1 || strings.HasPrefix(p, "data/")
		if !helper && !slices.Contains(listed, p) {
			faults = append(faults, layoutPage+" does not list "+p)
		}
	}
	return faults
}

func TestLayoutListsEveryPackage(t *testing.T) {
	page := must(os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(layoutPage))))
	var packages []string
	for _, f := range repository(t) {
		packages = append(packages, f.path)
	}
	report(t, layoutFaults(string(page), packages))
}
