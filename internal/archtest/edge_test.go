package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// edge lists what only the edge may use: the environment, the arguments, the
// standard streams, the clock, the process's end, and sources of randomness
// that no seed determines. The star stands for every function of a package.
var edge = map[string][]string{
	"os":           {"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Args", "Stdin", "Stdout", "Stderr", "Exit", "Getpid", "Hostname"},
	"time":         {"Now", "Since", "Until", "Tick", "After", "AfterFunc", "NewTimer", "NewTicker", "Sleep"},
	"log":          {"*"},
	"fmt":          {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"math/rand":    {"*"},
	"math/rand/v2": {"*"},
	"crypto/rand":  {"*"},
}

// allowed lists who may use what of the edge, each for a reason.
var allowed = []struct{ pkg, name, reason string }{
	{"pipeline", "os.*", "main is the edge"},
	{"pipeline", "time.Now", "main is the edge"},
	{"data/importer", "os.*", "a command of its own, for the maintainers"},
	{"data/importer", "fmt.*", "a command of its own, for the maintainers"},
	{"data/importer", "log.*", "a command of its own, for the maintainers"},
	{"data/fleet/fit", "os.*", "a command of its own, for the maintainers"},
	{"pipeline/dag", "time.Sleep", "the pause between tries to lock a shared file system; it changes no result"},
	{"internal/machine/clock", "time.*", "the operating system's clock, behind the interface that others take"},
	{"release", "os.*", "a command of its own, for the maintainers"},
	{"release", "time.*", "a command of its own, for the maintainers"},
	{"drills/evaluations", "time.*", "waits for the program"},
	{"drills/servers", "os.*", "servers inherit the environment"},
	{"drills/servers", "time.*", "waits for programs and servers"},
	{"drills/drill", "os.*", "the edge of the drills"},
	{"drills/drill", "time.*", "the edge of the drills"},
	{"drills/pipeline", "time.*", "measures the program that it runs"},
	{"drills/runs", "os.*", "starts programs in an environment of their own"},
	{"drills/runs", "time.*", "strikes and measures the program that it runs"},
	{"internal/policy/seed", "math/rand/v2.*", "the only place that makes random sources, from seeds"},
}

// types and constructors of math/rand/v2 that draw from a given source are no
// hidden randomness.
var seeded = []string{"Rand", "Source", "PCG", "ChaCha8", "Zipf", "New", "NewPCG", "NewChaCha8", "NewZipf"}

func edgeFaults(f folder) (faults []string) {
	for _, file := range f.files {
		file.selectors(func(sel *ast.SelectorExpr, pkg, name string) {
			if forbidden(f.path, pkg, name) {
				faults = append(faults, fmt.Sprintf("%s: %s uses %s.%s: inject it from the edge", file.at(sel), f.path, pkg, name))
			}
		})
		if pkg := file.importNames()["."]; edge[pkg] != nil {
			faults = append(faults, fmt.Sprintf("%s: dot import of %s", file.name, pkg))
		}
	}
	return faults
}

func forbidden(in, pkg, name string) bool {
	names, watched := edge[pkg]
	if !watched || !slices.Contains(names, name) && names[0] != "*" {
		return false
	}
	if pkg == "math/rand/v2" && slices.Contains(seeded, name) {
		return false
	}
	for _, a := range allowed {
		if a.pkg == in && (a.name == pkg+"."+name || a.name == pkg+".*") {
			return false
		}
	}
	return true
}

func TestOnlyTheEdgeTouchesTheWorld(t *testing.T) { hold(t, edgeFaults) }
