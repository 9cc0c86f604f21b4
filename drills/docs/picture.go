package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// picture is the drawing of the architecture.
const picture = "docs/architecture.svg"

var drawn = regexp.MustCompile(`<text class="(package|file)"[^>]*>([a-z.]+)[^<]*</text>`)

// pictureFaults finds folders that the picture names and the repository lacks, and
// outputs that it names and the page on them does not.
func pictureFaults(root string, svg, outputs string) (faults []error) {
	matches := drawn.FindAllStringSubmatch(svg, -1)
	if len(matches) == 0 {
		return []error{fmt.Errorf("%s names nothing: is the drill still looking for the right words?", picture)}
	}
	for _, match := range matches {
		kind, name := match[1], match[2]
		if _, err := os.Stat(filepath.Join(root, name)); kind == "package" && err != nil {
			faults = append(faults, fmt.Errorf("%s: the repository has no %s", picture, name))
		}
		if kind == "file" && !strings.Contains(outputs, "`"+name) {
			faults = append(faults, fmt.Errorf("%s: %s says nothing of %s", picture, outputsPage, name))
		}
	}
	return faults
}
