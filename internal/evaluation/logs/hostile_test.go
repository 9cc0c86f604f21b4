package logs

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/store/rowfile"
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

// stored is a file of this content.
func stored(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func sampleOf(id string) string {
	return fmt.Sprintf(`{"id":%q,"epoch":1,"scores":{"s":{"value":1}}}`, id)
}

// claimed is a zip of a header that claims a size.
func claimed(t *testing.T, size uint64) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	_, err := z.CreateRaw(&zip.FileHeader{Name: "header.json", UncompressedSize64: size})
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// crowded is a zip of a million members, as its list has them.
func crowded() []byte {
	const name = "samples/1_epoch_1.json"
	entry := append(make([]byte, 46), name...)
	copy(entry, "PK\x01\x02")
	binary.LittleEndian.PutUint16(entry[28:], uint16(len(name)))
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	const entries = 1_000_000
	binary.LittleEndian.PutUint16(end[8:], entries&0xffff)
	binary.LittleEndian.PutUint16(end[10:], entries&0xffff)
	binary.LittleEndian.PutUint32(end[12:], uint32(entries*len(entry)))
	binary.LittleEndian.PutUint32(end[16:], 4)
	return slices.Concat([]byte("PK\x03\x04"), bytes.Repeat(entry, entries), end)
}

func TestHostileArchives(t *testing.T) {
	bomb := "[" + strings.Repeat(" ", 130<<20) + sampleOf("x") + "]"
	whole := packed(t, [2]string{"header.json", smallHeader}, [2]string{"summaries.json", "[" + sampleOf("x") + "]"})
	cases := []struct {
		name string
		data []byte
		want string
	}{
		{"a bomb", packed(t, [2]string{"header.json", smallHeader}, [2]string{"summaries.json", bomb}), "summaries.json: a text or value is longer than 64 MiB"},
		{"a member that claims too much", claimed(t, 9<<30), "header.json: it decompresses to more than 8 GiB"},
		{"many members", crowded(), "its list of members is longer than any log's"},
		{"no log", packed(t, [2]string{"readme", "x"}), "neither header.json nor _journal/start.json"},
		{"climbing names", packed(t, [2]string{"../header.json", smallHeader}, [2]string{"/summaries.json", "[]"}), "neither header.json nor"},
		{"cut short", whole[:len(whole)-10], "the zip is cut short or broken"},
		{"cut in a member", packed(t, [2]string{"header.json", smallHeader[:30]}), "the text is cut short"},
		{"more after the end", packed(t, [2]string{"header.json", smallHeader + "[]"}), "header.json: byte"},
		{"a version to come", packed(t, [2]string{"header.json", strings.Replace(smallHeader, "2", "3", 1)}), "its version is 3, this speceval reads up to 2"},
		{"deep", packed(t, [2]string{"header.json", `{"plan":` + strings.Repeat("[", 50_000)}), "exceeded max depth"},
		{"an object for a text", packed(t, [2]string{"header.json", `{"eval":{"task":{}}}`}), "/eval/task is another kind of value than is wanted there"},
		{"half of a surrogate pair", packed(t, [2]string{"header.json", smallHeader}, [2]string{"summaries.json", `[{"id":"\ud800","epoch":1,"scores":{"s":{"value":1}}}]`}), "is not UTF-8"},
	}
	for _, c := range cases {
		_, err := readAt(stored(t, "x.eval", c.data), "inspect")
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
			t.Errorf("%s: %.2000v, want %q", c.name, err, c.want)
		}
	}
	if all, err := readAt(stored(t, "x.eval", whole), ""); err != nil || len(all) != 1 || len(all[0].Tasks) != 1 {
		t.Errorf("a good one: %v", err)
	}
}

func readAt(path, format string) ([]Log, error) {
	all, _, err := Choice{Format: format}.Read(path)
	return all, err
}

// reading is a log of Inspect that is read from a stream.
func reading(t *testing.T, r io.Reader) (*draft, error) {
	t.Helper()
	l := &inspectLog{draft: (&book{at: make(map[[2]string]*draft)}).draft("", "")}
	l.Samples.each = l.sample
	return l.draft, into(r, l)
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

// TestMetricsOverSamples has names of metrics as lighteval gives them: each is one rollout's reward
// (0), the share of a number of them that passed, or refused.
func TestMetricsOverSamples(t *testing.T) {
	for _, c := range []struct {
		metric        string
		samples, want int
		refused       bool
	}{
		{"extractive_match", 1, 0, false}, {"extractive_match", 4, 0, true}, {"pass@1:4_samples", 4, 4, false}, {"pass@k:k=1&n=2", 4, 2, false},
		{"pass@k:k=2&n=4", 4, 0, true}, {"avg@n:n=4", 1, 4, false}, {"avg@64", 64, 64, false}, {"avg@64", 1, 0, true}, {"maj@n", 4, 0, true}, {"g-pass@4", 4, 0, true},
	} {
		n, err := (&responses{all: c.samples, seen: c.samples}).share(member{c.metric, []byte("0.5")})
		if refused := err != nil && strings.Contains(err.Error(), c.metric+" makes one value of several responses"); n != c.want || refused != c.refused || err != nil && !refused {
			t.Errorf("%s of %d samples: %d, %v", c.metric, c.samples, n, err)
		}
	}
}

// A log of 400 MB takes a few MB of memory.
func TestMemoryDoesNotFollowTheLog(t *testing.T) {
	text := strings.Repeat("answer NaN -Infinity ", 50_000)
	sample := []byte(fmt.Sprintf(`{"id":"x","epoch":1,"input":%q,"events":[{"a":[%s1]}],"scores":{"s":{"value":NaN}}},`, text, strings.Repeat("1,", 10_000)))
	const samples = 400
	before := `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[`
	runtime.GC() // what other tests left
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
	log, err := reading(t, io.MultiReader(strings.NewReader(before), &endless{left: samples + 1, sample: sample}))
	close(stop)
	<-done
	if err != nil || len(log.Tasks) != 1 || log.Left != samples {
		t.Fatalf("%v, %d left out", err, log.Left)
	}
	if most > 64<<20 {
		t.Errorf("%d MB of memory for a log of %d MB", most>>20, samples*len(sample)>>20)
	}
}

// One text that is longer than any log's is refused, and not kept.
func TestAGiganticTextIsRefused(t *testing.T) {
	_, err := reading(t, io.MultiReader(strings.NewReader(`{"plan":"`), io.LimitReader(spaces{}, 1<<30)))
	if err == nil || !strings.Contains(err.Error(), "a text or value is longer than 64 MiB") {
		t.Error(err)
	}
}

// A number of epochs, or a Parquet file of repeated texts, is small and says much: it is not
// spread out in memory.
func TestSmallFilesTakeLittleMemory(t *testing.T) {
	allocation := `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"results":{"early_stopping":{"manager":"speceval","metadata":{"speceval":{"protocol":1,"selected":{"x":1`
	for i := range 20 {
		allocation += fmt.Sprintf(`,"%d":%d`, i, maxRollouts)
	}
	details := filepath.Join(t.TempDir(), "details_x.parquet")
	rows := slices.Repeat([]struct {
		ID     string  `parquet:"doc.id"`
		Metric float64 `parquet:"metric.m"`
	}{{strings.Repeat("x", 100_000), 2}}, 5000)
	var b bytes.Buffer
	if err := rowfile.Write(&b, rows, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(details, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		stored(t, "x.json", []byte(allocation+"}}}}},\"samples\":["+sampleOf("x")+"]}")): "",
		details: "the reward 2 is outside 0 to 1",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAt(path, "")
		runtime.ReadMemStats(&after)
		if said := fmt.Sprint(err); err == nil != (want == "") || !strings.Contains(said, want) {
			t.Errorf("%s: %.200s", path, said)
		}
		if all := after.TotalAlloc - before.TotalAlloc; all > 100<<20 {
			t.Errorf("%s: %d MB of memory", path, all>>20)
		}
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
			logs, err := readAt(path, format)
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
