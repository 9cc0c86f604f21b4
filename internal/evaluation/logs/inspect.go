package logs

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"speceval/internal/store/files"
)

// manager is the name under which speceval allocates in Inspect.
const manager = "speceval"

// inspectVersion is the newest version of logs that is known.
const inspectVersion = 2

// inspectLog is header.json, _journal/start.json or a whole log: they have the same keys.
type inspectLog struct {
	Version     int    `json:"version"`
	Status      string `json:"status"` // success, started, cancelled or error
	Invalidated bool   `json:"invalidated"`
	Eval        struct {
		Task     string         `json:"task"`
		Model    string         `json:"model"`
		Metadata jsontext.Value `json:"metadata"`
		Scorers  jsontext.Value `json:"scorers"`
		Metrics  jsontext.Value `json:"metrics"`
	} `json:"eval"`
	Results struct {
		Stopping struct {
			Manager  string           `json:"manager"`
			Stops    []jsontext.Value `json:"early_stops"`
			Metadata struct {
				Allocation *struct {
					Protocol int               `json:"protocol"`
					Selected map[string]epochs `json:"selected"`
					Snapshot jsontext.Value    `json:"snapshot"`
					Result   jsontext.Value    `json:"result"` // of our exports
				} `json:"speceval"`
			} `json:"metadata"`
		} `json:"early_stopping"`
	} `json:"results"`
	Samples list[inspectSample] `json:"samples"` // summaries have the same keys

	draft *draft
}

// inspectSample is an epoch of a sample.
type inspectSample struct {
	ID     taskID                   `json:"id"`
	Epoch  int                      `json:"epoch"`
	Scores members                  `json:"scores"`
	UUID   string                   `json:"uuid"`
	Error  jsontext.Value           `json:"error"`
	Usage  map[string]*inspectUsage `json:"model_usage"`
}

// inspectUsage are tokens of a model. Inspect counts prompts from a cache apart.
type inspectUsage struct {
	Input  int64 `json:"input_tokens"`
	Read   int64 `json:"input_tokens_cache_read"`
	Write  int64 `json:"input_tokens_cache_write"`
	Output int64 `json:"output_tokens"`
}

// readInspect reads the logs of Inspect, .eval and .json.
func readInspect(b *book, path string) error {
	l := &inspectLog{draft: b.draft("", "")}
	l.draft.last = true // a sample was run again
	l.Samples.each = l.sample
	head, err := Head(path)
	if err == nil && bytes.HasPrefix(head, []byte(zipped)) {
		err = l.zip(path)
	} else if err == nil {
		err = object(path, l)
	}
	return cmp.Or(err, l.finish())
}

const zipped = "PK\x03\x04"

const (
	zstdMethod   = 93       // of zip
	maxDirectory = 48 << 20 // bytes of a zip's list of members, half a million samples
	maxUnpacked  = 8 << 30  // bytes of a member, decompressed
)

// zip reads a log in the .eval form: of its members only the header and the summaries
// of samples, or the journal of a run that did not come to its end.
func (l *inspectLog) zip(path string) error {
	disk, err := files.OpenInput(path, files.Log)
	if err != nil {
		return err
	}
	defer disk.Close()
	info, err := disk.Stat()
	if err != nil {
		return err
	}
	directory := &directory{disk, maxDirectory}
	archive, err := zip.NewReader(directory, info.Size())
	if err != nil {
		return fmt.Errorf("the zip is cut short or broken: %w", err)
	}
	directory.left = math.MaxInt64
	archive.RegisterDecompressor(zstdMethod, zstd.ZipDecompressor(zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20)))
	members, journal := make(map[string]*zip.File), make(map[int]*zip.File) // of one name the last
	for _, f := range archive.File {
		members[f.Name] = f
		name, is := strings.CutPrefix(f.Name, "_journal/summaries/")
		if n, err := strconv.Atoi(strings.TrimSuffix(name, ".json")); is && err == nil {
			journal[n] = f
		}
	}
	header := members["header.json"]
	if header == nil {
		header, l.Status = members["_journal/start.json"], "started"
	}
	if header == nil {
		return errors.New("it has neither header.json nor _journal/start.json: it is no log of Inspect")
	}
	if whole := members["summaries.json"]; whole != nil {
		journal = map[int]*zip.File{0: whole}
	}
	err = unpack(header, l)
	for _, n := range slices.Sorted(maps.Keys(journal)) {
		err = cmp.Or(err, unpack(journal[n], &l.Samples))
	}
	return err
}

// unpack reads a member as JSON. One that has more than it claims is an error of archive/zip.
func unpack(f *zip.File, value any) error {
	if f.UncompressedSize64 > maxUnpacked {
		return fmt.Errorf("%s: it decompresses to more than %d GiB", f.Name, maxUnpacked>>30)
	}
	content, err := f.Open()
	if err == nil {
		defer content.Close()
		err = into(content, value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// directory bounds the bytes that a zip's list of members may have.
type directory struct {
	*os.File
	left int64
}

func (d *directory) ReadAt(p []byte, at int64) (int, error) {
	if d.left -= int64(len(p)); d.left < 0 {
		return 0, errors.New("its list of members is longer than any log's")
	}
	return d.File.ReadAt(p, at)
}

// sample takes an epoch of a sample, with the tokens of the evaluated model alone.
func (l *inspectLog) sample(s *inspectSample) error {
	if !null(s.Error) {
		return l.draft.addScored(row{left: "the sample ended in an error"})
	}
	r := row{Rollout: ioTokens{}.rollout(s.Epoch, s.UUID), id: s.ID}
	if u := s.Usage[l.Eval.Model]; u != nil {
		r.PromptTokens, r.CompletionTokens = u.Input+u.Read+u.Write, u.Output
	}
	for _, by := range s.Scores {
		var score struct {
			Value jsontext.Value `json:"value"`
		}
		if err := parse(by.value, &score); err != nil {
			return err
		}
		if score.Value.Kind() != '{' {
			r.scores = append(r.scores, member{by.name, score.Value})
			continue
		}
		var parts members
		parse(score.Value, &parts) // of a value that was read, so that it cannot fail
		for _, part := range parts {
			r.scores = append(r.scores, member{by.name + "/" + part.name, part.value})
		}
	}
	return l.draft.addScored(r)
}

// finish says what was evaluated, and keeps the selected rollouts of an allocation alone.
func (l *inspectLog) finish() error {
	d, stopping := l.draft, &l.Results.Stopping
	d.Benchmark, d.Model = l.Eval.Task, l.Eval.Model
	var exported struct {
		Seed  *uint64        `json:"seed"`
		Asked jsontext.Value `json:"asked"` // by our exports alone
	}
	if json.Unmarshal(l.Eval.Metadata, &exported) == nil && exported.Asked != nil {
		d.Seed = exported.Seed
	}
	allocation := stopping.Metadata.Allocation
	d.Allocated = allocation != nil || stopping.Manager == manager
	if l.Status != "success" {
		d.note("the run did not come to its end, and its status is %q: what it has counts", l.Status)
	}
	if l.Status != "success" && stopping.Manager == "" {
		for _, part := range []jsontext.Value{l.Eval.Metadata, l.Eval.Scorers, l.Eval.Metrics} {
			d.Allocated = d.Allocated || bytes.Contains(part, []byte(`"`+manager+`"`)) || bytes.Contains(part, []byte(`"`+manager+`/`))
		}
	}
	if l.Invalidated {
		d.note("the log is marked as invalidated")
	}
	switch {
	case l.Version > inspectVersion:
		return fmt.Errorf("its version is %d, this speceval reads up to %d: use a newer one", l.Version, inspectVersion)
	case allocation != nil && allocation.Protocol > 1:
		return fmt.Errorf("its allocation is of protocol %d, this speceval reads 1: use a newer one", allocation.Protocol)
	case !d.Allocated && len(stopping.Stops) > 0:
		d.note("%q stopped %d of its epochs early: if it did so by their scores, their proportions are biased", stopping.Manager, len(stopping.Stops))
	case d.Allocated && (allocation == nil || allocation.Selected == nil):
		d.note("it is of an allocation and does not say which rollouts were selected: all that are scored count")
	case d.Allocated:
		d.selected, d.Snapshot, d.Result = allocation.Selected, allocation.Snapshot, allocation.Result
	}
	return nil
}

// epochs are the selected epochs of a task under an allocation: the first ones, or a list.
type epochs struct {
	first  int   // number of epochs; 0 with a list
	listed []int // sorted, each once
}

func (e *epochs) UnmarshalJSON(v []byte) error {
	err := json.Unmarshal(v, &e.listed)
	if jsontext.Value(v).Kind() != '[' {
		err = json.Unmarshal(v, &e.first)
	}
	if err != nil || e.first < 0 || e.first > maxRollouts {
		return fmt.Errorf("its allocation selects %.40q: want a number of epochs, or a list of them", v)
	}
	slices.Sort(e.listed)
	e.listed = slices.Compact(e.listed)
	return nil
}

// keepSelected removes the rollouts that the allocation did not select.
func (d *draft) keepSelected() {
	missing, removed := 0, 0
	for _, e := range d.selected {
		missing += max(e.first, len(e.listed))
	}
	for i := range d.Tasks {
		t := &d.Tasks[i]
		all := len(t.Rollouts)
		chosen := d.selected[t.ID]
		t.Rollouts = slices.DeleteFunc(t.Rollouts, func(r Rollout) bool {
			_, listed := slices.BinarySearch(chosen.listed, r.Number)
			return !listed && r.Number > chosen.first
		})
		missing, removed = missing-len(t.Rollouts), removed+all-len(t.Rollouts)
	}
	d.Tasks = slices.DeleteFunc(d.Tasks, func(t Task) bool { return len(t.Rollouts) == 0 })
	if d.Left += removed; removed > 0 {
		d.note("%d left out: the allocation did not select them", removed)
	}
	if missing > 0 {
		d.note("%d that the allocation selected are not scored", missing)
	}
}
