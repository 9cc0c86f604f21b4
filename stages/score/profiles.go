package score

import (
	"context"
	"io"

	"speceval/internal/profile"
	"speceval/pipeline/dag"
)

// ProfilesFile holds the profiles of all benchmarks and models.
const ProfilesFile = "score/profiles.parquet"

// profilesUnit gathers the profiles, degenerate ones included.
func (s *Settings) profilesUnit() dag.Unit {
	u := dag.Unit{ID: "profiles", Outputs: []string{ProfilesFile}, Provenance: "computed"}
	for _, c := range s.corpora() {
		u.Needs = append(u.Needs, c.ref())
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		var all []profile.Profile
		rows := 0
		for _, p := range Pairs(*s) {
			made, err := p.Profile(job)
			if err != nil {
				return err
			}
			all, rows = append(all, made), rows+made.N()
		}
		return job.Write(ProfilesFile, rows, func(w io.Writer) error {
			return profile.Write(w, all, job.Footer(profile.Schema))
		})
	}
	return u
}
