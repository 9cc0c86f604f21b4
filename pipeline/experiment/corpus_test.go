package experiment

import (
	"slices"
	"testing"

	"speceval/data"
	"speceval/internal/profile"
)

// other set of profiles must not be held against its numbers.
func TestPublishedMeansExactlyThePapersProfiles(t *testing.T) {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	papers, _, err := profile.Evaluated(all)
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(papers)
	changed[5].PassCounts = slices.Clone(changed[5].PassCounts)
	changed[5].PassCounts[0] ^= 1
	for name, tt := range map[string]struct {
		profiles []profile.Profile
		want     bool
	}{
		"the paper's": {papers, true}, "one less": {papers[1:], false}, "all of the release": {all, false}, "one count changed": {changed, false},
	} {
		if got, err := arePublished(tt.profiles); err != nil || got != tt.want {
			t.Errorf("%s: published is %v (%v), want %v", name, got, err, tt.want)
		}
	}
}
