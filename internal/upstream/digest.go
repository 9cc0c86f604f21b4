package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"speceval/internal/files"
)

// Known is the SHA-256 of a file of the source, "" where it is not known.
func (s *Source) Known(file string) string {
	for i, name := range s.Files {
		if name == file {
			return s.SHA256[i]
		}
	}
	return ""
}

// Check is an error where a file of the source is known to have another SHA-256 than
// this one; path is what the error calls it.
func (s *Source) Check(file, path, digest string) error {
	if known := s.Known(file); known != "" && known != digest {
		return fmt.Errorf("%s has the SHA-256 %s, and %s of %s at revision %.8s has %s: it was changed, or is of another revision; download it again, or take it as it is with --unpublished",
			path, digest, file, s.Dataset, s.Revision, known)
	}
	return nil
}

// checkFile is Check of the bytes at a path, where their digest is known.
func (s *Source) checkFile(ctx context.Context, file, path string) error {
	if s.Known(file) == "" {
		return nil
	}
	disk, err := files.OpenInput(path, files.Upstream)
	if err != nil {
		return err
	}
	defer disk.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, untilDone{ctx, disk}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return s.Check(file, path, hex.EncodeToString(sum.Sum(nil)))
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}
