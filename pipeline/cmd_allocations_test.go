package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/policy"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/store/rowfile"
)

// onShell runs the shipped pipeline, with the shipped configuration unless
// args say otherwise.
func onShell(args ...string) (code int, stdout, stderr string) {
	return ran(nil, append([]string{"--config", "../experiments.toml"}, args...)...)
}

// store writes designs where the replay stage would.
func store(out string, designs []variance.Design) {
	var b bytes.Buffer
	rowfile.Write(&b, designs, nil)
	write(filepath.Join(out, filepath.FromSlash(variance.DesignsFile)), b.String())
}

// paperDesigns are the paper's HBN designs as the replay would store them,
// each beside a pilot of 3 that is not selected and one of another policy.
func paperDesigns() []variance.Design {
	numbers := must(paper.Parse(data.PaperTargets()))
	var designs []variance.Design
	for _, n := range []int{19, 30, 86, 93, 100} {
		for _, b := range []int{8, 16, 32, 64} {
			m, _ := numbers.At(paper.HBNSchedule, "m", paper.Key{NTasks: int32(n), Budget: int32(b)})
			d := variance.Design{Policy: policy.HBN.Name, Donors: "none", NTasks: int32(n), Budget: int32(b), M: int32(m), W: 0.5, Selected: true}
			worse, other := d, d
			worse.M, worse.Selected = 3, false
			other.Policy, other.M = policy.EN.Name, 5
			designs = append(designs, worse, other, d)
		}
	}
	return designs
}

// The digests of aime24 with qwen3_5_4b are those of the published runs. The
// others were not published one by one; the digest of them all keeps them as
// they are.
func TestPublishedAllocations(t *testing.T) {
	stdout := said(t, 0, "allocations", "--schedule", "paper", "--out", t.TempDir())
	want(t, "allocations", stdout, "benchmark,model,budget,allocation_sha256\n",
		"aime24,qwen3_5_4b,8,1c8147563528eb96590deec3257414f845cb8f6f2ad3e96e6b0624665fccadf8\n",
		"aime24,qwen3_5_4b,16,74f18461c563bc86f1217379bd72b9d82d5175a28836863ec4373544b19510d5\n",
		"aime24,qwen3_5_4b,32,08ff90bfbbdd0c251c3ad0d307ec9e5a0dc6b8c73ed1c689802b65c424650b9b\n",
		"aime24,qwen3_5_4b,64,8c6ba7d187127fcb1f7b01c08dbc24ecb3eb033c4f1eb8fa09c1a2807f124ded\n")
	same(t, "lines of a header and 107 profiles at 4 budgets", strings.Count(stdout, "\n"), 1+107*4)
	same(t, "digest of the output", fmt.Sprintf("%x", sha256.Sum256([]byte(stdout))), "cb82c3b053a2fe4e7c201f5b121e0cfa59bcadaa01cf16c26e228d11b92ec845")
}

func TestComputedAllocations(t *testing.T) {
	out := t.TempDir()
	store(out, paperDesigns())
	_, paper, _ := onShell("allocations", "--schedule", "paper")
	code, computed, stderr := onShell("allocations", "--out", out)
	if code != 0 || computed != paper {
		t.Errorf("exit code %d; the paper's designs, as if computed, do not allocate as the paper's\n%s", code, stderr)
	}
	want(t, "stderr", stderr, "warning: replay is not fresh; `speceval plan --config ../experiments.toml --out "+out+"` says why")
	_, seeded, _ := onShell("allocations", "--out", out, "--set", "experiment.seed=43")
	if seeded == paper || len(seeded) != len(paper) {
		t.Error("another seed allocates the same")
	}
}

func TestAllocationsOfOwnProfiles(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.csv")
	write(mine, "benchmark,model,task_index,task_id,pass_count,tested_k\nquiz,m,1,\"b \"\"é\"\"\",3,7\nquiz,m,0,a,7,7\neasy,m,0,x,5,5\neasy,m,1,y,5,5\n")
	store(dir, []variance.Design{{Policy: policy.HBN.Name, Donors: "none", NTasks: 2, Budget: 12, M: 5, W: 0.5, Selected: true}})
	_, stdout, stderr := onShell("allocations", "--out", dir, "--set", "corpus.profiles="+mine, "--set", "experiment.budgets=[12]")
	if strings.Count(stdout, "\n") != 2 || !strings.Contains(stdout, "\nquiz,m,12,") {
		t.Errorf("allocations:\n%s%s", stdout, stderr)
	}
}

func TestAllocationFaults(t *testing.T) {
	empty, covered, broken := t.TempDir(), t.TempDir(), t.TempDir()
	designs := paperDesigns()
	store(covered, designs)
	store(broken, append(designs, variance.Design{Policy: policy.HBN.Name, Donors: "none", NTasks: 19, Budget: 8, M: 8, W: 0.5, Selected: true}))
	outcomes(t, onShell, []outcome{
		{words("allocations --out " + empty), 1, empty + "/replay/designs.parquet is not there: run `speceval run replay` first, or take --schedule paper"},
		{words("allocations --out " + covered + " --set experiment.budgets=[8,12]"), 1, "aime24__model=qwen2_5_32b: no design of hbn for 30 tasks at budget 12 is selected; run the replay stage again"},
		{words("allocations --out " + broken), 1, "a pilot of 8 rollouts per task does not fit a budget of 8"},
		{words("allocations --schedule papr"), 2, "--schedule papr: want computed or paper"},
		{words("allocations --schedule paper --set experiment.budgets=[8,12]"), 2, "no pilot size for 30 tasks at budget 12 is in Table 5 of the paper: take --schedule computed"},
		{words("allocations now"), 2, `unknown command "now"`},
		{words("allocations --schedule paper --config ../experiments-small.toml"), 1, "profile.parquet is not there: run `speceval run --until score` first"},
		{words("allocations --config ../absent.toml"), 2, "absent.toml"},
		{words("allocations --set corpus.profiles=absent.csv"), 2, "corpus.profiles: open absent.csv"},
	})
}
