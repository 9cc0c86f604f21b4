// Command fit calibrates the simulated fleet: it makes models.csv, lengths.csv
// and errors.csv of data/fleet from the published profiles and measurements, the
// same bytes every time:
//
//	go run ./data/fleet/fit
//
// It fits to the times and useful FLOPs of Uniform's runs, at the budgets b and
// at the equivalent ones, and to the useful FLOPs of HBN's. The times, the waste
// and the extra rollouts of HBN are never read: what the simulated fleet says of
// them is a prediction. README.md in this folder says what was fitted to what, and
// how well.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/atomicfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

// shipped is where the calibration is that the program embeds.
const shipped = "data/fleet"

// options are what the command line says.
type options struct {
	to      string
	models  []string // to fit, all if empty
	without []int    // reference budgets that are held out
	base    float64  // of a thinking model's steps, times what reading the weights takes
	rounds  int
	draws   int
}

func run(ctx context.Context, args []string, log io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	facts, err := load()
	if err != nil {
		return err
	}
	c, err := calibrate(ctx, facts, o, log)
	if err != nil {
		return err
	}
	models, lengths := c.workload.Files()
	for name, content := range map[string][]byte{"models.csv": models, "lengths.csv": lengths, "errors.csv": c.errors()} {
		if err := atomicfile.WriteText(filepath.Join(o.to, name), string(content)); err != nil {
			return err
		}
	}
	return nil
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("fit", flag.ContinueOnError)
	flags.StringVar(&o.to, "to", shipped, "`folder` that the files go to; a trial needs another one")
	models := flags.String("models", "", "only these `models`, as a trial")
	without := flags.String("without", "", "hold out the runs of these reference `budgets`, as a trial")
	flags.Float64Var(&o.base, "base", likeliestBase, "hold the base of thinking models' steps at so many `times` what reading the weights takes")
	flags.IntVar(&o.rounds, "rounds", 12, "steps of the fit")
	flags.IntVar(&o.draws, "draws", 32, "rollouts per task, at least, that a simulated time is the mean of")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if *models != "" {
		o.models = strings.Split(*models, ",")
	}
	if !(o.base > 0.5 && o.base < 2) {
		return o, fmt.Errorf("-base %g: want a factor from 0.5 to 2", o.base)
	}
	for _, text := range strings.FieldsFunc(*without, func(r rune) bool { return r == ',' }) {
		b, err := strconv.Atoi(text)
		if err != nil || !slices.Contains(budgets, b) {
			return o, fmt.Errorf("-without %s: the reference budgets are %v", *without, budgets)
		}
		o.without = append(o.without, b)
	}
	if o.to == shipped && (len(o.models) > 0 || len(o.without) > 0 || o.base != likeliestBase) {
		return o, fmt.Errorf("-models, -without and -base are for trials, which must not replace %s: name another folder with -to", shipped)
	}
	return o, nil
}
