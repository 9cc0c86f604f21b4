// Package coupled derives, by hash, what executions of one setting share: the
// identity and generation seed of a rollout, the reward that its task
// probability gives it, and the order of ties. Policies that select the same
// rollouts then see the same rewards, whatever the servers answer (paper,
// Section 4.3, coupled rewards).
//
// Seeds depend on the setting's fingerprint, rewards do not: rollout k of a
// task has the same reward at every budget. The fingerprints of the paper's
// own runs contain facts of the authors' machines and cannot be worked out
// again. Ours is the SHA-256 of what a Protocol says: profile, budgets, pilot
// size, master seed and sampling. Given the paper's fingerprint, identities
// and seeds are the paper's; rewards, and with them allocations, always are.
package coupled
