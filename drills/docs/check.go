package main

import "errors"

// staticFaults are what is wrong with pages, as far as it can be seen without
// running a command of theirs.
func (f *facts) staticFaults(pages []page, list []exception) []error {
	var faults []error
	var all []command
	for _, p := range pages {
		faults = append(faults, f.proseFaults(p, pages)...)
		faults = append(faults, shownFaults(f.root, p)...)
		commands, err := p.commands()
		if err != nil {
			faults = append(faults, err)
		}
		all = append(all, commands...)
	}
	for _, c := range all {
		if e, listed := exceptionOf(list, c); listed && !e.runs() {
			faults = append(faults, f.faults(c)...)
		}
	}
	return append(faults, listFaults(list, all)...)
}

// commands are those of all blocks of shell of a page.
func (p page) commands() ([]command, error) {
	var all []command
	var faults []error
	for _, b := range p.blocks {
		if b.lang != "sh" {
			continue
		}
		commands, err := b.commands()
		if err != nil {
			faults = append(faults, err)
		}
		all = append(all, commands...)
	}
	return all, errors.Join(faults...)
}
