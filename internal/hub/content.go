package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// content is what the service says about a file's bytes.
type content struct {
	Commit string `json:"commit"` // of the revision, as answered
	Size   int64  `json:"size"`   // in bytes; -1: unknown
	// Tag changes with the bytes: the SHA-256 of a large file, Git's SHA-1 of
	// another, or anything else of a service that is not the real one.
	Tag string `json:"tag"`
}

// sayings are what the answers on the way to a file say about it.
type sayings struct {
	content
	linked bool // Tag is of linked content
}

var digest = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// learn adds what the headers of one answer of the endpoint say. Tags that are
// hashes count before others, and those of linked content before all.
func (c *sayings) learn(response *http.Response) error {
	header := response.Header
	if encoding := header.Get("Content-Encoding"); encoding != "" && encoding != "identity" && response.StatusCode < 300 {
		return fmt.Errorf("the service sends the file packed by %q, though asked not to", encoding)
	}
	if c.Commit == "" {
		c.Commit = header.Get("X-Repo-Commit")
	}
	if tag := bare(header.Get("X-Linked-Etag")); tag != "" && !c.linked {
		c.Tag, c.linked = tag, true
	}
	if tag := bare(header.Get("ETag")); tag != "" && !c.linked && (digest.MatchString(tag) || !digest.MatchString(c.Tag)) {
		c.Tag = tag
	}
	if text := header.Get("X-Linked-Size"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("the service says that the file has %q bytes", text)
		}
		c.Size = n
	} else if c.Size < 0 && response.StatusCode == http.StatusOK {
		c.Size = response.ContentLength
	}
	return nil
}

// bare is an entity tag without its quotes.
func bare(tag string) string {
	return strings.Trim(strings.TrimPrefix(tag, "W/"), `"`)
}

// revised checks that a file is of the revision that was asked for.
func (c content) revised(revision string) error {
	switch c.Commit {
	case revision:
		return nil
	case "":
		return fmt.Errorf("the service does not say of which revision the file is (X-Repo-Commit), want %s: is HF_ENDPOINT right?", revision)
	}
	return fmt.Errorf("the service answers with revision %q, want %s", c.Commit, revision)
}

// agrees checks what a later answer says against c.
func (c content) agrees(later content) error {
	switch {
	case later.Commit != "" && later.Commit != c.Commit:
		return fmt.Errorf("the file was of revision %q, and now is of %q", c.Commit, later.Commit)
	case later.Size >= 0 && later.Size != c.Size:
		return fmt.Errorf("the file had %d bytes, and now has %d", c.Size, later.Size)
	case later.Tag != "" && later.Tag != c.Tag:
		return fmt.Errorf("the file had the tag %q, and now has %q", c.Tag, later.Tag)
	}
	return nil
}

// checkRange checks that an answer starts at a byte of a file of some size, by
// its Content-Range, like "bytes 7-9/10".
func checkRange(text string, start, size int64) error {
	rest, ok := strings.CutPrefix(text, fmt.Sprintf("bytes %d-", start))
	if _, total, found := strings.Cut(rest, "/"); !ok || !found || total != "*" && total != strconv.FormatInt(size, 10) {
		return fmt.Errorf("asked for the bytes after %d of %d, the service sends %q", start, size, text)
	}
	return nil
}

// otherBytes says that a file has other bytes than the service says.
type otherBytes struct{ what, got, want string }

func (e *otherBytes) Error() string {
	return fmt.Sprintf("its %s is %s, want %s", e.what, e.got, e.want)
}

// verify reads a file from its start. It is an *otherBytes error if it is not
// what the service says.
func (c content) verify(ctx context.Context, file *os.File) (Fetched, error) {
	info, err := file.Stat()
	if err != nil {
		return Fetched{}, err
	}
	if info.Size() != c.Size {
		return Fetched{}, &otherBytes{"size", strconv.FormatInt(info.Size(), 10), strconv.FormatInt(c.Size, 10)}
	}
	whole, blob := sha256.New(), sha1.New()
	fmt.Fprintf(blob, "blob %d\x00", c.Size)
	fetched := Fetched{Bytes: c.Size, Revision: c.Commit, Verified: "size"}
	into := io.Writer(whole)
	if len(c.Tag) == 2*sha1.Size && digest.MatchString(c.Tag) {
		into = io.MultiWriter(whole, blob)
		fetched.Verified = "git"
	}
	n, err := io.CopyBuffer(into, &untilDone{ctx, io.NewSectionReader(file, 0, c.Size)}, make([]byte, 256<<10))
	if err == nil && n != c.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Fetched{}, err
	}
	fetched.SHA256 = sum(whole)
	if len(c.Tag) == 2*sha256.Size && digest.MatchString(c.Tag) {
		fetched.Verified = "sha256"
		if fetched.SHA256 != c.Tag {
			return Fetched{}, &otherBytes{"SHA-256", fetched.SHA256, c.Tag}
		}
	}
	if got := sum(blob); fetched.Verified == "git" && got != c.Tag {
		return Fetched{}, &otherBytes{"SHA-1 as Git's blob", got, c.Tag}
	}
	return fetched, nil
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// untilDone reads until a context is done.
type untilDone struct {
	ctx  context.Context
	from io.Reader
}

func (r *untilDone) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.from.Read(p)
}
