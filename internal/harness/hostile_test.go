package harness

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/parquet"
	parquetcolumns "github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

const smallHeader = `{"version":2,"status":"success","eval":{"task":"t","model":"m"}}`

// packed is a zip of members by their names, in this order.
func packed(t testing.TB, members ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.Create(m[0])
		if err == nil {
			_, err = io.WriteString(w, m[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// open reads an archive within limits.
func open(data []byte, most limits) (Log, error) {
	l := &inspectLog{logBuilder: newLogBuilder(Log{Format: "inspect"})}
	if err := l.archive(bytes.NewReader(data), int64(len(data)), most); err != nil {
		return Log{}, err
	}
	return l.finish()
}

func sampleOf(id string) string {
	return fmt.Sprintf(`{"id":%q,"epoch":1,"scores":{"s":{"value":1}}}`, id)
}

func TestHostileArchives(t *testing.T) {
	small := limits{directory: 4 << 10, member: 1 << 20, all: 3 << 19}
	bomb := "[" + strings.Repeat(" ", 8<<20) + sampleOf("x") + "]"
	var many [][2]string
	for i := range 200 {
		many = append(many, [2]string{fmt.Sprintf("samples/%d.json", i), "{}"})
	}
	whole := packed(t, [2]string{"header.json", smallHeader}, [2]string{"summaries.json", "[" + sampleOf("x") + "]"})
	long := strings.Repeat(" ", 900<<10)
	cases := []struct {
		name string
		data []byte
		want string
	}{
		{"a bomb", packed(t, [2]string{"header.json", smallHeader}, [2]string{"summaries.json", bomb}), "summaries.json: sample 1: it decompresses to more than 1.0 MiB"},
		{"bombs together", packed(t, [2]string{"header.json", smallHeader + long}, [2]string{"summaries.json", "[" + long + "]"}), "summaries.json: sample 1: it decompresses to more than 0.6 MiB"},
		{"many members", packed(t, many...), "the zip's list of members is longer than any log's"},
		{"no log", packed(t, [2]string{"readme", "x"}), "neither header.json nor _journal/start.json"},
		{"climbing names", packed(t, [2]string{"../header.json", smallHeader}, [2]string{"/summaries.json", "[]"}), "neither header.json nor"},
		{"cut short", whole[:len(whole)-10], "the zip is cut short or broken"},
		{"cut in a member", packed(t, [2]string{"header.json", smallHeader[:30]}), "the text is cut short"},
		{"more after the end", packed(t, [2]string{"header.json", smallHeader + "[]"}), "header.json: byte"},
		{"not UTF-8", packed(t, [2]string{"header.json", `{"eval":{"task":"` + "\xff" + `"}}`}), "is not UTF-8"},
		{"deep", packed(t, [2]string{"header.json", `{"plan":` + strings.Repeat("[", 5000)}), "nested more than 200 deep"},
		{"a long id", packed(t, [2]string{"header.json", smallHeader}, [2]string{"summaries.json", "[" + sampleOf(strings.Repeat("x", 2000)) + "]"}), "is longer than 1024 bytes"},
		{"a wrong checksum", bytes.Replace(whole, []byte{0x50, 0x4b, 0x03, 0x04, 0x14}, []byte{0x50, 0x4b, 0x03, 0x04, 0x63}, 1), ""},
	}
	for _, c := range cases {
		log, err := open(c.data, small)
		if c.want == "" {
			if err != nil || len(log.Tasks) != 1 {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if log, err := open(whole, small); err != nil || len(log.Tasks) != 1 {
		t.Errorf("a good one: %v", err)
	}
}

// endless is a log whose samples have long texts, made while it is read.
type endless struct {
	left   int
	sample []byte
	next   []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.next) == 0 {
		switch e.left--; {
		case e.left > 0:
			e.next = append(e.next, e.sample...)
		case e.left == 0:
			e.next = []byte(`{"id":"last","epoch":1,"scores":{"s":{"value":1}}}]}`)
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, e.next)
	e.next = e.next[n:]
	return n, nil
}

// A log of 400 MB takes a few MB of memory.
func TestMemoryDoesNotFollowTheLog(t *testing.T) {
	text := strings.Repeat("answer NaN -Infinity ", 50_000)
	sample := []byte(fmt.Sprintf(`{"id":"x","epoch":1,"input":%q,"events":[{"a":[%s1]}],"scores":{"s":{"value":NaN}}},`, text, strings.Repeat("1,", 10_000)))
	const samples = 400
	before := `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[`
	var most uint64
	done, stop := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	}()
	l := &inspectLog{logBuilder: newLogBuilder(Log{Format: "inspect"})}
	err := l.whole(io.MultiReader(strings.NewReader(before), &endless{left: samples + 1, sample: sample}))
	close(stop)
	<-done
	log, wrong := l.finish()
	if err != nil || wrong != nil || len(log.Tasks) != 1 || log.Left != samples {
		t.Fatalf("%v, %v, %d left out", err, wrong, log.Left)
	}
	if most > 64<<20 {
		t.Errorf("%d MB of memory for a log of %d MB", most>>20, samples*len(sample)>>20)
	}
}

// One text that is longer than any log's is refused, and not kept.
func TestAGiganticTextIsRefused(t *testing.T) {
	l := &inspectLog{logBuilder: newLogBuilder(Log{})}
	err := l.whole(io.MultiReader(strings.NewReader(`{"plan":"`), io.LimitReader(spaces{}, 1<<30)))
	if err == nil || !strings.Contains(err.Error(), "a text or number is longer than 16 MiB") {
		t.Error(err)
	}
}

// parts is a text that is made while it is read.
type parts struct {
	n, at int
	part  func(i int) string
	next  string
}

func (r *parts) Read(p []byte) (int, error) {
	if r.next == "" {
		if r.at == r.n {
			return 0, io.EOF
		}
		r.next = r.part(r.at)
		r.at++
	}
	n := copy(p, r.next)
	r.next = r.next[n:]
	return n, nil
}

// What a log may make the reader keep is bounded, though all of it is well formed.
func TestWhatIsKeptOfALogIsBounded(t *testing.T) {
	const allocation = `{"results":{"early_stopping":{"metadata":{"speceval":{"selected":{`
	long := strings.Repeat("x", 1000)
	cases := []struct {
		name, before string
		n            int
		part         func(i int) string
		want         string
	}{
		{"ids of an allocation", allocation, 70_000, func(i int) string { return fmt.Sprintf(`"%06d%s":1,`, i, long) },
			"the task ids of its allocation are longer than 1024 bytes, or than 64 MiB together"},
		{"epochs of an allocation", allocation + `"x":[`, maxRollouts/1000 + 1, func(int) string { return strings.Repeat("1,", 1000) },
			"its allocation lists more than 8388608 epochs"},
		{"keys", `{"` + long, 4, func(int) string { return long }, "is longer than 4096 bytes"},
	}
	for _, c := range cases {
		l := &inspectLog{logBuilder: newLogBuilder(Log{})}
		err := l.whole(io.MultiReader(strings.NewReader(c.before), &parts{n: c.n, part: c.part}, strings.NewReader(`":1}`)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	many := &inspectLog{logBuilder: newLogBuilder(Log{}), chooser: chooser{wanted: "s64"}}
	scores := &parts{n: 65, part: func(i int) string { return fmt.Sprintf(`"s%d":{"value":1},`, i) }}
	err := many.whole(io.MultiReader(strings.NewReader(`{"samples":[{"id":"x","epoch":1,"scores":{`), scores, strings.NewReader(`"z":{"value":1}}}]}`)))
	if _, wrong := many.finish(); err != nil || wrong == nil || !strings.Contains(wrong.Error(), `it has no scores by "s64", but by s0, s1`) {
		t.Errorf("scores: %v, %v", err, wrong)
	}
	all := &trials{}
	for i := range maxLogs {
		if _, err := all.of("job", "b", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := all.of("job", "b", "0"); err != nil {
		t.Error(err)
	}
	if _, err := all.of("job", "c", "0"); err == nil || !strings.Contains(err.Error(), "more than 16384 benchmarks, models or jobs") {
		t.Error(err)
	}
}

// A file of Parquet has a text once in its dictionary, and any number of times in its
// rows.
func TestTextsOfParquetAreBounded(t *testing.T) {
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{
		schema.NewByteArrayNode("doc.id", parquet.Repetitions.Required, -1),
		schema.NewByteArrayNode("metric.m", parquet.Repetitions.Required, -1),
	}, -1)
	if err != nil {
		t.Fatal(err)
	}
	written := func(rows, length int) string {
		var b bytes.Buffer
		out := parquetcolumns.NewParquetWriter(&b, root)
		group := out.AppendRowGroup()
		for _, text := range []string{"id", "1"} {
			values := make([]parquet.ByteArray, rows)
			for i := range values {
				values[i] = parquet.ByteArray(text + strings.Repeat(" ", length))
			}
			column, err := group.NextColumn()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := column.(*parquetcolumns.ByteArrayColumnChunkWriter).WriteBatch(values, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "details.parquet")
		if b.Len() > 1<<20 {
			t.Errorf("the file has %d bytes", b.Len())
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := Read(written(40_000, 1000), ""); err == nil || !strings.Contains(err.Error(), "column metric.m: the texts of a row group are longer than 64 MiB") {
		t.Error(err)
	}
	if _, err := Read(written(1_500_000, 0), ""); err == nil || !strings.Contains(err.Error(), "column doc.id: 1500000 values in a row group of 1500000 rows, at most 1398101 can be read") {
		t.Error(err)
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// Whatever is in an archive or a file, it is a sound log or an error.
func FuzzRead(f *testing.F) {
	seeds, _ := filepath.Glob("testdata/inspect/*")
	more, _ := filepath.Glob("testdata/*/*/*.json*")
	deeper, _ := filepath.Glob("testdata/*/*/*/*")
	for _, name := range append(append(seeds, more...), deeper...) {
		if data, err := os.ReadFile(name); err == nil && len(data) < 30_000 {
			f.Add(filepath.Base(name), data)
		}
	}
	f.Add("x.eval", packed(f, [2]string{"header.json", smallHeader}, [2]string{"summaries.json", "[" + sampleOf("x") + "]"}))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		name = "x_" + strings.Map(func(r rune) rune {
			if r < '.' || r == '/' || r > 'z' {
				return '-'
			}
			return r
		}, name)
		path := filepath.Join(t.TempDir(), name[:min(len(name), 100)])
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Skip(err)
		}
		for _, format := range append(Formats(), "") {
			logs, err := Read(path, format)
			if err != nil {
				if !strings.Contains(err.Error(), "x_") && !strings.Contains(err.Error(), filepath.Dir(path)) {
					t.Errorf("%s: error %q does not name the file", format, err)
				}
				continue
			}
			for _, l := range logs {
				seen := map[string]bool{}
				for _, task := range l.Tasks {
					if seen[task.ID] || task.ID == "" || len(task.Rollouts) == 0 {
						t.Errorf("%s: task %q", format, task.ID)
					}
					seen[task.ID] = true
					for k, r := range task.Rollouts {
						if !(r.Reward >= 0 && r.Reward <= 1) || r.Number < 1 || k > 0 && r.Number <= task.Rollouts[k-1].Number {
							t.Errorf("%s: rollout %+v", format, r)
						}
					}
				}
			}
		}
	})
}
