package hubtest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
