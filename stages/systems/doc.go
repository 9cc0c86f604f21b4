// Package systems is the stage that executes Uniform, HBN-sync and HBN-async
// and measures their time, compute and waste: under coupled rewards (paper,
// Section 4.3 and appendix on system execution), and under those that scorers
// give, by which what a run estimates can be held against the replay.
package systems
