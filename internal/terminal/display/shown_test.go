package display_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"speceval/internal/terminal/display"
)

func TestAddressesTellNoSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"http://host:8000/v1":                "http://host:8000/v1",
		"http://host/a@b":                    "http://host/a@b",
		"http://me:hunter2@host:8000/v1":     "http://…@host:8000/v1",
		"http://hunter2@host":                "http://…@host",
		"http://me:hun/ter2@host":            "http://…@host",
		"http://me:hun?hunter2@host":         "http://…@host",
		"http://me:hun#hunter2@host":         "http://…@host",
		"http://me:%zzhunter2@host:8000":     "http://…@host:8000",
		"http://me:hunter2@host:port":        "http://…@host:port",
		"http://me:hunter2@":                 "http://…@",
		"me:hunter2@host:8000":               "…@host:8000",
		"http://host?key=hunter2":            "http://host?…",
		"http://host/v1?key=hunter2#hunter2": "http://host/v1?…",
		"http://host:port?key=hunter2":       "http://host:port?…",
		"http://host/\x1b[2J":                `http://host/\u001b[2J`,
		"localhost":                          "localhost",
	} {
		got := display.Address(address)
		if got != want || strings.Contains(got, "hunter2") {
			t.Errorf("%q is shown as %q, want %q", address, got, want)
		}
		if has := display.HasCredentials(address); has != strings.Contains(want, "…@") {
			t.Errorf("%q has credentials: %t", address, has)
		}
	}
	const line = `speceval evaluate --worker http://me:hun/ter2@host --worker=http://hunter2@b --model a@b`
	if got := display.WithoutCredentials(line); got != `speceval evaluate --worker http://…@host --worker=http://…@b --model a@b` {
		t.Error(got)
	}
}

func TestWhatIsShown(t *testing.T) {
	for text, want := range map[string][2]string{ // as text, as a line
		"plain, “quoted” and naïve – 中文, हिन्दी, עברית": {"plain, “quoted” and naïve – 中文, हिन्दी, עברית", "plain, “quoted” and naïve – 中文, हिन्दी, עברית"},
		"two\nlines\tand a tab":  {"two\nlines\tand a tab", `two\nlines\tand a tab`},
		"two\r\nlines\r\r\n":     {"two\r\nlines\\r\r\n", `two\r\nlines\r\r\n`},
		"👩\u200d🚀 می\u200cخواهم": {"👩\u200d🚀 می\u200cخواهم", "👩\u200d🚀 می\u200cخواهم"},
		"\x1b[2J\x1b]0;owned\a":  {`\u001b[2J\u001b]0;owned\u0007`, `\u001b[2J\u001b]0;owned\u0007`},
		"\x00\b\r\x7f\u009b31m":  {`\u0000\u0008\r\u007f\u009b31m`, `\u0000\u0008\r\u007f\u009b31m`},
		"a\u202eb\u2066c\u061cd": {`a\u202eb\u2066c\u061cd`, `a\u202eb\u2066c\u061cd`},
		"a\u2028b\u2029c\ufeffd": {`a\u2028b\u2029c\ufeffd`, `a\u2028b\u2029c\ufeffd`},
		"tag \U000e0041":         {`tag \udb40\udc41`, `tag \udb40\udc41`},
		"half \xe4\xb8 and \xff": {`half \xe4\xb8 and \xff`, `half \xe4\xb8 and \xff`},
		"a real one: \ufffd":     {"a real one: \ufffd", "a real one: \ufffd"},
		"":                       {"", ""},
	} {
		if got := [2]string{display.Escaped(text), display.EscapedLine(text)}; got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

// TestDocumentsStayTheSame: JSON says the same after it has been shown.
func TestDocumentsStayTheSame(t *testing.T) {
	const said = "\x00\x1b\u007f\u009b\u202e\U000e0041\u2028 \u00ad中\\"
	document, err := json.MarshalIndent(map[string]string{"said": said}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]string
	if err := json.Unmarshal([]byte(display.Escaped(string(document))), &read); err != nil || read["said"] != said {
		t.Errorf("%q, %v", read, err)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte("ä\x1b中\xff👩\u200d🚀"), 1)
	f.Fuzz(func(t *testing.T, data []byte, _ int) {
		var b strings.Builder
		if _, err := io.Copy(display.NewEscapingWriter(&b), iotest.OneByteReader(strings.NewReader(string(data)+"."))); err != nil {
			t.Fatal(err)
		}
		if want := display.Escaped(string(data) + "."); b.String() != want || !utf8.ValidString(want) {
			t.Errorf("%q in single bytes is %q, want %q", data, b.String(), want)
		}
	})
}
