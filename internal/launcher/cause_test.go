package launcher

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The logs are of real servers that did not start, shortened in their middle.
func TestCause(t *testing.T) {
	tests := []struct {
		log   string
		begin string
		lines int
	}{
		{"architecture.log", "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, Model architectures ['NoSuchForCausalLM'] are not supported", 3},
		{"weights.log", "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered", 1},
		{"flag.log", "api_server.py: error: unrecognized arguments: --no-such-flag", 1},
	}
	for _, test := range tests {
		text, err := os.ReadFile(filepath.Join("testdata", test.log))
		if err != nil {
			t.Fatal(err)
		}
		got := cause(string(text))
		if !strings.HasPrefix(strings.Join(got, "\n"), test.begin) || len(got) != test.lines {
			t.Errorf("%s ended for %d lines:\n%s\nwant %d that begin with\n%s", test.log, len(got), strings.Join(got, "\n"), test.lines, test.begin)
		}
		for _, line := range got {
			if len(line) > longestLine {
				t.Errorf("%s: a line of %d bytes", test.log, len(line))
			}
		}
	}
}

func TestNoCause(t *testing.T) {
	for _, log := range []string{
		"", "INFO 11-22 04:32:50 [a.py:1] ready\n", "vllm-cpu: no vLLM in there\n",
		"(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
		"the word ValueError: in a sentence\n  KeyError: indented, a line of a program\n",
	} {
		if got := cause(log); got != nil {
			t.Errorf("%q ended for %q", log, got)
		}
	}
}
