package upstream_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/upstream"
)

// sourcesWith is the list of sources with one digest of the files of the first.
func sourcesWith(digest string) []byte {
	lines := strings.SplitAfter(string(data.UpstreamSources()), "\n")
	lines[1] = strings.TrimSuffix(lines[1], "\n") + digest + "\n"
	return []byte(strings.Join(lines, ""))
}

// A file whose SHA-256 is known is read if it has that, and is otherwise refused,
// unless it is taken as data that was never published.
func TestFilesOfOtherBytesAreRefused(t *testing.T) {
	groups, o := files(t, "aime24")
	g := groups[0]
	path := g.Source.Path(o.From, g.Source.Files[0])
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(bytes)
	right := hex.EncodeToString(sum[:])
	other := strings.Repeat("0", 64)
	for _, test := range []struct {
		known       string
		unpublished bool
		want        string
	}{
		{"", false, ""},
		{right, false, ""},
		{other, false, path + " has the SHA-256 " + right + ", and data/train-00000-of-00001.parquet of HuggingFaceH4/aime_2024 at revision 2fe88a2f has " + other},
		{other, true, ""},
	} {
		parsed, err := upstream.Parse(sourcesWith(test.known), data.UpstreamGroups())
		if err != nil {
			t.Fatal(err)
		}
		o.Unpublished = test.unpublished
		err = upstream.Prepare(t.Context(), parsed[:1], o)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("known %q: %v, want %q", test.known, err, test.want)
		}
		if err := parsed[0].Source.Check(g.Source.Files[0], path, right); (err != nil) != (test.known == other) {
			t.Errorf("known %q: after a download: %v", test.known, err)
		}
	}
	for _, digest := range []string{"abc", right + ";" + right, strings.ToUpper(right)} {
		if _, err := upstream.Parse(sourcesWith(digest), data.UpstreamGroups()); err == nil || !strings.Contains(err.Error(), "sha256 is") {
			t.Errorf("%q: %v", digest, err)
		}
	}
}
