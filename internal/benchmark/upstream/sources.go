// Package upstream makes the tasks of the paper's benchmarks out of the files that their
// authors publish: the rows and files that make a benchmark, their order, and the right
// answers. It holds no text of theirs.
package upstream

import "path/filepath"

// Source is a dataset at one revision.
type Source struct {
	ID       string   // names its prompt template: "gpqa"
	Dataset  string   // "Idavidrein/gpqa"
	Revision string   // a commit, 40 hexadecimal digits
	Files    []string // in the order in which they are read: Parquet, JSONL or CSV by their names
	Licence  string
	Gated    bool // its terms must be accepted before a download
	form     form
}

// Path is the place of a file of the source below a folder.
func (s *Source) Path(dir, file string) string {
	return filepath.Join(dir, filepath.FromSlash(s.Dataset), filepath.FromSlash(file))
}

const seePage = "see its page"

var (
	aime24 = &Source{"aime24", "HuggingFaceH4/aime_2024", "2fe88a2f1091d5048c0f36abc874fb997b3dd99a",
		[]string{"data/train-00000-of-00001.parquet"}, seePage, false, problems("id")}
	aime25 = &Source{"aime25", "math-ai/aime25", "563bb8404243c5f09de6ec262f2db674fe5bce9b",
		[]string{"test.jsonl"}, seePage, false, problems("id", "index")}
	aime26 = &Source{"aime26", "math-ai/aime26", "79037aebdb6580008fb960d17cb21fd3099083e3",
		[]string{"aime2026.jsonl"}, seePage, false, problems("id", "index")}
	hmmt = &Source{"hmmt", "MathArena/hmmt_feb_2025", "6fdc4277120810ff75aa22d2d5489b91f7a262a1",
		[]string{"data/train-00000-of-00001.parquet"}, "CC BY-NC-SA", false, problems("problem_idx")}
	math = &Source{"math", "HuggingFaceH4/MATH-500", "6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
		[]string{"test.jsonl"}, seePage, false, problems("unique_id")}
	gpqa = &Source{"gpqa", "Idavidrein/gpqa", "633f5ee89ab8ad4522a9f850766b73f62147ffdd",
		[]string{"gpqa_diamond.csv"}, seePage, true, shuffledChoices}
	superGPQA = &Source{"supergpqa", "m-a-p/SuperGPQA", "4430d4458112c7d4497fdcf94d7cc223313d6acf",
		[]string{"SuperGPQA-all.jsonl"}, seePage, false, scienceChoices}
	mmlu = &Source{"mmlu", "cais/mmlu", "c30699e8356da336a370243923dbaf21066bb9fe",
		[]string{"college_physics/test-00000-of-00001.parquet", "college_chemistry/test-00000-of-00001.parquet", "college_biology/test-00000-of-00001.parquet"},
		seePage, false, subjectChoices}
	hle = &Source{"hle", "cais/hle", "5a81a4c7271a2a2a312b9a690f0c2fde837e4c29",
		[]string{"data/test-00000-of-00001.parquet"}, seePage, true, openQuestions}
	liveCodeBench = &Source{"livecodebench", "livecodebench/code_generation_lite", "0fe84c3912ea0c4d4a78037083943e8f0c4dd505",
		[]string{"test.jsonl", "test2.jsonl", "test3.jsonl", "test4.jsonl", "test5.jsonl"}, seePage, false, programs}
)

// Group is a benchmark: some rows of a source in some order.
type Group struct {
	ID        string // as in every file of the pipeline: "gpqa_diamond__domain_physics"
	Title     string // "GPQA Diamond Physics"
	Source    *Source
	Part      string    // of the rows; "" for all
	Selection Selection // of its rows
	// PromptsSHA256 is benchmark.PromptDigest of its tasks in the words in which
	// upstream asks them.
	PromptsSHA256 string
}

// Selection is the way to choose the tasks of a group from its rows.
type Selection string

// The ways. The seed of all is 42.
const (
	All    Selection = "all"    // every row, in file order
	Rank   Selection = "rank"   // the first hundred by the hash of their ids, where there are more
	Sample Selection = "sample" // a hundred that CPython draws of five hundred, in file order
)

// Which says which rows of its source are the group's, for people.
func (g Group) Which() string {
	rows := "all rows"
	if g.Part != "" {
		rows = "rows of " + g.Part
	}
	switch g.Selection {
	case Rank:
		return rows + ", at most 100, by hash"
	case Sample:
		return "100 drawn of 500 rows"
	}
	return rows
}

// Scorer is the family that scores the group's tasks.
func (g Group) Scorer() string { return g.Source.form.scorer }

// Modules are the Python modules that programs of the group may import, in addition to
// Python's own.
func (g Group) Modules() []string { return g.Source.form.modules }

// Groups are the paper's benchmarks. Those of a source follow one another.
func Groups() []Group {
	return []Group{
		{"aime24", "AIME 2024", aime24, "", All, "766e9f47d8beb8053ad3ffa5754b099485568314caf4024eb1000ab93e297225"},
		{"aime25", "AIME 2025", aime25, "", All, "d9a8d3bc15ac8a5019877babeae22ed1cf0fd4d69f43e3bbc5a399a086ada148"},
		{"aime26", "AIME 2026", aime26, "", All, "b7c438fc6fad0932aab21075b0896f295354fcdb65fc65da48d94b677aeaa6c0"},
		{"hmmt", "HMMT", hmmt, "", All, "9340aa38351bfc5df41a0668eed6870cf7d4b9444ebdc75baff41bf1e9149dd6"},
		{"math_100", "MATH-100", math, "", Sample, "e79586ec849534a18c1285de9b8304500c1e331cfac10871da4fce960e4a4d5b"},
		{"gpqa_diamond__domain_biology", "GPQA Diamond Biology", gpqa, "biology", Rank, "0dbb14b6934a6e7daa00b9445355256cd083e92097e765fb5b6d259cecada90a"},
		{"gpqa_diamond__domain_chemistry", "GPQA Diamond Chemistry", gpqa, "chemistry", Rank, "76bd32030b78fe03ee4eb583ad57540d80c5e97f2cd090c78f4439066de1e6f8"},
		{"gpqa_diamond__domain_physics", "GPQA Diamond Physics", gpqa, "physics", Rank, "09479868ddf2effbb0e1548675329046e74a170b8a4ec42c3ff641614dc82be4"},
		{"supergpqa_science__field_biology", "SuperGPQA Science Biology", superGPQA, "biology", Rank, "557c1ea9270181848ef9c9fb7b80b738d9a70981b306281ba7cf54525e6e2c6e"},
		{"supergpqa_science__field_chemistry", "SuperGPQA Science Chemistry", superGPQA, "chemistry", Rank, "9efeb4d714fd4b6377f2bb18ba2fe9e81722e4b9b3040544273fc412be7ad75d"},
		{"supergpqa_science__field_physics", "SuperGPQA Science Physics", superGPQA, "physics", Rank, "0117e6178b93e03dcedf4d5ad0bcefdf2d9fc2e423963260a2bf325b56109949"},
		{"mmlu_science__subject_college_biology", "MMLU Science Biology", mmlu, "college_biology", Rank, "fa9035dfe87dc12db55ffdd60618465f472b5101c9df4b48789cb04fd13053b6"},
		{"mmlu_science__subject_college_chemistry", "MMLU Science Chemistry", mmlu, "college_chemistry", Rank, "6f5749d33d6efe8f650c997fe81c1c199824b8acd2abfd9d0050a9b1b916e91c"},
		{"mmlu_science__subject_college_physics", "MMLU Science Physics", mmlu, "college_physics", Rank, "429753a0a80c412d1affee7b91ae25529b6b0a461bfdc2810d0e5c71b575901b"},
		{"hle__text_only_sample100", "HLE (text only)", hle, "", Rank, "074cc232332ad3bb38e94782e58d4361f8211bad8f37051ca58fbbaeadbc66da"},
		{"livecodebench_gt_2024_03_30__difficulty_easy", "LiveCodeBench Easy", liveCodeBench, "easy", Rank, "25047d7f94d751a3a90d87474f88954e0786c2f99cafc73802ffe9eabb27f5c3"},
		{"livecodebench_gt_2024_03_30__difficulty_medium", "LiveCodeBench Medium", liveCodeBench, "medium", Rank, "ac79bc4f3449071fc36f9d0d8b8b39c97f08f475870db37baeb34e93fb6ccc97"},
		{"livecodebench_gt_2024_03_30__difficulty_hard", "LiveCodeBench Hard", liveCodeBench, "hard", Rank, "da04ead1fc5edf870ac345c6c5d97cf6a16755c6068d0adf1c145d21780d0697"},
	}
}
