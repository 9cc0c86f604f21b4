// Command predict says what a calibration of the simulated fleet makes of HBN: how
// much more time HBN takes than Uniform, its waste and its extra rollouts, as means
// and standard deviations of simulated suites, beside the one published suite.
//
//	go run ./data/fleet/predict                 # the shipped calibration
//	go run ./data/fleet/predict -of DIR -b 8    # a trial of the fit's, at one budget
//
// It is to the fit what a test is to training: it reads the published times of HBN,
// which the fit never does, and changes nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"speceval/internal/fleet/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "predict:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("predict", flag.ContinueOnError)
	of := flags.String("of", "data/fleet", "`folder` of the calibration")
	text := flags.String("b", "8,16,32,64", "`budgets`")
	suites := flags.Int("suites", 40, "executions of every strategy in a setting, at least 2")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var budgets []int
	for _, b := range strings.Split(*text, ",") {
		v, err := strconv.Atoi(b)
		if _, known := pilots[v]; err != nil || !known {
			return fmt.Errorf("-b %s: the published budgets are 8, 16, 32 and 64", *text)
		}
		budgets = append(budgets, v)
	}
	if *suites < 2 {
		return fmt.Errorf("-suites %d: a standard deviation takes two", *suites)
	}
	calibration, err := read(*of)
	if err != nil {
		return err
	}
	s, err := newStudy(calibration, *suites)
	if err != nil {
		return err
	}
	for _, b := range budgets {
		all, err := s.suites(ctx, b)
		if err != nil {
			return err
		}
		if err := report(stdout, b, all, withLuck(all, s.published[b], s.looping()), s.published[b]); err != nil {
			return err
		}
	}
	return nil
}

// read reads the calibration of a folder.
func read(folder string) (*workload.Workload, error) {
	models, err := os.ReadFile(filepath.Join(folder, workload.ModelsName))
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	lengths, err := os.ReadFile(filepath.Join(folder, workload.LengthsName))
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	return workload.Parse(models, lengths)
}
