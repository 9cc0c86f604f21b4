package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/store/journal"
)

// note is a record with all that JSON could spoil.
type note struct {
	Page   int32  `json:"page"`
	Number int32  `json:"number"`
	Text   string `json:"text"`
	Maybe  *int32 `json:"maybe"`
}

type key struct{ page, number int32 }

func (k key) String() string { return fmt.Sprintf("note %d of %d", k.number, k.page) }

func (n *note) key() key { return key{n.Page, n.Number} }

func some(page, number int) *note {
	n := &note{Page: int32(page), Number: int32(number), Text: "line\nbreak “quoted” <&> \u2028 \x00 \\boxed{1}"}
	if number%2 == 0 {
		n.Maybe = &n.Page
	}
	return n
}

func open(t testing.TB, path string) (*journal.Journal[note, key], int) {
	t.Helper()
	j, damaged, err := journal.Open(path, (*note).key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, damaged
}

func appendAll(t testing.TB, j *journal.Journal[note, key], all ...*note) {
	t.Helper()
	for _, r := range all {
		if err := j.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAJournalGivesBackWhatItTook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+journal.Suffix)
	j, _ := open(t, path)
	long := some(1, 1)
	long.Text = strings.Repeat("x", 200_000) // longer than the reader's buffer
	appendAll(t, j, some(0, 0), long, some(0, 3))
	for _, j := range []*journal.Journal[note, key]{j, first(open(t, path))} {
		if j.Len() != 3 || !j.Has(key{0, 3}) || j.Has(key{3, 0}) {
			t.Errorf("%d notes", j.Len())
		}
		for _, want := range []*note{some(0, 0), long, some(0, 3)} {
			if got, err := j.Read(want.key()); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("read %+v, %v", got, err)
			}
		}
	}
	if _, err := j.Read(key{9, 0}); err == nil || !strings.Contains(err.Error(), "note 0 of 9 is not in the journal") {
		t.Errorf("error %v", err)
	}
	removed := j.Remove()
	if _, err := os.Stat(path); removed != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed: %v, and still there: %v", removed, err)
	}
}

func first(j *journal.Journal[note, key], _ int) *journal.Journal[note, key] { return j }

func TestAJournalCutAnywhereKeepsItsWholeLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.journal")
	j, _ := open(t, path)
	appendAll(t, j, some(0, 0), some(0, 1))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		cut := filepath.Join(dir, "cut.journal")
		if err := os.WriteFile(cut, data[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		j, damaged := open(t, cut)
		if want := bytes.Count(data[:n], []byte("\n")); j.Len() != want || damaged != 0 {
			t.Fatalf("of %d bytes: %d notes and %d damaged lines, want %d and 0", n, j.Len(), damaged, want)
		}
		appendAll(t, j, some(5, 5))
		if again, damaged := open(t, cut); again.Len() != j.Len() || damaged != 0 {
			t.Fatalf("of %d bytes: after another append %d notes, %d damaged lines", n, again.Len(), damaged)
		}
		j.Close()
	}
}

func TestADamagedLineCostsOneNote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	j, _ := open(t, path)
	appendAll(t, j, some(0, 0), some(0, 1), some(0, 2))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(`"number":1`))
	for _, b := range []int{at, at + 10, bytes.IndexByte(data, '\n') + 2} {
		bad := slices.Clone(data)
		bad[b] ^= 1
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		j, damaged := open(t, path)
		if j.Len() != 2 || damaged != 1 || j.Has(key{0, 1}) {
			t.Errorf("byte %d: %d notes, %d damaged lines", b, j.Len(), damaged)
		}
	}
}

func TestAJournalThatCannotBeWrittenSaysSo(t *testing.T) {
	j, _ := open(t, filepath.Join(t.TempDir(), "a.journal"))
	j.Close()
	for range 2 {
		if err := j.Append(some(0, 0)); err == nil || !strings.Contains(err.Error(), "store note 0 of 0") {
			t.Errorf("error %v", err)
		}
	}
	if _, _, err := journal.Open(t.TempDir(), (*note).key); err == nil {
		t.Error("a folder is a journal")
	}
}

func TestARecordThatIsNoJSONBreaksNothing(t *testing.T) {
	j, _, err := journal.Open(filepath.Join(t.TempDir(), "a.journal"), func(x *float64) bool { return *x < 0 })
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	bad, good := math.NaN(), -1.5
	if err := j.Append(&bad); err == nil || !strings.Contains(err.Error(), "store false") {
		t.Errorf("error %v", err)
	}
	if err := j.Append(&good); err != nil || j.Len() != 1 {
		t.Errorf("after a record that is refused: %v", err)
	}
}

func TestOfOneIDTheLastRecordCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	j, _ := open(t, path)
	later := some(0, 1)
	later.Text = "second thoughts"
	appendAll(t, j, some(0, 1), later)
	for _, j := range []*journal.Journal[note, key]{j, first(open(t, path))} {
		if got, err := j.Read(key{0, 1}); err != nil || got.Text != later.Text || j.Len() != 1 {
			t.Errorf("read %+v, %v, of %d", got, err, j.Len())
		}
	}
}

func TestRecordsAreReadWithoutChangingTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	j, _ := open(t, path)
	appendAll(t, j, some(4, 2), some(0, 0), some(4, 2))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, "00000000 {}\n00000000 {\"page\""...)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	var got []key
	for n, err := range journal.Records[note](path) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n.key())
	}
	if want := []key{{4, 2}, {0, 0}, {4, 2}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for n := range journal.Records[note](path) {
		if n.key() != (key{4, 2}) {
			t.Errorf("first %v", n.key())
		}
		break
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
		t.Errorf("the file has changed, %v", err)
	}
	for _, err := range journal.Records[note](path + ".absent") {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	}
}

func FuzzJournal(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.journal")
	j, _ := open(f, path)
	appendAll(f, j, some(0, 0), some(2, 1))
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("00000000 {}\n"))
	f.Add([]byte("zz\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.journal")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		j, damaged := open(t, path)
		if n := bytes.Count(data, []byte("\n")); j.Len()+damaged > n {
			t.Errorf("%d notes and %d damaged lines of %d", j.Len(), damaged, n)
		}
		before := j.Len()
		had := j.Has(some(7, 7).key())
		appendAll(t, j, some(7, 7))
		again, _ := open(t, path)
		if got, err := again.Read(some(7, 7).key()); err != nil || !reflect.DeepEqual(got, some(7, 7)) || again.Len() != j.Len() || (again.Len() == before) != had {
			t.Errorf("after an append: %d notes, had %d; %+v, %v", again.Len(), before, got, err)
		}
	})
}
