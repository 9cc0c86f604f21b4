package upstream

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestDownloadFetchesASourceOnce has two groups of a source that cannot be fetched
// and two of one that can.
func TestDownloadFetchesASourceOnce(t *testing.T) {
	gated, open := &Source{ID: "gated"}, &Source{ID: "open"}
	groups := []Group{{ID: "a", Source: gated}, {ID: "b", Source: open}, {ID: "c", Source: gated}, {ID: "d", Source: open}}
	var fetched []string
	whole, err := Download(t.Context(), groups, func(s *Source) error {
		fetched = append(fetched, s.ID)
		if s == gated {
			return errors.New("accept its terms")
		}
		return nil
	})
	if len(whole) != 2 || whole[0].ID != "b" || whole[1].ID != "d" || strings.Join(fetched, " ") != "gated open" || err == nil || err.Error() != "accept its terms" {
		t.Errorf("whole are %v after fetching %q: %v", whole, fetched, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	whole, err = Download(ctx, groups, func(*Source) error { cancel(); return nil })
	if whole != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v, %v", whole, err)
	}
}
