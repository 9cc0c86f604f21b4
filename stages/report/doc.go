// Package report is the stage that turns stored results into the paper's
// tables, as CSV and LaTeX, and the verdict that sets them beside the paper's
// own numbers.
//
// Builders of tables and verdicts are pure functions over the rows that the
// replay stage stored. Nothing here computes a design or replays a profile,
// so all tables can be made again in a moment.
package report
