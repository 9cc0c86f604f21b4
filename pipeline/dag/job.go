package dag

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"speceval/internal/store/atomicfile"
	"speceval/internal/store/files"
)

// editedMark stands between the name of an output that was moved aside and
// the first digits of its hash.
const editedMark = ".edited-"

// Job is a unit's view of the world while it runs: its inputs, its
// outputs, and who it is. Its methods may be called concurrently.
type Job struct {
	dir     string // the output folder
	ref     Ref
	unit    *Unit
	before  Record            // of the unit, as the job found it
	absent  map[string]string // outputs of wanted units that are not there, to their stage
	altered []string          // inputs that are not as recorded

	advance func(Progress)  // nil: progress is discarded
	drain   <-chan struct{} // nil: no drain can be requested

	mu      sync.Mutex
	held    *os.File // the lock of the scratch folder, once it is asked for
	made    Manifest // as far as it is known
	written map[string]File
}

// AbsentError says that an output that a unit only wants is not there.
type AbsentError struct{ Output, Stage string }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("%s is not there: run `speceval run %s` first", e.Output, e.Stage)
}

// Input is the local path of an output of a unit that this one needs or wants:
// an *AbsentError if it is only wanted and not there. Any other file is an error
// too: the key would not know of it.
func (j *Job) Input(output string) (path string, err error) {
	if stage, wanted := j.absent[output]; wanted {
		return "", &AbsentError{output, stage}
	}
	if _, needed := j.made.Parts.Inputs[output]; !needed {
		return "", fmt.Errorf("unit %s reads %s, which none of the units that it needs writes", j.ref, output)
	}
	return j.Path(output), nil
}

// Inputs are the outputs of all needed units, sorted.
func (j *Job) Inputs() []string { return slices.Sorted(maps.Keys(j.made.Parts.Inputs)) }

// InputSHA256 is the digest of an input, as the unit's key has it; "" of any
// other file.
func (j *Job) InputSHA256(output string) string { return j.made.Parts.Inputs[output] }

// Path is the local path of a file in the output folder, there or not.
func (j *Job) Path(output string) string { return filepath.Join(j.dir, filepath.FromSlash(output)) }

// Write makes a declared output from what write writes: whole, or not at all.
// rows is its number of rows, -1 when it is not tabular. A file that stands
// there and that no manifest vouches for (edited by hand, say) is moved aside.
func (j *Job) Write(output string, rows int, write func(w io.Writer) error) error {
	if err := j.mayWrite(output); err != nil {
		return err
	}
	file, err := atomicfile.Create(j.Path(output))
	if err != nil {
		return err
	}
	defer file.Discard() // does nothing once committed
	digest := files.NewDigestWriter(file)
	buffered := bufio.NewWriterSize(digest, 1<<16)
	if err := write(buffered); err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	made := digest.File(output)
	made.Rows = rows
	if err := j.preserve(output, made.SHA256); err != nil {
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written[output] = made
	return nil
}

// Footer is the footer of a Parquet file of the unit.
func (j *Job) Footer(schema string) map[string]string {
	return map[string]string{
		"speceval.schema": schema,
		"speceval.key":    j.made.Key,
		"speceval.commit": j.Commit(),
	}
}

// Key is the unit's key.
func (j *Job) Key() string { return j.made.Key }

// Commit is the git commit of the program, ending in "-dirty" if it was built
// from uncommitted changes.
func (j *Job) Commit() string { return j.made.Revision() }

// Command is a command that makes the unit's outputs again. It is the same
// however the unit came to run, so that it may be written into outputs.
func (j *Job) Command() string { return "speceval run " + j.ref.Stage }

func (j *Job) mayWrite(output string) error {
	if !slices.Contains(j.unit.Outputs, output) {
		return fmt.Errorf("unit %s writes %s, which it does not declare", j.ref, output)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, twice := j.written[output]; twice {
		return fmt.Errorf("unit %s writes %s twice", j.ref, output)
	}
	return nil
}

// preserve moves the file at output aside, unless its bytes are the new ones
// or those that an earlier manifest vouches for.
func (j *Job) preserve(output, sum string) error {
	old, err := files.DigestOf(j.dir, output)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the %s that is to be replaced: %w", output, err)
	}
	if old.SHA256 == sum || old.SHA256 == j.before.recorded(output) {
		return nil
	}
	aside := output + editedMark + short(old.SHA256)
	j.Note("%s was not as recorded; it is kept as %s", output, aside)
	return j.move(output, aside)
}

// outputs lists what was written, in the order declared; an error names what
// was not.
func (j *Job) outputs() ([]File, error) {
	files := make([]File, 0, len(j.unit.Outputs))
	for _, output := range j.unit.Outputs {
		made, ok := j.written[output]
		if !ok {
			return nil, fmt.Errorf("it ended without writing %s", output)
		}
		if made.Bytes >= large {
			info, err := os.Stat(j.Path(output))
			if err != nil {
				return nil, err
			}
			made.Modified = info.ModTime().UnixNano()
		}
		files = append(files, made)
	}
	return files, nil
}

// Altered are the inputs that are not what the units that made them have recorded: they
// were edited or damaged since. They are inputs all the same.
func (j *Job) Altered() []string { return j.altered }
