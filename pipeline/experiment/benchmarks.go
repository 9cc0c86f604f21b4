package experiment

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/coupled"
	"speceval/internal/paper"
	"speceval/internal/profile"
	"speceval/internal/scoring/family"
	"speceval/internal/upstream"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/config"
	"speceval/stages/score"
	"speceval/stages/systems"
)

// PaperGroups are the paper's benchmarks with these ids, or all of them: those
// of one source follow one another. An error is an id that there is not.
func PaperGroups(ids ...string) ([]upstream.Group, error) {
	all := upstream.Groups()
	if len(ids) == 0 {
		return all, nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(g upstream.Group) bool { return g.ID == id }) {
			return nil, fmt.Errorf("there is no benchmark %q: `speceval benchmarks list` shows them", id)
		}
	}
	return slices.DeleteFunc(all, func(g upstream.Group) bool { return !slices.Contains(ids, g.ID) }), nil
}

// PaperIDs are the ids of the tasks of every published benchmark, in order.
func PaperIDs() (map[string][]string, error) {
	profiles, err := publishedProfiles()
	if err != nil {
		return nil, err
	}
	ids := map[string][]string{}
	for _, p := range profiles {
		if other, again := ids[p.Benchmark]; again && !slices.Equal(other, p.TaskIDs) {
			return nil, fmt.Errorf("%s: models have different tasks of %s", data.ProfilesName, p.Benchmark)
		}
		ids[p.Benchmark] = p.TaskIDs
	}
	return ids, nil
}

// AskedIn says in whose words the tasks of a group are asked, by the digest of
// their prompts.
func AskedIn(g upstream.Group, promptsSHA256 string) string {
	if promptsSHA256 == g.PromptsSHA256 {
		return "asked in upstream's words, with the published digest"
	}
	return "asked in other words than upstream's"
}

// reportedFaults is how many faults of a task file a check reports: all, of a
// file that a person means to mend.
const reportedFaults = 10_000

// CheckTasks reads all of a task file, with its tests, and reports every fault.
// A file that the configuration names is of the benchmark that it is named for.
// The tasks of a benchmark of the paper are held against the published ids,
// unless unpublished; paper is then a clause about them, otherwise empty.
func CheckTasks(cfg *config.Config, path string, unpublished bool) (tasks []benchmark.Task, paper string, err error) {
	prompts, err := Prompts(cfg)
	if err != nil {
		return nil, "", err
	}
	reader := benchmark.Reader{Prompts: prompts, MostTold: reportedFaults}
	for _, b := range cfg.Benchmarks {
		if filepath.Clean(taskPath(cfg, b)) == filepath.Clean(path) {
			reader.Benchmark = b.ID
		}
	}
	if tasks, err = reader.Read(path); err != nil {
		return nil, "", err
	}
	faults := []error{usable(cmp.Or(reader.Benchmark, tasks[0].Benchmark), path, tasks)}
	for _, t := range tasks {
		_, err := benchmark.ReadTests(path, t, "")
		faults = append(faults, err)
	}
	if !unpublished {
		paper, err = paperTasks(path, tasks)
		faults = append(faults, err)
	}
	return tasks, paper, errors.Join(faults...)
}

// paperTasks compares the tasks of a benchmark of the paper with the published
// ids, and says how they are asked. Those of another benchmark are as they are.
func paperTasks(path string, tasks []benchmark.Task) (string, error) {
	published, err := PaperIDs()
	if err != nil {
		return "", err
	}
	want, ofPaper := published[tasks[0].Benchmark]
	if !ofPaper {
		return "", nil
	}
	ids := make([]string, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	if err := upstream.Compare(ids, want, nil); err != nil {
		return "", fmt.Errorf("%s: %w (--unpublished checks it without those)", path, err)
	}
	groups, err := PaperGroups(tasks[0].Benchmark)
	if err != nil {
		return "", err
	}
	return "; the published ids in order; " + AskedIn(groups[0], benchmark.PromptDigest(tasks)), nil
}

// Content says how many tasks there are, in all and for each scorer, those of
// the most tasks first.
func Content(tasks []benchmark.Task) string {
	count := map[string]int{}
	for _, t := range tasks {
		count[scorerOf(t)]++
	}
	var each []string
	for _, scorer := range slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	}) {
		each = append(each, fmt.Sprintf("%d %s", count[scorer], scorer))
	}
	return fmt.Sprintf("%d tasks of %s: %s", len(tasks), tasks[0].Benchmark, strings.Join(each, ", "))
}

// scorerOf is the scorer of a task, with a remark where it is a judge that is not given the answer.
func scorerOf(t benchmark.Task) string {
	if f, err := family.Named(t.Scorer); err == nil && f.Need == family.Judge && t.Answer == "" {
		return t.Scorer + " without an answer"
	}
	return t.Scorer
}

// Profiles are those to evaluate, without degenerate ones: known ones, or those
// that the score stage has stored below the folder out. stored is the file of
// the latter, relative to out.
func Profiles(cfg *config.Config, out string) (profiles []profile.Profile, stored string, err error) {
	var all []profile.Profile
	if cfg.Corpus.Source == config.SourcePublished {
		if all, err = publishedProfiles(); err == nil {
			all, err = cfg.Profiles(all, data.ProfilesName)
		}
	} else {
		stored = score.ProfilesFile
		path := filepath.Join(out, filepath.FromSlash(stored))
		if all, err = profile.Read(path); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is not there: run `speceval run --until score` first", path)
		}
	}
	if err != nil {
		return nil, stored, err
	}
	profiles, _, err = profile.Evaluated(all)
	return profiles, stored, err
}

// PaperSchedule is the schedule of pilot sizes in the paper's Table 5.
func PaperSchedule() (systems.Schedule, error) {
	numbers, err := paper.Parse(data.PaperTargets())
	if err != nil {
		return nil, err
	}
	return func(tasks, budget int) (int, error) {
		m, ok := numbers.At(paper.HBNSchedule, "m", paper.Key{NTasks: int32(tasks), Budget: int32(budget)})
		if !ok {
			return 0, &NoPilotsError{tasks, budget}
		}
		return int(m), nil
	}, nil
}

// NoPilotsError is a setting that the paper's Table 5 does not have.
type NoPilotsError struct{ Tasks, Budget int }

func (e *NoPilotsError) Error() string {
	return fmt.Sprintf("Table 5 of the paper has no pilot size for %d tasks at budget %d", e.Tasks, e.Budget)
}

// StoredSchedule is the schedule of pilot sizes that the replay stage has
// stored in variance.DesignsFile below the folder out; fs.ErrNotExist if it has
// none.
func StoredSchedule(out string) (systems.Schedule, error) {
	designs, err := variance.ReadDesigns(filepath.Join(out, filepath.FromSlash(variance.DesignsFile)))
	if err != nil {
		return nil, err
	}
	return systems.Computed(designs)
}

// WriteAllocations writes the digest of the HBN allocation of every profile at
// every budget under coupled rewards, as CSV.
func WriteAllocations(w io.Writer, cfg *config.Config, profiles []profile.Profile, schedule systems.Schedule) error {
	releases, err := releases()
	if err != nil {
		return err
	}
	prior, err := neyman.NewPrior(cfg.Replay.QuadratureOrder)
	if err != nil {
		return err
	}
	rows := csv.NewWriter(w)
	rows.Write([]string{"benchmark", "model", "budget", "allocation_sha256"}) // errors: see rows.Error
	for _, p := range profiles {
		rewards := coupled.NewRewards(p, releases.Digest(p), cfg.Experiment.Seed)
		for _, budget := range cfg.Experiment.Budgets {
			pilots, err := schedule(p.N(), budget)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name(), err)
			}
			allocation, err := systems.Allocation(prior, rewards, pilots, budget)
			if err != nil {
				return fmt.Errorf("%s at budget %d: %w", p.Name(), budget, err)
			}
			rows.Write([]string{p.Benchmark, p.Model, strconv.Itoa(budget), coupled.AllocationDigest(p.TaskIDs, allocation)})
		}
	}
	rows.Flush()
	return rows.Error()
}
