// Package typeset turns a LaTeX document into a PDF by the TeX engine that the
// machine has: the same bytes every time, or an error that quotes TeX's own.
//
// An engine works in a folder of its own that is gone afterwards. It may run no
// command, knows no date, and is told nothing of the folder it works in.
package typeset
