package rows_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"speceval/internal/upstream/rows"
)

var jsonColumns = []rows.Column{
	{Name: "text"}, {Name: "number", Kind: rows.Number, Optional: true}, {Name: "texts", Kind: rows.Texts, Optional: true},
	{Name: "filled", Kind: rows.Filled, Optional: true}, {Name: "place", Kind: rows.Place, Optional: true},
}

func readJSON(path string, each func(rows.Row) error) error {
	return rows.Read(context.Background(), path, "jsonl", jsonColumns, each)
}

func TestFaultsOfJSONL(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 5000)
	tests := []struct{ line, want string }{
		{`{"text":"x"} {`, "after the object"},
		{`{"text":"x"}x`, "after the object"},
		{`["text"]`, "want an object a line"},
		{"\ufeff" + `{"text":"x"}`, "want an object a line"},
		{`{`, "the file ends within the row: it is truncated"},
		{`{"text":"x"`, "the file ends within the row: it is truncated"},
		{`{"text":"x`, `column "text": the file ends within the row: it is truncated`},
		{"{\"text\":\"x\xe2\x88", `column "text": the file ends within the row: it is truncated`},
		{`{"text":"x\`, "the file ends within the row"},
		{`{"text":"x\u12`, "the file ends within the row"},
		{`{"text":tr`, "the file ends within the row"},
		{`{"text":-`, "the file ends within the row"},
		{"{\"text\":\n\"x\"}", `column "text": the line ends within the row`},
		{"{\"text\":\"x\n\"}", "the line ends within the row"},
		{"{\"text\":\"x\t\"}", `column "text": byte 27 of the file: invalid character '\t' in string`},
		{"{\"other\":\"x\x00\",\"text\":\"\"}", `column "other": byte 28 of the file: invalid character '\x00' in string`},
		{"{\"text\":\"x\xff\"}", "not valid UTF-8"},
		{"{\"other\":\"x\xed\xa0\x80\",\"text\":\"\"}", `column "other": is not valid UTF-8`},
		{`{"text":"\x"}`, "invalid escape sequence `\\x`"},
		{`{"other":["\u00g0"],"text":""}`, "invalid escape sequence `\\u00g0`"},
		{`{"text":"\ud800"}`, "half of a surrogate pair"},
		{`{"text":"\ud800\u0041"}`, "half of a surrogate pair"},
		{`{"text":"\udc00\ud800"}`, "half of a surrogate pair"},
		{`{"text":"","place":"\ud800"}`, "half of a surrogate pair"},
		{`{"text":"x",}`, "byte 28 of the file: invalid character"},
		{`{"text":"x""text":"x"}`, "after object value"},
		{`{"text" "x"}`, "after object name"},
		{`{text:"x"}`, "byte 19 of the file: invalid character"},
		{`{"text":"x","text":"y"}`, `column "text": is there twice`},
		{`{"text":"x","a":01}`, "after object value"},
		{`{"text":"x","a":1.}`, `column "a": byte 3`},
		{`{"text":"x","a":-.5}`, `column "a": byte 3`},
		{`{"text":"x","a":-e5}`, `column "a": byte 3`},
		{`{"text":"x","a":1e+}`, `column "a": byte 3`},
		{`{"text":"x","a":[1,]}`, `column "a": byte 36 of the file: invalid character`},
		{`{"text":"x","a":[1}`, "after array element"},
		{`{"text":"x","a":{"b":1]}`, "after object value"},
		{`{"text":"x","a":{1:2}}`, "at start of string"},
		{`{"text":"x","a":nul}`, "in literal null"},
		{`{"text":"x","a":NaN}`, "at start of value"},
		{`{"text":"x","a":` + deep, "exceeded max depth"},
		{`{"text":null}`, `column "text": null in a column that needs a value`},
		{`{"text":true}`, "is true or false, want a text or a number"},
		{`{"text":{"a":1}}`, "is an object, want a text or a number"},
		{`{"text":{"a":01}}`, "after object value"},
		{`{"text":"x","number":"3"}`, "is a text, want an integer"},
		{`{"text":"x","number":3.0}`, `is "3.0", want an integer`},
		{`{"text":"x","number":9223372036854775808}`, "want an integer of 64 bits"},
		{`{"text":"x","texts":"x"}`, "is a text, want a list of texts"},
		{`{"text":"x","texts":["x",null]}`, "is a list with null, want a list of texts"},
		{`{"text":"x","texts":["x",1]}`, "is a list with a number"},
		{`{"text":"x","texts":["x" "y"]}`, "after array element"},
		{`{"text":"x","place":1}`, "is a number, want a place"},
		{`{"words":1,"Text":"x"}`, `column "text" is missing (there are "words", "Text"): another revision`},
		{`{"text":"` + strings.Repeat("x", 16<<20+1) + `"}`, `column "text": is longer than 16777216 bytes`},
		{`{"text":` + strings.Repeat("1", 16<<20+1) + `}`, `column "text": is longer than`},
		{`{"text":"x","texts":[` + strings.Repeat(`"",`, 1<<20) + `""]}`, `column "texts": is longer than`},
	}
	for _, test := range tests {
		path := save(t, "{\"text\":\"first\"}\n", test.line)
		read := 0
		err := readJSON(path, func(rows.Row) error { read++; return nil })
		if read != 1 {
			t.Errorf("%.100s: %d rows before the error", test.line, read)
		}
		wantError(t, err, path+": row 2: ", test.want)
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%.100s: an error of %d bytes", test.line, len(err.Error()))
		}
	}
}

func TestValuesOfJSONL(t *testing.T) {
	tests := []struct{ line, want string }{
		{`{"text":""}`, `"" 0 [] false`},
		{`{"text":-0.50e+7,"number":-12}`, `"-0.50e+7" -12 [] false`},
		{`{"text":"a\"\\\/\b\f\n\r\t\u0041\u00e9\ud83e\uDDEE","number":null,"texts":null,"filled":null,"place":null}`, "\"a\\\"\\\\/\\b\\f\\n\\r\\tAé🧮\" 0 [] false"},
		{`{"text":"x","filled":"","texts":[ ]}`, `"x" 0 [] false`},
		{`{"text":"x","filled":"y","texts":["","y"]}`, `"x" 0 ["" "y"] true`},
		{`{"text":"x","filled":{"a":[]}}`, `"x" 0 [] true`},
		{`{"text":"x","filled":false}`, `"x" 0 [] true`},
		{`{"text":"x","other":"half \ud800 of a pair"}`, `"x" 0 [] false`},
		{`{"other":{"text":1,"text":[{},[],{"a":{}}]},"other":-0,"` + strings.Repeat("k", 5000) + `":"","text":"x"}`, `"x" 0 [] false`},
	}
	for _, test := range tests {
		read := 0
		err := readJSON(save(t, test.line), func(r rows.Row) error {
			read++
			if got := fmt.Sprintf("%q %d %q %v", r.Text("text"), r.Int("number"), r.Texts("texts"), r.Filled("filled")); got != test.want {
				t.Errorf("%.200s: got %s, want %s", test.line, got, test.want)
			}
			return nil
		})
		if err != nil || read != 1 {
			t.Errorf("%.200s: %d rows, %v", test.line, read, err)
		}
	}
}

// What is given of a row is the caller's, though the row is not.
func TestValuesOutliveTheirRow(t *testing.T) {
	var texts []string
	var lists [][]string
	err := readJSON(save(t, `{"text":"one","texts":["a","b"]}`, "\n", `{"text":"two","texts":["c","d"]}`), func(r rows.Row) error {
		texts, lists = append(texts, r.Text("text")), append(lists, r.Texts("texts"))
		return nil
	})
	if want := [][]string{{"a", "b"}, {"c", "d"}}; err != nil || texts[0] != "one" || !reflect.DeepEqual(lists, want) {
		t.Errorf("got %q, %q, %v", texts, lists, err)
	}
}

// Windows on the file begin and end anywhere in what is read.
func TestJSONAcrossWindows(t *testing.T) {
	const text = "\"\\ é∑🧮 plain text\u2028\n"
	value, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	escaped := bytes.ReplaceAll(value, []byte("🧮"), []byte(`\ud83e\uddee`))
	for shift := 64<<10 - 120; shift < 64<<10+8; shift++ {
		line := fmt.Sprintf(`{"pad":"%s","text":%s , "texts":[%s,%s],"number": -123,"place":%s}`, strings.Repeat("x", shift), value, escaped, value, escaped)
		path := save(t, line)
		err := readJSON(path, func(r rows.Row) error {
			if r.Text("text") != text || r.Int("number") != -123 || !reflect.DeepEqual(r.Texts("texts"), []string{text, text}) {
				t.Errorf("shift %d: %q %d %q", shift, r.Text("text"), r.Int("number"), r.Texts("texts"))
			}
			if at := r.Place("place"); line[at.Offset:at.Offset+at.Length] != string(escaped) {
				t.Errorf("shift %d: place %v is %q", shift, at, line[at.Offset:at.Offset+at.Length])
			}
			return nil
		})
		if err != nil {
			t.Fatal(shift, err)
		}
	}
}

func TestPlacesOpen(t *testing.T) {
	long := strings.Repeat("∑ plain ", 100_000)
	for _, text := range []string{"", "x", "\"\\/\b\f\n\r\té∑🧮", long} {
		value, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		path := save(t, `{"text":"","place":  `, string(value), "}\n", `{"text":"","place":""}`)
		var at []rows.Span
		if err := readJSON(path, func(r rows.Row) error { at = append(at, r.Place("place")); return nil }); err != nil {
			t.Fatal(err)
		}
		for size := range 3 {
			opened, err := rows.OpenText(path, at[0])
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(bufio.NewReaderSize(opened, 16<<size))
			if err != nil || string(got) != text || opened.Close() != nil {
				t.Errorf("read %d bytes of %d, %v", len(got), len(text), err)
			}
		}
	}
}

func TestAPlaceInAnotherFile(t *testing.T) {
	path := save(t, `"abc" "\ud800" "a`+"\n"+`" "a"b"`)
	tests := []struct {
		at   rows.Span
		want string
	}{
		{rows.Span{}, "no text at byte 0"},
		{rows.Span{Offset: 1, Length: 4}, "no text at byte 1"},
		{rows.Span{Offset: 1000, Length: 4}, "no text at byte 1000"},
		{rows.Span{Offset: -5, Length: 4}, "no text at byte -5"},
		{rows.Span{Offset: 0, Length: 4}, "no text at byte 0"},
		{rows.Span{Offset: 0, Length: 7}, "the text is damaged"},
		{rows.Span{Offset: 6, Length: 8}, "invalid surrogate pair"},
		{rows.Span{Offset: 15, Length: 4}, "the text is damaged"},
		{rows.Span{Offset: 20, Length: 5}, "the text is damaged"},
	}
	for _, test := range tests {
		opened, err := rows.OpenText(path, test.at)
		if err == nil {
			_, err = io.ReadAll(opened)
			opened.Close()
		}
		wantError(t, err, path, test.want, "has the file changed?")
	}
	if _, err := rows.OpenText(path+".absent", rows.Span{Length: 3}); err == nil {
		t.Error("an absent file is opened")
	}
}

// A line is read as encoding/json reads it, but for what that forgives: text that
// is not UTF-8, halves of surrogate pairs, and keys that are there twice.
func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{
		`{"text":"x","number":12,"texts":["a","\u00e9"],"filled":"","place":"\ud83e\uddee"}`,
		`{"text":-1.5e7,"other":{"a":[1,2,{"b":null}],"c":true}}`, `{"text":null}`, `{"te\u0078t":"x"}`, `{"texts":[],"text":""} `, `[]`, `{"text":0,"a":[[[]]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		line := bytes.TrimSpace(data)
		if bytes.IndexByte(data, '\n') >= 0 || len(line) == 0 || line[0] == '<' || bytes.HasPrefix(line, []byte("PAR1")) || bytes.HasPrefix(line, []byte("version")) || len(line) != len(bytes.Trim(data, " \t\r")) {
			return
		}
		got, rest := "", ""
		path := save(t, data)
		err := readJSON(path, func(r rows.Row) error {
			got = fmt.Sprintf("%q %d %q %v", r.Text("text"), r.Int("number"), r.Texts("texts"), r.Filled("filled"))
			if at := r.Place("place"); at.Length > 0 {
				opened, err := rows.OpenText(path, at)
				if err != nil {
					return err
				}
				defer opened.Close()
				text, err := io.ReadAll(opened)
				rest = string(text)
				return err
			}
			return nil
		})
		want, place, ok := decoded(data)
		if !utf8.Valid(data) || bytes.Contains(bytes.ToLower(data), []byte(`\ud`)) {
			return // only that there is no panic
		}
		if err != nil && strings.Contains(err.Error(), "is there twice") {
			return
		}
		if ok != (err == nil) || ok && (got != want || rest != place) {
			t.Errorf("%q: got %s, place %q, %v; encoding/json: %s, place %q, %v", data, got, rest, err, want, place, ok)
		}
	})
}

// decoded is what encoding/json makes of a line.
func decoded(data []byte) (line, place string, ok bool) {
	var values map[string]json.RawMessage
	if json.Unmarshal(data, &values) != nil || values == nil {
		return "", "", false
	}
	var row struct {
		number int
		texts  []*string
		text   string
		filled bool
	}
	null := func(key string) bool { return values[key] == nil || string(values[key]) == "null" }
	var number json.Number
	switch text := values["text"]; {
	case null("text"):
		return "", "", false
	case text[0] == '"':
		ok = json.Unmarshal(text, &row.text) == nil
	default:
		ok = json.Unmarshal(text, &number) == nil
		row.text = number.String()
	}
	ok = ok && (null("number") || json.Unmarshal(values["number"], &row.number) == nil)
	ok = ok && (null("texts") || json.Unmarshal(values["texts"], &row.texts) == nil)
	ok = ok && (null("place") || json.Unmarshal(values["place"], &place) == nil)
	row.filled = !null("filled") && string(values["filled"]) != `""`
	var texts []string
	for _, text := range row.texts {
		if text == nil {
			return "", "", false
		}
		texts = append(texts, *text)
	}
	return fmt.Sprintf("%q %d %q %v", row.text, row.number, texts, row.filled), place, ok
}
