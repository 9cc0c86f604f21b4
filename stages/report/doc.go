// Package report is the stage that turns stored results into what people read:
// the paper's tables and figures, a document with all of them, and the verdict
// that sets them beside the paper's own numbers. Of what it has stored it makes,
// when asked, a page, the explanation of a single number and the difference of
// two output folders.
//
// Builders of tables and verdicts are pure functions over the rows that the
// replay and systems stages stored, and over the published runs. Nothing here
// computes a design, replays a profile or times anything, so all tables can be
// made again in a moment. Tables 2 to 4 have rows of three provenances, and no
// row mixes two.
package report
