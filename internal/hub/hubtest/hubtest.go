// Package hubtest imitates the service that publishes datasets, and breaks as it
// may break. It is for tests only. Its files are made ones, in a folder.
package hubtest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Hub is the service: addresses of files, which it serves itself while they are
// small, and a store on another host for large ones. It is to be filled in before
// Start, and read afterwards.
type Hub struct {
	Dir string // with the files of all datasets, at <dataset>/<file>

	// Revisions are those of datasets that have but one; another dataset has
	// every revision that is asked for.
	Revisions map[string]string
	Token     string   // of the only account; a request with another is refused
	Gated     []string // datasets that this account alone may have
	Refused   []string // gated datasets whose terms it has not accepted
	Large     int64    // bytes from which on a file is in the store; 0: none is
	Moved     bool     // small files are at another address of the same host

	// Fault says what goes wrong with a request, one at a time; nil: nothing does.
	Fault func(Request) Fault

	URL string // of the service, after Start

	store string     // address
	turn  sync.Mutex // of Fault
	mu    sync.Mutex
	asked []Request
	known map[string]sums
}

// Request is one that was served.
type Request struct {
	Number   int    // of all, from 0
	Store    bool   // it came to the store
	Method   string // GET or HEAD
	Dataset  string
	Revision string
	Name     string // of the file
	Range    string // its header
	Token    string // that it carried; "" if none
	Status   int    // of the answer
	Bytes    int64  // of the file that were sent
}

// Fault is what goes wrong with one request. The zero Fault is none.
type Fault struct {
	Status     int         // the answer, instead of a good one
	Header     http.Header // sets headers of the answer, over the good ones
	Content    []byte      // the bytes of the file, instead of its own
	Whole      bool        // a range is not heeded
	Break      bool        // the connection breaks after After bytes of the file
	Hang       bool        // nothing comes after After bytes, until the client leaves
	After      int64       // -1: there is no answer at all
	Unmeasured bool        // the answer does not say how long it is
}

// Start starts the service, until the test ends.
func Start(t testing.TB, h *Hub) *Hub {
	t.Helper()
	hub := httptest.NewUnstartedServer(http.HandlerFunc(h.serveHub))
	store := httptest.NewUnstartedServer(http.HandlerFunc(h.serveStore))
	h.URL, h.store = "http://"+hub.Listener.Addr().String(), "http://"+store.Listener.Addr().String()
	for _, server := range []*httptest.Server{hub, store} {
		server.Start()
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
		})
	}
	return h
}

// Requests are those that were served so far, in the order in which they came.
func (h *Hub) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// Sent counts the bytes of a file that were sent so far.
func (h *Hub) Sent(name string) int64 {
	var sent int64
	for _, r := range h.Requests() {
		if r.Name == name {
			sent += r.Bytes
		}
	}
	return sent
}

var address = regexp.MustCompile(`^/(datasets|moved|store)/([^/]+/[^/]+)/resolve/([^/]+)/(.+)$`)

// serve keeps a request and answers it.
func (h *Hub) serve(w http.ResponseWriter, r *http.Request, store bool, answer func(*reply)) {
	parts := address.FindStringSubmatch(r.URL.Path)
	if parts == nil {
		http.NotFound(w, r)
		return
	}
	request := Request{Store: store, Method: r.Method, Dataset: parts[2], Revision: parts[3], Name: parts[4], Range: r.Header.Get("Range"), Token: bearer(r)}
	h.mu.Lock()
	request.Number = len(h.asked)
	h.asked = append(h.asked, request)
	h.mu.Unlock()
	a := &reply{ResponseWriter: w, request: r, Request: request, moved: parts[1] == "moved"}
	a.fault = h.next(request)
	a.note = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked[request.Number].Status, h.asked[request.Number].Bytes = a.status, a.sent
	}
	if (a.fault.Break || a.fault.Hang) && a.fault.After < 0 {
		a.stop()
	}
	if a.fault.Status != 0 {
		a.WriteHeader(a.fault.Status)
		return
	}
	answer(a)
}

// next is the fault of a request.
func (h *Hub) next(r Request) Fault {
	h.turn.Lock()
	defer h.turn.Unlock()
	if h.Fault == nil {
		return Fault{}
	}
	return h.Fault(r)
}

// path is where a file is; "" if there is none.
func (h *Hub) path(r Request) string {
	path := filepath.Join(h.Dir, filepath.FromSlash(r.Dataset), filepath.FromSlash(r.Name))
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// serveHub answers requests for files at their addresses.
func (h *Hub) serveHub(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, false, func(a *reply) {
		if status, code, message := h.refuses(a.Request); status != 0 {
			a.Header().Set("X-Error-Code", code)
			a.Header().Set("X-Error-Message", message)
			a.WriteHeader(status)
			return
		}
		path := h.path(a.Request)
		a.Header().Set("X-Repo-Commit", a.Revision)
		of, err := h.sums(path)
		if err != nil {
			http.Error(a, err.Error(), http.StatusInternalServerError)
			return
		}
		rest := "/" + a.Dataset + "/resolve/" + a.Revision + "/" + (&url.URL{Path: a.Name}).EscapedPath()
		switch {
		case h.Large > 0 && of.size >= h.Large:
			a.Header().Set("X-Linked-Size", strconv.FormatInt(of.size, 10))
			a.Header().Set("X-Linked-Etag", `"`+of.sha256+`"`)
			http.Redirect(a, r, h.store+"/store"+rest+"?signed=yes", http.StatusFound)
		case h.Moved && !a.moved:
			http.Redirect(a, r, "/moved"+rest, http.StatusTemporaryRedirect)
		default:
			a.Header().Set("ETag", `"`+of.git+`"`)
			a.serveFile(path)
		}
	})
}

// refuses is the answer to a request that gets no file: its status, 0 if there is
// no such answer, and the code and the words of its headers.
func (h *Hub) refuses(r Request) (status int, code, message string) {
	gated := slices.Contains(h.Gated, r.Dataset) || slices.Contains(h.Refused, r.Dataset)
	revision, one := h.Revisions[r.Dataset]
	_, missing := os.Stat(filepath.Join(h.Dir, filepath.FromSlash(r.Dataset)))
	switch {
	case r.Token != "" && r.Token != h.Token:
		return http.StatusUnauthorized, "", "Invalid credentials in Authorization header"
	case missing != nil && r.Token == "":
		return http.StatusUnauthorized, "RepoNotFound", "Repository not found"
	case missing != nil:
		return http.StatusNotFound, "RepoNotFound", "Repository not found"
	case gated && r.Token == "":
		return http.StatusUnauthorized, "GatedRepo", "Access to dataset " + r.Dataset + " is restricted. You must have access to it and be authenticated to access it."
	case slices.Contains(h.Refused, r.Dataset):
		return http.StatusForbidden, "GatedRepo", "Access to dataset " + r.Dataset + " is restricted and you are not in the authorized list."
	case one && r.Revision != revision:
		return http.StatusNotFound, "RevisionNotFound", "Invalid rev id: " + r.Revision
	case h.path(r) == "":
		return http.StatusNotFound, "EntryNotFound", "Entry not found"
	}
	return 0, "", ""
}

// serveStore answers requests that the hub has sent on. It knows no account.
func (h *Hub) serveStore(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, true, func(a *reply) {
		path := h.path(a.Request)
		switch {
		case r.Header.Get("Authorization") != "":
			http.Error(a, "only one way to authorize is allowed", http.StatusBadRequest)
		case r.Method != http.MethodGet || r.URL.Query().Get("signed") != "yes" || path == "":
			http.Error(a, "the signature does not match", http.StatusForbidden)
		default:
			a.Header().Set("ETag", `"of-the-store"`)
			a.serveFile(path)
		}
	})
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// reply is the answer to one request, as far as its fault lets it come.
type reply struct {
	http.ResponseWriter
	Request
	request *http.Request
	fault   Fault
	moved   bool
	note    func() // keeps status and sent

	status int
	sent   int64
}

func (a *reply) serveFile(path string) {
	if a.fault.Whole {
		a.request.Header.Del("Range")
	}
	var content io.ReadSeeker = bytes.NewReader(a.fault.Content)
	if a.fault.Content == nil {
		file, err := os.Open(path)
		if err != nil {
			http.Error(a, err.Error(), http.StatusInternalServerError)
			return
		}
		defer file.Close()
		content = file
	}
	http.ServeContent(a, a.request, "", time.Time{}, content)
}

// WriteHeader sends the status and the headers.
func (a *reply) WriteHeader(status int) {
	for name, values := range a.fault.Header {
		a.Header()[http.CanonicalHeaderKey(name)] = values
	}
	if a.fault.Unmeasured {
		a.Header().Del("Content-Length")
		a.Header().Set("Transfer-Encoding", "chunked")
	}
	a.status = status
	a.note()
	a.ResponseWriter.WriteHeader(status)
}

// Write sends bytes, up to where the fault is. Only those of files count.
func (a *reply) Write(p []byte) (int, error) {
	if a.status >= 300 {
		return a.ResponseWriter.Write(p)
	}
	stops := a.fault.Break || a.fault.Hang
	if stops {
		p = p[:min(int64(len(p)), a.fault.After-a.sent)]
	}
	a.sent += int64(len(p))
	a.note() // first: the client may be done before this is
	n, err := a.ResponseWriter.Write(p)
	if stops && a.sent == a.fault.After {
		a.stop()
	}
	return n, err
}

// stop breaks the connection, at once or when the client has left.
func (a *reply) stop() {
	if a.status != 0 {
		http.NewResponseController(a.ResponseWriter).Flush()
	}
	if a.fault.Hang {
		<-a.request.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

// sums are what the service says about a file.
type sums struct {
	size        int64
	sha256, git string // hexadecimal
}

// sums reads a file once; tests do not change it.
func (h *Hub) sums(path string) (sums, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.known[path]; ok {
		return known, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return sums{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return sums{}, err
	}
	whole, blob := sha256.New(), sha1.New()
	fmt.Fprintf(blob, "blob %d\x00", info.Size())
	if _, err := io.Copy(io.MultiWriter(whole, blob), file); err != nil {
		return sums{}, err
	}
	of := sums{info.Size(), fmt.Sprintf("%x", whole.Sum(nil)), fmt.Sprintf("%x", blob.Sum(nil))}
	if h.known == nil {
		h.known = map[string]sums{}
	}
	h.known[path] = of
	return of, nil
}
