package parts

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Program is what a list of parts is of.
type Program struct {
	Name, Version, License string
	Commit                 string
	Compiler               string // "go1.26.8"
	Date                   time.Time
}

// The words of CycloneDX 1.6, as far as they are used.
type (
	bom struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
		Depends    []depends   `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Scope      string     `json:"scope,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licenses   []licensed `json:"licenses,omitempty"`
		PURL       string     `json:"purl,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash     struct{ Alg, Content string }
	licensed struct {
		License license `json:"license"`
	}
	license struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"name,omitempty"`
	}
	property struct{ Name, Value string }
	depends  struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn,omitempty"`
	}
)

// MarshalJSON has the keys in small letters.
func (h hash) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"alg": h.Alg, "content": h.Content})
}

// MarshalJSON has the keys in small letters.
func (p property) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"name": p.Name, "value": p.Value})
}

// CycloneDX is a list of parts as JSON, the same bytes for the same parts. The hash of a
// module is that of go.sum: the SHA-256 of the list of its files with theirs.
func CycloneDX(p Program, modules []Module) ([]byte, error) {
	self := purl(p.Name, "v"+p.Version)
	list := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{
		Timestamp: p.Date.UTC().Format(time.RFC3339),
		Component: component{
			Type: "application", Ref: self, Name: p.Name, Version: "v" + p.Version, PURL: self,
			Licenses: []licensed{{license{ID: p.License}}}, Properties: []property{{"git:commit", p.Commit}},
		},
	}}
	compiler := strings.TrimPrefix(p.Compiler, "go")
	std := component{Type: "library", Ref: purl("std", compiler), Name: "std", Version: p.Compiler, Scope: "required", PURL: purl("std", compiler), Licenses: []licensed{{license{ID: "BSD-3-Clause"}}}}
	list.Components = []component{std}
	for _, m := range modules {
		c, err := m.component()
		if err != nil {
			return nil, err
		}
		list.Components = append(list.Components, c)
	}
	top := depends{Ref: self}
	for _, c := range list.Components {
		top.On = append(top.On, c.Ref)
	}
	list.Depends = []depends{top}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the list of parts: %w", err)
	}
	return append(text, '\n'), nil
}

func (m Module) component() (component, error) {
	c := component{Type: "library", Ref: purl(m.Path, m.Version), Name: m.Path, Version: m.Version, Scope: "required", PURL: purl(m.Path, m.Version)}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil || len(sum) != 32 || !strings.HasPrefix(m.Sum, "h1:") {
		return component{}, fmt.Errorf("the module %s %s has the checksum %q, want h1: and 32 bytes", m.Path, m.Version, m.Sum)
	}
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	c.Properties = []property{{"go:sum", m.Sum}}
	for _, l := range m.Licenses {
		entry := licensed{license{ID: l.ID}}
		if l.ID == "" {
			entry = licensed{license{Name: l.File}}
		}
		notice := l.ID == "" && (strings.HasPrefix(strings.ToUpper(l.File), "NOTICE") || strings.HasPrefix(strings.ToUpper(l.File), "PATENTS"))
		if !notice && !slices.Contains(c.Licenses, entry) {
			c.Licenses = append(c.Licenses, entry)
		}
	}
	return c, nil
}

// purl is the package URL of a Go module.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
