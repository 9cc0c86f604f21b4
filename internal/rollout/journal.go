package rollout

import "speceval/internal/journal"

// Journal keeps rollouts one by one, by their IDs.
type Journal = journal.Journal[Rollout, ID]

// JournalSuffix ends the name of every journal.
const JournalSuffix = journal.Suffix

// OpenJournal opens the journal of rollouts at path, as [journal.Open] does.
func OpenJournal(path string) (j *Journal, damaged int, err error) {
	return journal.Open(path, (*Rollout).ID)
}
