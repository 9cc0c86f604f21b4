package coupled

import (
	"fmt"
	"regexp"

	"speceval/internal/csvfile"
	"speceval/internal/profile"
)

// Releases are the digests of the profile files of the paper's release, by the
// digest of what each profile says (profile.Profile.SHA256).
type Releases map[string]string

// fileDigest is a SHA-256 as the release writes it.
var fileDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ParseReleases reads the digests of the published profiles' own files from a
// CSV file with the columns benchmark, model and sha256; name is what errors
// call it. It has a row for each of the published profiles, and no other.
func ParseReleases(data []byte, name string, published []profile.Profile) (Releases, error) {
	records, faults := csvfile.Parse(data, []string{"benchmark", "model", "sha256"})
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", name, faults[0])
	}
	content := map[string]string{} // digest of what a profile says, by name
	for _, p := range published {
		content[p.Name()] = p.SHA256()
	}
	releases := Releases{}
	for _, r := range records {
		profile := profile.Profile{Benchmark: r.Fields[0], Model: r.Fields[1]}.Name()
		said, known := content[profile]
		switch {
		case !known:
			return nil, fmt.Errorf("%s: row %d: %s is no published profile, or is there twice", name, r.Number, profile)
		case !fileDigest.MatchString(r.Fields[2]):
			return nil, fmt.Errorf("%s: row %d: sha256 %q is not 64 lower-case hex digits", name, r.Number, r.Fields[2])
		}
		releases[said] = r.Fields[2]
		delete(content, profile)
	}
	for _, p := range published {
		if _, left := content[p.Name()]; left {
			return nil, fmt.Errorf("%s: there is no row for %s", name, p.Name())
		}
	}
	return releases, nil
}

// Digest is the digest that the rewards of a profile follow from: of the
// release's own file if the profile says the same as that file, and of what it
// says otherwise.
func (r Releases) Digest(p profile.Profile) string {
	said := p.SHA256()
	if release, ok := r[said]; ok {
		return release
	}
	return said
}
