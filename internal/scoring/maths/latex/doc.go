// Package latex reads answers written in LaTeX, or in plain text, as
// mathematics: expressions, and sets, tuples, intervals, matrices and equations
// of them.
package latex
