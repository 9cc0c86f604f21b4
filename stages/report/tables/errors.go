package tables

import (
	"math"

	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Errors sets the errors of the mean ratios beside each other, by cause. It is not
// in the paper.
var Errors = &model.Table{
	Base: "error_split", Label: "tab:error-split",
	Reads:   stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef, stored.ErrorsRef}},
	Chapter: "How sure these numbers are",
	Remarks: []string{`The draws of the replay are not all that is uncertain: the probabilities of the profiles are themselves estimates, from a finite number of rollouts. <ref error_split> splits the errors by cause.`},
	Make:    makeErrors,
}

// errorRow is the mean of a policy at a budget with its errors.
type errorRow struct {
	mean
	variance.Causes
	budget int32
}

// errorRows are the policies that were replayed at every budget.
func errorRows(src *stored.Source) ([]errorRow, error) {
	res, err := src.Results()
	if err != nil {
		return nil, err
	}
	redrawn, err := src.ProfileErrors()
	if err != nil {
		return nil, err
	}
	var rows []errorRow
	for _, b := range variance.Budgets(res.Ratios) {
		for _, p := range policy.All {
			m, err := variance.NewMean(res.Designs, res.Ratios, p, b)
			if err != nil {
				return nil, err
			}
			if len(m.Ratios) == 0 {
				continue
			}
			c, err := variance.NewCauses(res.Designs, redrawn, m.Ratios, m.Weights())
			if err != nil {
				return nil, err
			}
			rows = append(rows, errorRow{mean{m, src}, c, b})
		}
	}
	return rows, nil
}

func makeErrors(src *stored.Source) (*model.Sheet, error) {
	rows, err := errorRows(src)
	if err != nil {
		return nil, err
	}
	const causes = ": the finite number of draws of the replay, the estimated design that profiles share, " +
		"and the finite number of rollouts that the profiles themselves are estimated from. " +
		"Shift: by how much the mean over redrawn profiles is above the mean itself. Profiles are taken to err independently."
	s := &model.Sheet{
		Rows:    len(rows),
		Title:   "Standard errors of the mean Uniform-normalized variances, by cause" + causes,
		Caption: "Standard errors of the mean Uniform-normalized variances, by cause, in percentage points" + causes,
	}
	s.Heading = model.ByBudgets(func(i int) int32 { return rows[i].budget })
	group, shift := table.Head{Plain: "Standard error"}, table.Head{Plain: "Shift"}
	s.Add(model.BudgetKey(func(i int) int32 { return rows[i].budget }))
	s.Add(model.PolicyKeys(model.PolicyWords, func(i int) *policy.Policy { return rows[i].Policy })...)
	s.Add(
		model.Column{Name: "variance_ratio", Head: table.Head{Plain: "Variance"}, Format: percent1,
			Words: "The variance of the policy over that of Uniform, " + meanForm + ": its entry of Table 1, or of Table 8 for TS-Neyman. Of ‹replay/ratios.parquet›.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Value }),
			Noise: func(field func(string) float64) float64 { return math.Hypot(field("replay_se"), field("design_se")) },
			Break: func(i int) (model.Breakdown, error) { return rows[i].breakdown() }},
		model.Column{Name: "replay_se", Role: model.Cause, Of: "variance_ratio", Head: table.Head{Plain: "replay"}, Group: group, Format: points3,
			Words: "The part of its error that comes from the finite number of draws of the replay: «(1/J)·√(Σ_j s_j²)¦J^{-1}(\\sum_j s_j^2)^{1/2}», with ratio_se of ‹replay/ratios.parquet›; profiles draw independently.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Replay }),
			Break: model.PartsOf(func(i int) *model.Parts { return model.Squared("profiles", errorColumns, rows[i].replayParts()) })},
		model.Column{Name: "design_se", Role: model.Cause, Of: "variance_ratio", Head: table.Head{Plain: "design"}, Group: group, Format: points3,
			Words: "The part that comes from the estimation of the design: «(1/J)·√(Σ_N (Σ_{j of N} (dr_j/dw)·s_w)²)¦J^{-1}\\bigl(\\sum_N(\\sum_{j:N_j=N}(\\partial r_j/\\partial w)\\,s_w)^2\\bigr)^{1/2}», " +
				"with the error «s_w» of the stage weight that all profiles with one task count share. Of ‹replay/designs.parquet›; 0 for a policy without a design.",
			Cell: model.Numbers(func(i int) float64 { return rows[i].Design }),
			Break: func(i int) (d model.Breakdown, err error) {
				parts, err := rows[i].designParts()
				d.Parts = model.Squared("designs", errorColumns, parts)
				return d, err
			}})
	s.Add(profileColumns(src, rows, group, shift)...)
	return s, nil
}

// profileColumns are the columns of what comes from the profiles.
func profileColumns(src *stored.Source, rows []errorRow, group, shift table.Head) []model.Column {
	// of is a column of one of the numbers, with those of a profile that it is made of
	of := func(c model.Column, value func(*variance.ProfileCauses) float64, parts func([]variance.ProfileError, []string) *model.Parts) model.Column {
		c.Cell = func(i int) table.Cell {
			if p := rows[i].Profiles; p != nil {
				return table.Number(value(p))
			}
			return table.Missing()
		}
		c.Break = func(i int) (d model.Breakdown, err error) {
			redrawn, err := src.ProfileErrors()
			if err != nil {
				return d, err
			}
			var errors []variance.ProfileError
			var names []string
			for _, r := range rows[i].Ratios {
				errors, names = append(errors, redrawn[variance.EntryOf(r)]), append(names, r.Profile())
			}
			d.Parts = parts(errors, names)
			return d, nil
		}
		return c
	}
	square := func(column string, own func(variance.ProfileError) float64) func([]variance.ProfileError, []string) *model.Parts {
		return func(errors []variance.ProfileError, names []string) *model.Parts {
			var parts []model.Part
			for j, e := range errors {
				s := own(e) / float64(len(errors))
				parts = append(parts, model.Shared(names[j], s*s, s, own(e), float64(e.Resamples)))
			}
			return model.Squared("profiles", []string{errorColumns[0], column + " on it", "resamples"}, parts)
		}
	}
	signed := points3
	signed.Signed = true
	const file = variance.ErrorsFile
	resamples := of(model.Column{Name: "resamples", Role: model.Count, Words: "How many times each profile was redrawn. Of ‹" + file + "›."},
		nil, func(errors []variance.ProfileError, names []string) *model.Parts {
			var parts []model.Part
			for j, e := range errors {
				parts = append(parts, model.Option(names[j], float64(e.Resamples)))
			}
			return model.Ranked("profiles", "the least is the number", []string{"resamples"}, parts, false)
		})
	resamples.Cell = func(i int) table.Cell {
		if p := rows[i].Profiles; p != nil {
			return table.Integer(p.Resamples)
		}
		return table.Missing()
	}
	return []model.Column{
		of(model.Column{Name: "profile_se", Role: model.Cause, Of: "variance_ratio", Head: table.Head{Plain: "profiles"}, Group: group, Format: points3,
			Words: "The part that no longer replay would make smaller: the profiles are estimates, of K rollouts per task. «(1/J)·√(Σ_j t_j²)¦J^{-1}(\\sum_j t_j^2)^{1/2}», with the standard deviation «t_j» of the ratio " +
				"over profiles redrawn by the binomial law of their pass counts (profile_se of ‹" + file + "›). Profiles are taken to err independently, as their rollouts were."},
			func(p *variance.ProfileCauses) float64 { return p.SE }, square("profile_se", func(e variance.ProfileError) float64 { return e.ProfileSE })),
		of(model.Column{Name: "shift", Head: table.Head{Plain: "mean"}, Group: shift, Format: signed,
			Words: "By how much the mean ratio over redrawn profiles is above the ratio of the profiles themselves, «(1/J)·Σ_j d_j¦J^{-1}\\sum_j d_j»: an estimate of the bias that redrawing adds once more, " +
				"and so of the one that the finite K has given the table already. Of ‹" + file + "›."},
			func(p *variance.ProfileCauses) float64 { return p.Shift }, func(errors []variance.ProfileError, names []string) *model.Parts {
				var parts []model.Part
				for j, e := range errors {
					parts = append(parts, model.Shared(names[j], e.Shift/float64(len(errors)), e.Shift, e.ShiftSE, float64(e.Resamples)))
				}
				return model.Added("profiles", []string{"shift", "shift_se", "resamples"}, parts)
			}),
		of(model.Column{Name: "shift_se", Role: model.Error, Of: "shift", Head: table.Head{Plain: "s.e."}, Group: shift, Format: points3,
			Words: "The Monte Carlo standard error of shift, «(1/J)·√(Σ_j e_j²)¦J^{-1}(\\sum_j e_j^2)^{1/2}», with shift_se of ‹" + file + "›."},
			func(p *variance.ProfileCauses) float64 { return p.ShiftSE }, square("shift_se", func(e variance.ProfileError) float64 { return e.ShiftSE })),
		resamples,
	}
}
