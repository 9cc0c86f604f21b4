package coupled_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/internal/policy/coupled"
	"speceval/internal/store/profile"
	"speceval/method/controller"
)

// The published runs of one profile, aime24 with qwen3_5_4b, master seed 42.
const (
	profileDigest = "8198849776615c82d8817076d59fd8291155cf7af27e6d10235a03f21c1e3748"
	passCounts    = "1015 115 0 0 172 533 22 1006 885 978 279 1008 1006 9 655 1007 741 539 87 1008 330 0 816 1009 1010 236 1020 412 0 9"
	permutation   = "60 65 70 80 86 66 61 69 76 64 68 83 78 75 79 87 85 82 73 77 72 84 88 74 81 62 67 89 63 71"
	master        = 42
)

// published are the paper's runs of the profile by budget: fingerprint of the
// setting, pilot successes and final allocation by task, and their digests.
var published = []struct {
	budget                int
	fingerprint           string
	pilots                int
	successes, allocation string
	allocated, accepted   string
}{
	{8, "5e695acc08b065b3d505372bdf33be92b48e06ec85d5b3cd638c9795ecfcf80c", 4,
		"4 0 0 0 0 3 0 4 4 4 0 4 4 0 3 4 0 2 1 4 2 0 4 4 4 0 4 1 0 0",
		"3 3 3 3 3 8 3 3 3 3 3 3 3 3 8 3 3 8 8 3 8 3 3 3 3 3 3 8 3 3",
		"1c8147563528eb96590deec3257414f845cb8f6f2ad3e96e6b0624665fccadf8",
		"d08fef841e0d62b001c8440b08fdc3bd96260aa743c586fe8b39770bec0274e4"},
	{16, "de4757165c1e4c2e4328f622e6a1c0e25b302198c9315877f4d03436f6b3f0d1", 6,
		"6 0 0 0 0 4 0 6 6 6 0 6 6 0 5 6 1 3 1 6 4 0 6 6 6 0 6 3 0 0",
		"7 7 7 7 7 21 7 7 7 7 7 7 7 7 17 7 17 23 17 7 21 7 7 7 7 7 7 23 7 7",
		"74f18461c563bc86f1217379bd72b9d82d5175a28836863ec4373544b19510d5",
		"38acd5d1d178666c9e4d2251472de5e5ce1c39517e564a209eb396139d4f2a86"},
	{32, "5897de91a5e836f6ca30f71e564f9bf7e770f893d41286469cf308bc8d4759b3", 10,
		"10 1 0 0 0 7 0 10 10 10 1 10 10 0 8 10 4 6 2 10 5 0 9 10 10 0 10 3 0 0",
		"12 31 13 13 13 46 13 12 12 12 31 12 12 13 40 12 49 48 40 12 49 13 31 12 12 13 12 46 13 13",
		"08ff90bfbbdd0c251c3ad0d307ec9e5a0dc6b8c73ed1c689802b65c424650b9b",
		"d6548078a45b4841b91998b1a867a5332c9459d942029c684bc05e520631daf0"},
	{64, "c84a1c5e5cbf372486ecc434fa5260f5ead5c5bfa8c15a047a015fdcb4eb48fd", 16,
		"16 2 0 0 2 11 0 16 15 16 3 16 16 0 12 16 9 7 3 16 6 0 14 16 16 4 16 5 0 0",
		"22 68 24 24 68 92 24 22 51 21 79 21 21 24 86 21 98 98 79 21 96 24 67 21 21 86 21 92 24 24",
		"8c6ba7d187127fcb1f7b01c08dbc24ecb3eb033c4f1eb8fa09c1a2807f124ded",
		"eab5e44c28d804a41af1adf2c12025bf61d9ba2791502bcda05aa1c1253e3ca0"},
}

func numbers(t testing.TB, text string) []int {
	t.Helper()
	var ns []int
	for field := range strings.FieldsSeq(text) {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
	}
	return ns
}

// aime24 is the published profile, tasks "60" to "89".
func aime24(t testing.TB) profile.Profile {
	p := profile.Profile{Benchmark: "aime24", Model: "qwen3_5_4b", TestedK: 1024, PassCounts: numbers(t, passCounts)}
	for i := range p.PassCounts {
		p.TaskIDs = append(p.TaskIDs, strconv.Itoa(60+i))
	}
	return p
}

func pilot(task, ordinal int) controller.ID {
	return controller.ID{Task: int32(task), Phase: controller.Pilot, Ordinal: int32(ordinal)}
}

func continuation(task, ordinal int) controller.ID {
	return controller.ID{Task: int32(task), Phase: controller.Continuation, Ordinal: int32(ordinal)}
}

func TestIdentitiesAreWrittenAsPublished(t *testing.T) {
	identities := coupled.NewIdentities("5e69", []string{"60", "a b"}, master)
	for id, want := range map[controller.ID]string{
		pilot(0, 1):             "5e69|task=60|phase=pilot|ordinal=0001|replicate=000",
		continuation(1, 12):     "5e69|task=a b|phase=continuation|ordinal=0012|replicate=000",
		continuation(0, 999):    "5e69|task=60|phase=continuation|ordinal=0999|replicate=000",
		continuation(0, 1000):   "5e69|task=60|phase=continuation|ordinal=1000|replicate=000",
		continuation(0, 101934): "5e69|task=60|phase=continuation|ordinal=101934|replicate=000",
	} {
		if got := identities.Logical(id); got != want {
			t.Errorf("%v is %s, want %s", id, got, want)
		}
	}
}

func TestPublishedPilots(t *testing.T) {
	rewards := coupled.NewRewards(aime24(t), profileDigest, master)
	for _, run := range published {
		got := rewards.Pilot(run.pilots)
		for i, want := range numbers(t, run.successes) {
			if got[i] != want {
				t.Errorf("b=%d, task %d: %d successes, want %d", run.budget, i, got[i], want)
			}
		}
	}
}

func TestPublishedDigests(t *testing.T) {
	p := aime24(t)
	rewards := coupled.NewRewards(p, profileDigest, master)
	for _, run := range published {
		allocation := numbers(t, run.allocation)
		if got := coupled.AllocationDigest(p.TaskIDs, allocation); got != run.allocated {
			t.Errorf("b=%d: allocation digest %s, want %s", run.budget, got, run.allocated)
		}
		identities := coupled.NewIdentities(run.fingerprint, p.TaskIDs, master)
		var accepted []string // of each the JSON list of identity, seed and reward
		accept := func(id controller.ID) {
			reward := 0
			if rewards.Reward(id) {
				reward = 1
			}
			accepted = append(accepted, fmt.Sprintf("[%q,%d,%d]", identities.Logical(id), identities.Seed(id), reward))
		}
		for task, l := range allocation {
			for ordinal := range l {
				accept(continuation(task, ordinal+1))
			}
			for ordinal := range run.pilots {
				accept(pilot(task, ordinal+1))
			}
		}
		slices.Sort(accepted)
		sum := sha256.Sum256([]byte("[" + strings.Join(accepted, ",") + "]"))
		if got := hex.EncodeToString(sum[:]); got != run.accepted || len(accepted) != p.N()*run.budget {
			t.Errorf("b=%d: digest of %d accepted rollouts %s, want %s", run.budget, len(accepted), got, run.accepted)
		}
	}
}

func TestPublishedOrder(t *testing.T) {
	p := aime24(t)
	ranks := coupled.Ranks(p.TaskIDs, master)
	for rank, id := range numbers(t, permutation) {
		if got := ranks[id-60]; got != rank {
			t.Errorf("task %d has rank %d, want %d", id, got, rank)
		}
	}
}
