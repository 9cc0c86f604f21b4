// Package hub fetches files of datasets, at pinned revisions, from the service
// that publishes them: Hugging Face, or another with the same addresses and
// headers. A file that it returns is complete and matches the service's checksum,
// or its size where it has none; a download that breaks resumes at the byte where it
// broke.
package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"speceval/internal/clock"
)

// DefaultEndpoint is the address of the service.
const DefaultEndpoint = "https://huggingface.co"

// Options are what a client needs. The zero value fetches what is open to all.
type Options struct {
	Endpoint string // "": DefaultEndpoint
	// Token is of an account, for gated datasets; "" sends none. It goes to the
	// endpoint only, and is in no error and no report.
	Token string
	// Transport sends requests and follows no redirect; nil: over the network,
	// through the proxies that the environment names.
	Transport http.RoundTripper
	Clock     clock.Clock   // nil: clock.Wall
	Attempts  int           // that bring no new byte, before it gives up; 0: 6
	Wait      time.Duration // before the second attempt, then twice as long each time; 0: 1 s
	Quiet     time.Duration // longest silence of the service; 0: 1 min
	Seed      uint64        // of what is random in the waits
	// Report gets a line about events such as another attempt; may be nil.
	Report func(line string)
}

// Client fetches files from one service. Its methods may be called concurrently.
type Client struct {
	options  Options
	endpoint *url.URL // without a slash at its end
}

// New makes a client. Nothing is sent. It is an error if the endpoint is no
// address or the token cannot be one.
func New(o Options) (*Client, error) {
	if o.Endpoint == "" {
		o.Endpoint = DefaultEndpoint
	}
	u, err := url.Parse(strings.TrimRight(o.Endpoint, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("HF_ENDPOINT: want an address like %s", DefaultEndpoint)
	}
	o.Token = strings.TrimSpace(o.Token)
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || r == ' ' }) {
		return nil, errors.New("HF_TOKEN: has characters that no token has; copy it again")
	}
	if o.Transport == nil {
		o.Transport = network()
	}
	if o.Clock == nil {
		o.Clock = clock.Wall{}
	}
	if o.Attempts <= 0 {
		o.Attempts = 6
	}
	if o.Wait <= 0 {
		o.Wait = time.Second
	}
	if o.Quiet <= 0 {
		o.Quiet = time.Minute
	}
	return &Client{options: o, endpoint: u}, nil
}

// network sends requests over the network. A body is never unpacked on the way:
// its bytes are counted.
func network() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// File is a file of a dataset.
type File struct {
	Dataset  string `json:"dataset"`  // "cais/mmlu"
	Revision string `json:"revision"` // 40 hexadecimal digits
	Name     string `json:"file"`     // with folders, by slashes: "college_physics/test-00000-of-00001.parquet"
}

var (
	datasetID  = regexp.MustCompile(`^\w[\w.-]*(/\w[\w.-]*)?$`)
	revisionID = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

func (f File) check() error {
	switch {
	case !datasetID.MatchString(f.Dataset):
		return fmt.Errorf("dataset %q: want an id like cais/mmlu", f.Dataset)
	case !revisionID.MatchString(f.Revision):
		return fmt.Errorf("revision %q of %s: want 40 hexadecimal digits", f.Revision, f.Dataset)
	case f.Name == "." || !fs.ValidPath(f.Name) || strings.ContainsFunc(f.Name, unicode.IsControl):
		return fmt.Errorf("file %q of %s: want a path like data/test.jsonl", f.Name, f.Dataset)
	}
	return nil
}

// Fetched is a file that is there, whole and checked.
type Fetched struct {
	Bytes    int64
	SHA256   string // of its bytes, in hexadecimal
	Revision string
	Verified string // how its bytes were checked: by "sha256", by "git" (SHA-1 of a blob) or by "size" only
	Kept     bool   // it was there before, and nothing was fetched
}

// Fetch brings a file to path. A file that is there already, with the right
// bytes, stays. What an earlier call left in path.part resumes from there, if
// path.part.json says that it is of the same file. The file at path is always
// whole: the one from before, or the new one. After an error or the end of ctx
// the part is kept, unless its bytes are wrong.
//
// progress gets the bytes that are there and those of the whole file, now and
// then, on the caller's goroutine; it may be nil. An error is an *AccessError if
// the service demands an account, or the acceptance of terms.
func (c *Client) Fetch(ctx context.Context, f File, path string, progress func(done, total int64)) (Fetched, error) {
	if err := f.check(); err != nil {
		return Fetched{}, err
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	d := download{Client: c, file: f, path: path, progress: progress}
	fetched, err := d.run(ctx)
	if err != nil {
		return Fetched{}, &hidden{client: c, err: fmt.Errorf("fetch %s of %s: %w", f.Name, f.Dataset, err)}
	}
	return fetched, nil
}

// page is where the terms of a dataset are accepted.
func (c *Client) page(dataset string) string {
	return c.endpoint.String() + "/datasets/" + dataset
}

// report tells the user something about a file.
func (c *Client) report(f File, format string, args ...any) {
	if c.options.Report != nil {
		c.options.Report(c.hide(fmt.Sprintf("%s of %s: ", f.Name, f.Dataset) + fmt.Sprintf(format, args...)))
	}
}

// hide takes the token out of a text.
func (c *Client) hide(text string) string {
	if c.options.Token == "" {
		return text
	}
	return strings.ReplaceAll(text, c.options.Token, "<HF_TOKEN>")
}

// hidden is an error whose text never holds the token.
type hidden struct {
	client *Client
	err    error
}

func (e *hidden) Error() string { return e.client.hide(e.err.Error()) }

func (e *hidden) Unwrap() error { return e.err }

// exists reports whether there is a file at path.
func exists(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is there and is no file: move it away", path)
	}
	return err == nil, err
}
