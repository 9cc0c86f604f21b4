package measured

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/fleet/checkpoint"
	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/store/group"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// The tables below hold what an experiment is given and does not measure: the size of
// its corpus, and the constants of the checkpoints (Table 7).

// Corpus is the size of the corpus that the paper's text gives. It is no file: its
// numbers are compared, and quoted.
var Corpus = &model.Table{
	Base:  paper.Corpus,
	Reads: stored.Reads{Paper: true}, Make: makeCorpus, Macros: corpusMacros,
}

// makeCorpus compares the size of the corpus and how many profiles have a task
// count, which are counts of what was imported, and shows the time that it took
// the authors' workers, of which no measurement is published.
func makeCorpus(*stored.Source) (*model.Sheet, error) {
	s := &model.Sheet{}
	s.Extra = func(e stored.Experiment) []agreement.Comparison {
		count := func(column string, ours int64) agreement.Comparison {
			return agreement.Compare(agreement.Estimate{Value: float64(ours)}, s.Paper.Number(paper.Corpus, column), 0, 0).As(agreement.Copied).In(paper.Corpus, "all", column)
		}
		hours := s.Paper.Number(paper.Corpus, "generation_hours")
		shown := agreement.Comparison{Class: agreement.Copied, Paper: &hours, Verdict: agreement.Shown, Note: "hours of the authors' workers: a fact of their run, not a result"}
		cells := []agreement.Comparison{count("profiles", int64(len(e.Profiles)))}
		for _, alike := range group.By(s.Paper.Rows(paper.HBNSchedule), func(k paper.Key) int32 { return k.NTasks }) {
			n := alike[0].NTasks
			others := slices.DeleteFunc(slices.Clone(e.Profiles), func(p stored.ProfileFact) bool { return p.NTasks == n })
			cells = append(cells, count(fmt.Sprintf("profiles_n%d", n), int64(len(e.Profiles)-len(others))))
		}
		return append(cells, count("tasks", e.Corpus.Tasks), count("responses", e.Corpus.Responses), shown.In(paper.Corpus, "all", "generation_hours"))
	}
	return s, nil
}

// corpusMacros count what was evaluated: profiles and their benchmarks, and the
// tasks and the responses of the corpus.
func corpusMacros(src *stored.Source) ([]model.Macro, error) {
	e, err := stored.Facts(src)
	if err != nil {
		return nil, err
	}
	benchmarks := group.By(e.Profiles, func(p stored.ProfileFact) string {
		benchmark, _, _ := strings.Cut(p.Name, "__model=")
		return benchmark
	})
	return []model.Macro{
		{Name: "specProfiles", Value: strconv.Itoa(len(e.Profiles))},
		{Name: "specBenchmarks", Value: strconv.Itoa(len(benchmarks))},
		{Name: "specTasks", Value: display.Thousands(e.Corpus.Tasks)},
		{Name: "specResponses", Value: display.Thousands(e.Corpus.Responses)},
	}, nil
}

// FLOPs is the paper's Table 7: the coefficients of the FLOP proxy, exact in CSV,
// in billions of parameters in print.
var FLOPs = &model.Table{
	Base: paper.FLOPs, Label: "tab:systems-flop-coefficients",
	Reads:   stored.Reads{Architectures: true, Paper: true},
	Chapter: "Designs and constants",
	Remarks: []string{`<ref table7_flop_coefficients> has the constants by which tokens become FLOPs, counted from the shapes of the checkpoints.`},
	Make:    makeFLOPs,
	Words: `
model                  The checkpoint.
theta_core             θ_core of the FLOP proxy (Eq. 23): parameters of the text core, without embeddings, output head, vision and multi-token prediction, counted from the shape of the
                       checkpoint.
theta_head             θ_head of the FLOP proxy (Eq. 23): parameters of the output projection, the embedding matrix where weights are tied: the size of the vocabulary times the width of the
                       checkpoint.
full_attention_layers  a of the FLOP proxy (Eq. 23): layers with full attention, by the shape of the checkpoint.
attention_width        d_attn of the FLOP proxy (Eq. 23): query heads times their dimension, by the shape of the checkpoint.
`,
}

// flopsRow is the constants of a checkpoint; the paper prints thetas in billions.
type flopsRow struct {
	Model               model.Checkpoint `csv:"model" head:"Checkpoint" align:"left"`
	ThetaCore           int64            `csv:"theta_core" head:"θ core / 10^9|$\\theta_{\\mathrm{core}}/10^9$" format:".6G" paper:"6"`
	ThetaHead           int64            `csv:"theta_head" head:"θ head / 10^9|$\\theta_{\\mathrm{head}}/10^9$" format:".6G" paper:"6"`
	FullAttentionLayers int64            `csv:"full_attention_layers" head:"a|$a$" paper:"0"`
	AttentionWidth      int64            `csv:"attention_width" head:"d attn|$d_{\\mathrm{attn}}$" paper:"0"`
}

func makeFLOPs(src *stored.Source) (*model.Sheet, error) {
	all, err := stored.Architectures(src)
	if err != nil {
		return nil, err
	}
	var rows []flopsRow
	for _, a := range all {
		if shape, known := checkpoint.Find(a.Model); known {
			a = shape.Architecture()
		}
		rows = append(rows, flopsRow{model.Checkpoint(a.Model), a.ThetaCore, a.ThetaHead, a.FullAttentionLayers, a.AttentionWidth})
	}
	s := model.NewSheet("Constants of the FLOP proxy: parameters of the text core and of the output head, "+
		"layers with full attention a, and the width d_attn of their query heads together.", rows)
	s.Absent = "no such checkpoint is stored"
	for i := range s.Columns[1:] {
		c, unit := &s.Columns[1+i], 1.0
		if c.Format.Scale != 0 {
			unit = 1e9
			c.Shown = func(i int) table.Cell { return table.Number(*c.Cell(i).Value()) }
		}
		c.Rule.Class = func(key paper.Key) agreement.Class {
			if _, known := checkpoint.Find(key.Model); known {
				return agreement.Computed // counted from its shape
			}
			return agreement.Copied
		}
		c.Rule.Cell = func(key paper.Key) table.Cell {
			v, _ := s.Paper.At(paper.FLOPs, c.Name, key)
			return table.Integer(int64(math.Round(v * unit)))
		}
		c.Rule.Judge = func(i int, want float64) agreement.Comparison {
			return agreement.Compare(agreement.Estimate{Value: *c.Cell(i).Value() / unit}, want/unit, c.Rule.Decimals, 0)
		}
	}
	return s, nil
}
