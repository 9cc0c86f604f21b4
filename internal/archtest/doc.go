// Package archtest holds tests only: the rules of this repository's shape.
// Imports go one way, every package and exported name is documented, the
// outside world is touched at the edge alone, and files stay short. Each rule
// is a function of source text.
package archtest
