package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"speceval/internal/conformance"
)

// compare prints what real and fake servers did, and fails where they differ
// without a reason, or where a check failed.
func compare(w io.Writer, real, fake map[string][]conformance.Result) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(table, "\ncheck\tmodel\treal\tfake\tsame?\n")
	var details strings.Builder
	wrong := 0
	for _, kind := range kinds {
		for i, r := range real[kind] {
			f := fake[kind][i]
			verdict, reason := judge(r, f)
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.Check.Name, kind, short(r.Text()), short(f.Text()), verdict)
			if verdict == "yes" || verdict == "skipped" {
				continue
			}
			if reason == "" {
				wrong++
			} else {
				reason = " (" + reason + ")"
			}
			fmt.Fprintf(&details, "\n%s, %s: %s%s\n%s%s", r.Check.Name, kind, r.Check.About, reason, indent("real", r.Text()), indent("fake", f.Text()))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, details.String())
	if wrong > 0 {
		return fmt.Errorf("%d checks failed, or differ without a reason", wrong)
	}
	return nil
}

// judge compares two results; a reason is given where a difference is accepted.
func judge(real, fake conformance.Result) (verdict, reason string) {
	failed := func(r conformance.Result) bool { return r.Err != nil && !errors.Is(r.Err, conformance.ErrSkipped) }
	switch reason := conformance.Accepted(real.Check.Name); {
	case failed(real) || failed(fake):
		return "FAILED", ""
	case errors.Is(real.Err, conformance.ErrSkipped) && errors.Is(fake.Err, conformance.ErrSkipped):
		return "skipped", ""
	case real.Text() == fake.Text():
		return "yes", ""
	case reason != "":
		return "accepted", reason
	}
	return "NO", ""
}

// short is the beginning of a text, for a column.
func short(text string) string {
	line, more, _ := strings.Cut(text, "\n")
	if letters := []rune(line); len(letters) > 38 {
		return string(letters[:37]) + "…"
	}
	if more != "" {
		return line + " …"
	}
	return line
}

func indent(name, text string) string {
	return "  " + name + ": " + strings.ReplaceAll(text, "\n", "\n        ") + "\n"
}
