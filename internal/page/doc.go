// Package page is the model of a self-contained HTML page of results: tables
// whose cells lead to where they come from, figures, and the timeline of a run.
package page
