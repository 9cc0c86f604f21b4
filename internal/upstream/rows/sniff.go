package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"speceval/internal/parquetfile"
)

// sniff says what a file is that is no file of data at all, by its first bytes:
// what is saved in the place of a download that failed.
func sniff(file *os.File, format string) error {
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot be read: %w", err)
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head[:n], byteOrderMark))
	switch {
	case n == 0:
		return errors.New("is empty: download it again")
	case bytes.HasPrefix(text, []byte("version https://git-lfs")):
		return errors.New("is a Git LFS pointer, not the file that it stands for: get that with git lfs pull, or download it")
	case bytes.HasPrefix(text, []byte("<")):
		return fmt.Errorf("is a web page, not a %s file: download the file itself (of a gated dataset only after its terms are accepted)", format)
	case format != "parquet" && parquetfile.IsParquet(head):
		return fmt.Errorf("is a Parquet file, not a %s file", format)
	}
	return nil
}

// byteOrderMark begins some CSV files.
var byteOrderMark = []byte("\ufeff")
