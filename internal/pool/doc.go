// Package pool spreads requests over the replicas of one model. A replica has
// at most a window of requests at a time; a request goes to the replica with
// the fewest, waits in the pool while all are full, and goes to another when
// its replica dies. Replicas that died or hang are put aside and come back when
// they prove well.
package pool
