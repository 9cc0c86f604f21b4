package report

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/measured"
)

// Live is what an experiment measures of its own: runs on servers, rollouts, and
// a second generation. The zero value is nothing.
type Live struct {
	Timed     bool // runs are made on servers, and stored in measurement.RunsFile
	Predicted bool // their times are predicted, in measurement.PredictionsFile
	Scored    bool // some are under real rewards

	Rollouts map[string]Rollouts // by profile; empty where none are sampled
	Second   *Second             // nil: none is asked for
}

// Rollouts are the stored rollouts of a profile.
type Rollouts struct {
	By    dag.Ref  // the unit that samples them
	Files []string // relative to the output folder
}

// Second is a second, independent generation of some of the profiles.
type Second struct {
	Path     string
	Profiles []profile.Profile // none where the file is not there
	Source   dag.Source
}

// Units that the tables of what was measured are made of.
var (
	runsRef        = dag.Ref{Stage: "systems", Unit: "runs"}
	predictionsRef = dag.Ref{Stage: "systems", Unit: "predictions"}
)

// liveTables is the tables of what was measured here, those that can be made.
func (s Settings) liveTables() []tableKind {
	var kinds []tableKind
	if s.Live.Timed && s.Live.Predicted {
		kinds = append(kinds, tableKind{base: measured.TimesTable, wants: []dag.Ref{predictionsRef}, make: makeTimes})
	}
	if s.Live.Scored {
		kinds = append(kinds, tableKind{base: measured.VarianceTable, wants: []dag.Ref{runsRef, twoStageRef, errorsRef}, profiles: true, make: s.makeSpreadOfRuns})
	}
	if second := s.Live.Second; second != nil {
		of := tableKind{profiles: true, sources: []dag.Source{second.Source}}
		if len(second.Profiles) == 0 { // the tables say where it should be
			of.config = map[string]string{"report.second": second.Path}
		}
		whole, tasks := of, of
		whole.base, whole.make = measured.ProfileTable, s.makeSecond(measured.Profiles)
		tasks.base, tasks.make = measured.TasksTable, s.makeSecond(measured.Tasks)
		kinds = append(kinds, whole, tasks)
	}
	if s.Live.Timed {
		kinds = append(kinds, tableKind{base: measured.OrchestratorTable, wants: []dag.Ref{runsRef}, make: makeOrchestrator})
	}
	if len(s.Live.Rollouts) > 0 {
		kinds = append(kinds, tableKind{base: measured.SpreadTable, wants: []dag.Ref{lengthsRef}, profiles: true, make: s.makeSpread})
	}
	return kinds
}

// addProfiles makes the profiles of all pairs inputs of a unit, if it wants them.
func (s Settings) addProfiles(u *dag.Unit, wanted bool) {
	if !wanted {
		return
	}
	for _, p := range s.Pairs {
		p.Feed(u)
	}
}

// profiles are those of all pairs. A *dag.AbsentError says that they are not made
// yet.
func (s Settings) profiles(in locate) ([]profile.Profile, error) {
	var all []profile.Profile
	for _, pair := range s.Pairs {
		p, err := pair.ProfileIn(in)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// readLiveRows reads rows of the systems stage, none where it has not run.
func readLiveRows[T any](in locate, file string) ([]T, error) {
	path, err := in.there(file)
	if err != nil || path == "" {
		return nil, err
	}
	rows, _, err := rowfile.ReadFile[T](path)
	return rows, err
}

// live is a table of the report, with the names of checkpoints in print.
func live(m measured.Sheet) Sheet {
	for j, c := range m.Print.Columns {
		if c.Head.Plain != measured.Checkpoint {
			continue
		}
		for _, row := range m.Print.Rows {
			row[j] = table.Text(modelName(row[j].Exact()))
		}
	}
	return Sheet(m)
}

func makeTimes(in locate, _ *Targets) (Sheet, error) {
	rows, err := readLiveRows[measurement.Prediction](in, measurement.PredictionsFile)
	return live(measured.Times(rows)), err
}

func makeOrchestrator(in locate, _ *Targets) (Sheet, error) {
	rows, err := readLiveRows[measurement.Run](in, measurement.RunsFile)
	return live(measured.Orchestrator(rows)), err
}

func (s Settings) makeSpreadOfRuns(in locate, _ *Targets) (Sheet, error) {
	runs, err := readLiveRows[measurement.Run](in, measurement.RunsFile)
	if err != nil {
		return Sheet{}, err
	}
	profiles, err := s.profiles(in)
	if err != nil {
		return Sheet{}, err
	}
	replayed, err := readReplayed(in)
	return live(measured.Variance(runs, replayed, profiles)), err
}

// readReplayed reads the replay's ratios of HBN with their errors: of the replay's
// draws and, where profiles have been redrawn, of the profile.
func readReplayed(in locate) (measured.Replayed, error) {
	ratios, err := readRatios(in, variance.TwoStageFile)
	if err != nil {
		return nil, err
	}
	rows, err := readErrors(in)
	redrawn := newProfileErrors(rows)
	return func(profile string, budget int32) (agreement.Estimate, bool) {
		r, ok := profileRatio(ratios, variance.HBN, profile, budget)
		return agreement.Estimate{Value: r.VarianceRatio, SE: math.Hypot(r.RatioSE, redrawn[entryOf(r)].ProfileSE)}, ok
	}, err
}

// makeSecond makes a table of the comparisons of both generations.
func (s Settings) makeSecond(of func([]profile.Comparison) measured.Sheet) func(locate, *Targets) (Sheet, error) {
	return func(in locate, _ *Targets) (Sheet, error) {
		first, err := s.profiles(in)
		if err != nil {
			return Sheet{}, err
		}
		var all []profile.Comparison
		for _, a := range first {
			for _, b := range s.Live.Second.Profiles {
				if a.Name() == b.Name() {
					all = append(all, profile.Compare(a, b, agreement.FalseAlarms))
				}
			}
		}
		sheet := live(of(all))
		if len(s.Live.Second.Profiles) == 0 {
			sheet.Print.Notes = append(sheet.Print.Notes, s.Live.Second.howTo())
		}
		return sheet, nil
	}
}

// howTo says how the file comes about.
func (s Second) howTo() string {
	return fmt.Sprintf("There is no second generation: %s does not exist. Sample one with another experiment.seed and another output folder (`speceval run score --set experiment.seed=… --out …`), then run `speceval tables`.", s.Path)
}

// ReadSecond reads the profiles of a second generation from a CSV or Parquet file,
// for the pairs of an experiment by their names. A file that is not there has none.
// Profiles of another benchmark or model are an error that names them.
func ReadSecond(path string, names map[string]bool) (*Second, error) {
	s := &Second{Path: path}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		s.Source = source("second generation: not there", nil)
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s.Source = source("second generation", data)
	if s.Profiles, err = profile.Parse(data, path); err != nil {
		return nil, err
	}
	for _, p := range s.Profiles {
		if !names[p.Name()] {
			return nil, fmt.Errorf("%s has a profile of %s, which this experiment does not evaluate: name the file of a second generation of its own benchmarks and models", path, p.Name())
		}
	}
	return s, nil
}
