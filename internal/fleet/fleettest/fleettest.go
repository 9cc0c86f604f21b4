// Package fleettest makes authors for tests.
package fleettest

import "speceval/internal/fleet"

// Author is an author; it panics at settings that make none.
func Author(s fleet.AuthorSettings) *fleet.Author {
	a, err := fleet.NewAuthor(s)
	if err != nil {
		panic(err)
	}
	return a
}
