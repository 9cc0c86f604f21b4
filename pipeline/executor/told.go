package executor

import (
	"bytes"
	"io"

	"speceval/internal/ownfile"
	"speceval/internal/slurm"
)

// toldByLog is the state of an element that failed or is forgotten, by what
// Slurm wrote at the end of its log: some sites say there alone that it ran out
// of memory.
func toldByLog(state slurm.State, path string) slurm.State {
	if state != slurm.Failed && state != slurm.Forgotten {
		return state
	}
	end := logEnd(path)
	for _, sign := range []struct {
		text string
		told slurm.State
	}{
		{"exceeded memory limit", slurm.OutOfMemory}, {"oom-kill event", slurm.OutOfMemory}, {"oom_kill event", slurm.OutOfMemory},
		{"DUE TO TIME LIMIT", slurm.Timeout}, {"DUE TO NODE FAILURE", slurm.NodeFail}, {"DUE TO PREEMPTION", slurm.Preempted},
	} {
		if bytes.Contains(end, []byte(sign.text)) {
			return sign.told
		}
	}
	return state
}

// logEnd is the last lines of a log, nothing if it cannot be read: what stands
// before them may be of an earlier life of the element.
func logEnd(path string) []byte {
	const most, lines = 4 << 10, 6
	file, err := ownfile.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	end, _ := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-most), most))
	all := bytes.Split(bytes.TrimSpace(end), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}
