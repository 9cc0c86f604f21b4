// Package systems is the stage that executes Uniform, HBN-sync and HBN-async
// under coupled rewards and measures their time, compute and waste (paper,
// Section 4.3 and appendix on system execution).
package systems
