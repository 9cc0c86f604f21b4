// Package hubtest imitates the service that publishes datasets, and breaks as it
// may break. It is for tests only. Its files are made ones, in a folder.
package hubtest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
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
