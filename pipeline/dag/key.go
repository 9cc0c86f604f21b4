package dag

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
)

// keyFormat salts every key. Raising it makes everything stale.
const keyFormat = 1

// Parts are everything that a unit's result depends on. Worker counts, times
// and places are not among them.
type Parts struct {
	Format  int               `json:"format"` // of keys, see keyFormat
	Stage   string            `json:"stage"`
	Version int               `json:"version"` // code version of the stage
	Unit    string            `json:"unit"`
	Config  map[string]string `json:"config"`
	Seed    string            `json:"seed"`
	Sources map[string]string `json:"sources"` // name to SHA-256
	Inputs  map[string]string `json:"inputs"`  // output of a needed unit to SHA-256
}

// Key is the SHA-256 of the parts as JSON (fields in the order of the type, map keys
// sorted), in hex.
func (p Parts) Key() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings always marshal
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// partsOf gathers the parts of a unit but for its inputs.
func partsOf(s *Stage, u *Unit) Parts {
	p := Parts{
		Format:  keyFormat,
		Stage:   s.Name,
		Version: s.Version,
		Unit:    u.ID,
		Config:  make(map[string]string, len(u.Config)),
		Seed:    u.Seed,
		Sources: make(map[string]string, len(u.Sources)),
		Inputs:  make(map[string]string),
	}
	maps.Copy(p.Config, u.Config)
	for _, source := range u.Sources {
		p.Sources[source.Name] = source.SHA256
	}
	return p
}
