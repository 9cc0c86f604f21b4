// Package evaluation is a live evaluation of a benchmark: the rollouts of Uniform,
// HBN-sync or HBN-async from servers, scored as they come in, and the benchmark
// mean that follows (paper, Algorithms 1 and 2).
//
// An evaluation has a folder. Its setup is written there before the first request
// and never changes; answers, verdicts and requests are kept in journals while
// they come in; the result is written last, and says that all is there. Rollouts
// are selected by their ids, all pilots and the first continuations of every task,
// so that an evaluation that was stopped anywhere goes on to the same result: what
// has been answered is not asked again, and what had completed by then has no
// better chance to count.
package evaluation
