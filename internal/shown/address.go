package shown

import (
	"net/url"
	"regexp"
)

// credentials are what an address may have before its host.
var credentials = regexp.MustCompile(`(://)[^\s"'\\]*@`)

// bare is a user and a password before something that has no scheme.
var bare = regexp.MustCompile(`^[^\s/@:]*:[^\s/@][^\s@]*@`)

// WithoutCredentials is a text in which addresses have no user or password. Addresses need
// not be well formed for that.
func WithoutCredentials(text string) string { return credentials.ReplaceAllString(text, "${1}…@") }

// Address is what may be shown of the address of a server: no user or password, no query,
// where keys may be, and no fragment. It need not be a good one: messages about bad ones
// repeat them, and so does the error of url.Parse.
func Address(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		if u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" {
			return Line(address)
		}
		text := u.Scheme + "://"
		if u.User != nil {
			text += "…@"
		}
		text += u.Host + u.EscapedPath()
		if u.RawQuery != "" || u.ForceQuery {
			text += "?…"
		}
		return Line(text)
	}
	text := bare.ReplaceAllString(WithoutCredentials(address), "…@")
	for i, r := range text {
		if r == '?' || r == '#' {
			return Line(text[:i+1] + "…")
		}
	}
	return Line(text)
}

// HasCredentials tells whether an address, good or bad, has a user or a password in it.
func HasCredentials(address string) bool {
	u, err := url.Parse(address)
	if err == nil && u.Host != "" {
		return u.User != nil
	}
	return bare.MatchString(address) || credentials.MatchString(address)
}
