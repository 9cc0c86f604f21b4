package upstream

import (
	"context"
	"errors"
	"fmt"
)

// Download fetches the source of each group, once each. It returns the groups
// whose files then are there, and an error that names what could not be
// fetched; after an interrupt no group.
func Download(ctx context.Context, groups []Group, fetch func(*Source) error) (whole []Group, err error) {
	missing := map[*Source]error{}
	var faults []error
	for _, g := range groups {
		fault, tried := missing[g.Source]
		if !tried {
			fault = fetch(g.Source)
			missing[g.Source] = fault
			if ctx.Err() != nil {
				return nil, fmt.Errorf("interrupted; what was fetched is kept: %w", ctx.Err())
			}
			if fault != nil {
				faults = append(faults, fault)
			}
		}
		if fault == nil {
			whole = append(whole, g)
		}
	}
	return whole, errors.Join(faults...)
}
