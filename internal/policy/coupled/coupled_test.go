package coupled_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"speceval/data"
	"speceval/internal/policy/coupled"
	"speceval/internal/store/profile"
	"speceval/method/controller"
)

// one is a profile of one task of interest and one more.
func one(id string, count, k int) profile.Profile {
	return profile.Profile{Benchmark: "b", Model: "m", TaskIDs: []string{id, id + "'"}, PassCounts: []int{count, 0}, TestedK: k}
}

func TestBoundIsExactForAnyK(t *testing.T) {
	for _, k := range []int{1, 2, 3, 7, 10, 50, 1000, 1024, 1023, math.MaxInt32} {
		for _, count := range []int{0, 1, 2, 3, k / 3, k / 2, k - 2, k - 1} {
			if count < 0 || count >= k {
				continue
			}
			want := new(big.Int).Lsh(big.NewInt(int64(count)), 128)
			want.Div(want, big.NewInt(int64(k)))
			high, low := coupled.NewRewards(one("x", count, k), "", 1).Bound(0)
			got := new(big.Int).Lsh(new(big.Int).SetUint64(high), 64)
			if got.Or(got, new(big.Int).SetUint64(low)).Cmp(want) != 0 {
				t.Errorf("%d of %d: bound %x, want %x", count, k, got, want)
			}
		}
	}
}

func TestFingerprintFollowsEveryPartOfTheProtocol(t *testing.T) {
	base := coupled.Protocol{Profile: "d", Budget: 16, Pilots: 6, Seed: 42, Sampling: map[string]string{"top_p": "0.95", "temperature": "0.6"}}
	changes := map[string]func(p *coupled.Protocol){
		"profile":   func(p *coupled.Protocol) { p.Profile = "e" },
		"budget":    func(p *coupled.Protocol) { p.Budget = 17 },
		"reference": func(p *coupled.Protocol) { p.Reference = 16 }, // an equivalent run, although of the same budget
		"pilots":    func(p *coupled.Protocol) { p.Pilots = 7 },
		"seed":      func(p *coupled.Protocol) { p.Seed = 43 },
		"sampling":  func(p *coupled.Protocol) { p.Sampling = map[string]string{"top_p": "0.9", "temperature": "0.6"} },
	}
	seen := map[string]string{base.Fingerprint(): "base"}
	for part, change := range changes {
		p := base
		change(&p)
		if other, ok := seen[p.Fingerprint()]; ok {
			t.Errorf("%s: fingerprint of %s", part, other)
		}
		seen[p.Fingerprint()] = part
	}
	const want = "a1892ad07c5de7081f37d0ff01fbaed36bc5ec0523c1dd2f9b59b28648fad259"
	if got := base.Fingerprint(); got != want {
		t.Errorf("the fingerprint has become %s: identities and seeds of stored runs do not come out again", got)
	}
}

func TestDigestsAreOfCanonicalText(t *testing.T) {
	tests := []struct {
		tasks []string
		want  string // text
	}{
		{[]string{"b", "a", "B", "10", "9"}, `{"10":4,"9":5,"B":3,"a":2,"b":1}`},
		{[]string{"é", "z", "\U0001F600", "\uffff", "<&>"}, "{\"<&>\":5,\"z\":2,\"é\":1,\"\uffff\":4,\"\U0001F600\":3}"}, // not in the order of UTF-16
		{[]string{"a\"b", `a\b`, "a/b", "a\u2028b"}, "{\"a\\\"b\":1,\"a/b\":3,\"a\\\\b\":2,\"a\u2028b\":4}"},
		{[]string{"\b\f\n\r\t", "\x00\x1f", "\x7f"}, "{\"\\u0000\\u001f\":2,\"\\b\\f\\n\\r\\t\":1,\"\x7f\":3}"},
	}
	for _, test := range tests {
		allocation := []int{1, 2, 3, 4, 5}[:len(test.tasks)]
		sum := sha256.Sum256([]byte(test.want))
		if got := coupled.AllocationDigest(test.tasks, allocation); got != hex.EncodeToString(sum[:]) {
			t.Errorf("%q: not the digest of %s", test.tasks, test.want)
		}
	}
}

func TestReleases(t *testing.T) {
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	releases, err := coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, published)
	if err != nil || len(releases) != len(published) {
		t.Fatalf("%d releases of %d profiles, %v", len(releases), len(published), err)
	}
	for _, p := range published {
		if p.Name() != "aime24__model=qwen3_5_4b" {
			continue
		}
		if got := releases.Digest(p); got != profileDigest {
			t.Errorf("digest of the published profile %s", got)
		}
		p.PassCounts = append([]int{p.PassCounts[0] - 1}, p.PassCounts[1:]...)
		if got := releases.Digest(p); got != p.SHA256() {
			t.Errorf("digest of a changed profile %s", got)
		}
	}
}

func TestReleaseFaultsAreNamed(t *testing.T) {
	published := []profile.Profile{one("x", 1, 2)}
	for text, want := range map[string]string{
		"":                                "r.csv: the file is empty",
		"benchmark,model,sha256\n":        "r.csv: there is no row for b__model=m",
		"benchmark,model,sha256\nb,n,x\n": "r.csv: there is no row for b__model=m",
	} {
		if _, err := coupled.ParseReleases([]byte(text), "r.csv", published); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// FuzzTasks gives two tasks any ids and counts.
func FuzzTasks(f *testing.F) {
	f.Add("60", "61", 3, 7, 1)
	f.Add("a", "a|phase=pilot|ordinal=0001|replicate=000", 0, 5, 1)
	f.Add("\xff", "\xfe", 5, 5, 99999)
	f.Add("", strings.Repeat("é", 400), 1, 1<<40, -5)
	f.Fuzz(func(t *testing.T, a, b string, count, k, ordinal int) {
		if a == b || k < 1 || count < 0 || count > k {
			t.Skip("the ids of a profile are unique, its counts within the rollouts")
		}
		tasks := []string{a, b}
		p := profile.Profile{Benchmark: "b", Model: "m", TaskIDs: tasks, PassCounts: []int{count, count / 2}, TestedK: k}
		identities := coupled.NewIdentities("f", tasks, 1)
		seen := map[string]controller.ID{}
		rewards := coupled.NewRewards(p, "d", 1)
		p.PassCounts = []int{k, count}
		likelier := coupled.NewRewards(p, "d", 1)
		for task := range tasks {
			for _, id := range []controller.ID{pilot(task, 1), continuation(task, 1), pilot(task, 2+ordinal&0xffff)} {
				logical := identities.Logical(id)
				if other, there := seen[logical]; there {
					t.Errorf("%v and %v are both %q", id, other, logical)
				}
				seen[logical] = id
				if identities.Seed(id) < 0 {
					t.Errorf("%v: seed %d", id, identities.Seed(id))
				}
				if rewards.Reward(id) && !likelier.Reward(id) {
					t.Errorf("%v passes, but not with a higher probability", id)
				}
			}
		}
		checkDigests(t, tasks)
		if ranks := coupled.Ranks(tasks, 1); ranks[0]+ranks[1] != 1 {
			t.Errorf("ranks %v", ranks)
		}
	})
}

// checkDigests checks that the digest of an allocation follows from the allocation, not
// from the order of the tasks.
func checkDigests(t *testing.T, tasks []string) {
	t.Helper()
	digest := coupled.AllocationDigest(tasks, []int{1, 2})
	if digest != coupled.AllocationDigest([]string{tasks[1], tasks[0]}, []int{2, 1}) {
		t.Error("the digest of an allocation depends on the order of tasks")
	}
	if digest == coupled.AllocationDigest(tasks, []int{2, 1}) && utf8.ValidString(tasks[0]) && utf8.ValidString(tasks[1]) {
		t.Error("two allocations have one digest")
	}
}

func TestReplicatesHaveIdentitiesAndSeedsOfTheirOwn(t *testing.T) {
	first := coupled.NewIdentities("f", []string{"a"}, 42)
	id := controller.ID{Phase: controller.Pilot, Ordinal: 12}
	if got, want := first.Replicate(7).Logical(id), "f|task=a|phase=pilot|ordinal=0012|replicate=007"; got != want {
		t.Errorf("identity %q, want %q", got, want)
	}
	if first.Replicate(0).Logical(id) != first.Logical(id) {
		t.Error("replicate 0 is not the first")
	}
	seen := map[int64]bool{}
	for replicate := range 2000 {
		seen[first.Replicate(replicate).Seed(id)] = true
	}
	if len(seen) != 2000 {
		t.Errorf("2000 replicates have %d seeds", len(seen))
	}
}
