package launcher

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files are logs of real servers that did not start, shortened in their middle.
func TestCause(t *testing.T) {
	file := func(name string) string {
		text := must(os.ReadFile(filepath.Join("testdata", name)))
		return string(text)
	}
	const hollow = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
	for _, tt := range []struct {
		log   string
		begin string
		lines int
	}{
		{file("architecture.log"), "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, Model architectures ['NoSuchForCausalLM'] are not supported", 3},
		{file("weights.log"), "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered", 1},
		{file("flag.log"), "api_server.py: error: unrecognized arguments: --no-such-flag", 1},
		{"(APIServer pid=1) OSError: [Errno 98] Address already in use\n" + hollow + "\n", "OSError: [Errno 98] Address already in use", 1},
		{" \n", "(it wrote nothing)", 1},
		{"INFO 11-22 04:32:50 [a.py:1] ready\n", "INFO 11-22 04:32:50 [a.py:1] ready", 1},
		{hollow + "\n", hollow, 1},
		{strings.Repeat("the word ValueError: in a sentence\n  KeyError: indented, a line of a program\n", 9), "the word ValueError", lastLines},
	} {
		got := cause(tt.log)
		if text := strings.Join(got, "\n"); !strings.HasPrefix(text, tt.begin) || len(got) != tt.lines || len(text) > tt.lines*(longestLine+1) {
			t.Errorf("%.60q: %d lines:\n%s\nwant %d that begin with\n%s", tt.log, len(got), text, tt.lines, tt.begin)
		}
	}
}
