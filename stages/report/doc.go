// Package report is the stage that turns stored results into the paper's
// tables, as CSV and LaTeX, and the verdict that sets them beside the paper's
// own numbers.
//
// Builders of tables and verdicts are pure functions over the rows that the
// replay and systems stages stored, and over the published runs. Nothing here
// computes a design, replays a profile or times anything, so all tables can be
// made again in a moment. Tables 2 to 4 have rows of three provenances, and no
// row mixes two.
package report
