// Package speceval holds the shipped experiment.
package speceval

import _ "embed"

//go:embed experiments.toml
var experiments string

// Experiments is the text of experiments.toml, whose values are the defaults.
func Experiments() string { return experiments }
