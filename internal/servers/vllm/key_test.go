package vllm

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// secret is a key as services make them.
const secret = "sk-test/9f8e+7d6c-5b4a_39281706=="

// TestRefusalsRepeatNoKey of any status, in a body of any kind, in a header or in a stream.
func TestRefusalsRepeatNoKey(t *testing.T) {
	for name, form := range map[string]string{"as it is": secret, "with Bearer": "Bearer " + secret} {
		inJSON, _ := json.Marshal("bad key " + form + "!") // cannot fail
		for _, body := range []string{
			"bad key " + form + "!", `{"error":{"message":` + string(inJSON) + `,"type":` + string(inJSON) + `,"param":` + string(inJSON) + `}}`, `{"error":` + string(inJSON) + `}`,
			`{"detail":[{"msg":` + string(inJSON) + `}]}`, strings.Repeat("x", 990) + form, `{"error":{"message":"bad key ` + form + `!"}}`,
		} {
			for _, status := range []int{307, 400, 401, 403, 404, 418, 429, 500, 503} {
				c := client(t, Options{Key: secret, Plain: status == 404}, func(w http.ResponseWriter, r *http.Request) {
					if status == 307 {
						w.Header().Set("Location", "http://elsewhere/?key="+form)
					}
					says(status, body)(w, r)
				})
				_, err := c.whole(t.Context(), plainRequest())
				_, streamed := c.Stream(t.Context(), plainRequest(), nil)
				_, listed := c.Models(t.Context())
				for _, err := range []error{err, streamed, listed} {
					if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(fmt.Sprintf("%+v", err), secret) {
						t.Fatalf("%s, %d: %s: %v", name, status, body, err)
					}
				}
			}
			if !json.Valid([]byte(body)) {
				continue
			}
			event := client(t, Options{Key: secret}, says(200, "data: "+body+"\n\n"+done))
			if _, err := event.Stream(t.Context(), request(), nil); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s, in a stream: %v", name, err)
			}
		}
	}
}

// TestAnswersRepeatNoKey in text, names and headers, and stay as they are otherwise.
func TestAnswersRepeatNoKey(t *testing.T) {
	said, _ := json.Marshal("You sent " + secret + ". Is a key required?") // cannot fail
	whole := strings.Replace(good, `"content":"a"`, `"content":`+string(said)+`,"reasoning":`+string(said), 1)
	c := client(t, Options{Key: secret, Plain: true}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "tiny "+secret)
		io.WriteString(w, whole)
	})
	got, err := c.whole(t.Context(), plainRequest())
	if err != nil || strings.Contains(fmt.Sprintf("%+v", got), secret) || got.Text != "You sent …. Is a key required?" || got.Reasoning != got.Text {
		t.Errorf("%+v, %v", got, err)
	}
	pieces := strings.Replace(chunk("a", `"stop"`, 1), `"content":"a"`, `"content":`+string(said), 1)
	var heard []Piece
	got, err = client(t, Options{Key: secret, Plain: true}, says(200, pieces+done)).Stream(t.Context(), plainRequest(), func(p Piece) { heard = append(heard, p) })
	if err != nil || strings.Contains(fmt.Sprintf("%+v %+v", got, heard), secret) || got.Text != "You sent …. Is a key required?" {
		t.Errorf("%+v, %v", got, err)
	}
	// Words that stand for no key at all occur in answers, and parts of longer ones.
	for _, key := range []Key{"EMPTY", "a", "You", "no-key-required"} {
		got, err := client(t, Options{Key: key, Plain: true}, says(200, whole)).whole(t.Context(), plainRequest())
		if err != nil || got.Text != "You sent "+secret+". Is a key required?" {
			t.Errorf("key %q: %q, %v", string(key), got.Text, err)
		}
	}
}

// TestNoHTTPRepeatsNoKey has a server that sends the key back in place of a header.
func TestNoHTTPRepeatsNoKey(t *testing.T) {
	address := raw(t, func(_ int, c net.Conn) { io.WriteString(c, "HTTP/1.1 "+secret+"\r\n\r\n") })
	_, err := dial(t, address, Options{Key: secret}).whole(t.Context(), request())
	if fails(t, err, Unreachable); strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
}
