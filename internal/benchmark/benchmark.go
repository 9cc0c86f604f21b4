// Package benchmark reads and writes the files that hold the tasks of a benchmark, and
// has the templates that make a prompt of a problem. It holds no benchmark text.
package benchmark

import "speceval/internal/scoring"

// Task is one problem of a benchmark, ready to be asked and scored.
type Task = scoring.Task

// Test is one check of a program.
type Test = scoring.Test
