package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"speceval/internal/benchmark"
	"speceval/internal/display"
	"speceval/internal/hub"
	"speceval/internal/upstream"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
)

// upstreamFolder is where downloaded files are kept.
const upstreamFolder = "upstream"

func (s *session) benchmarksCommand() *cobra.Command {
	var o upstream.Options
	download := false
	c := &cobra.Command{
		Use: "benchmarks [GROUP…]", Short: "make task files of the paper's benchmarks from the files of their authors",
		Long: `Make task files of the paper's benchmarks from the files of their authors.

Files are looked for at DIR/<dataset>/<file>. With --download they are fetched there
first, at the revisions of the paper; HF_TOKEN holds the token for those whose terms
must be accepted, HF_ENDPOINT another address of the service. Every task file is
compared with the published ids, in order.`,
		Example: `  speceval benchmarks list                     what there is, and where it comes from
  speceval benchmarks --download               fetch all (5 GB) into upstream/ and make all 18
  speceval benchmarks --download aime24 hmmt   two of them
  speceval benchmarks --from /data/upstream    from files that are there, into corpus.tasks
  speceval benchmarks check tasks              task files again, against the published ids
  speceval benchmarks check mine.csv           a file of your own, line by line`,
		RunE: func(_ *cobra.Command, words []string) error { return s.makeBenchmarks(words, o, download) },
	}
	fs := c.Flags()
	fs.StringVar(&o.From, "from", "", "read upstream files below `DIR`")
	fs.BoolVar(&download, "download", false, "fetch what is missing, into upstream or the folder of --from")
	fs.StringVar(&o.To, "to", "", "write task files into `OUT` (the configuration's corpus.tasks)")
	fs.BoolVar(&o.Unpublished, "unpublished", false, "prepare other data through the same selections, compared with nothing")
	c.AddCommand(s.benchmarksListCommand(), s.benchmarksCheckCommand())
	return c
}

func (s *session) benchmarksListCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "list the paper's benchmarks, and where their tasks come from", Args: cobra.NoArgs,
		Example: "  speceval benchmarks list --json   one JSON document",
		RunE: func(*cobra.Command, []string) error {
			all, err := experiment.PaperBenchmarks()
			if err != nil {
				return err
			}
			if s.json {
				return writeJSON(s.stdout, all)
			}
			return experiment.WriteBenchmarks(s.stdout, all)
		},
	}
	s.jsonFlag(c)
	return c
}

func (s *session) makeBenchmarks(words []string, o upstream.Options, download bool) error {
	groups, err := experiment.PaperGroups(words...)
	if err != nil {
		return &usageError{err}
	}
	if o.From == "" && !download {
		return usagef("name the folder of upstream files with --from, or fetch them with --download")
	}
	cfg, err := s.configuration()
	if err != nil {
		return err
	}
	if o.Prompts, err = experiment.Prompts(cfg); err != nil {
		return &usageError{err}
	}
	if o.Published, err = experiment.PaperIDs(); err != nil {
		return err
	}
	o.From, o.To = cmp.Or(o.From, upstreamFolder), cmp.Or(o.To, cfg.Corpus.Tasks)
	ctx, stop := s.interruptible()
	defer stop()
	var absent error
	if download {
		if groups, absent = s.download(ctx, groups, o.From); ctx.Err() != nil {
			return absent
		}
	}
	return errors.Join(absent, s.prepare(ctx, groups, o))
}

// largeFile is the size of a file, in bytes, that takes a while to read.
const largeFile = 50_000_000

// prepare makes the task files, a line each.
func (s *session) prepare(ctx context.Context, groups []upstream.Group, o upstream.Options) error {
	if o.Unpublished {
		fmt.Fprintln(s.stdout, "compared with no published ids: this is not the paper's corpus")
	}
	o.Reading = func(path string) {
		if info, err := os.Stat(path); err == nil && info.Size() > largeFile {
			s.report(fmt.Sprintf("reading %s, %s", path, display.Megabytes(info.Size())))
		}
	}
	o.Done = func(p upstream.Prepared) {
		ids := ", the published ids in order"
		if o.Unpublished {
			ids = ""
		}
		tests := ""
		if p.Tests > 0 {
			tests = fmt.Sprintf(", %d tests", p.Tests)
		}
		fmt.Fprintf(s.stdout, "%s: %d tasks%s%s; %s\n", p.Path, p.Tasks, tests, ids, experiment.AskedIn(p.Group, p.PromptsSHA256))
	}
	return upstream.Prepare(ctx, groups, o)
}

func (s *session) benchmarksCheckCommand() *cobra.Command {
	unpublished := false
	c := &cobra.Command{
		Use: "check PATH", Short: "check a task file, or those of a folder, and show what will be asked", Args: cobra.ExactArgs(1),
		Example: `  speceval benchmarks check tasks      task files, against the published ids
  speceval benchmarks check mine.csv   a file of your own, line by line`,
		RunE: func(_ *cobra.Command, words []string) error { return s.checkTasks(words[0], unpublished) },
	}
	c.Flags().BoolVar(&unpublished, "unpublished", false, "compare with no published ids")
	return c
}

// checkTasks reports what is wrong with a task file, or with those of a folder, and what
// is asked if nothing is.
func (s *session) checkTasks(path string, unpublished bool) error {
	cfg, err := s.configuration()
	if err != nil {
		return err
	}
	if _, err := experiment.Prompts(cfg); err != nil {
		return &usageError{err}
	}
	info, err := os.Stat(path)
	if err != nil {
		return &usageError{err}
	}
	if info.IsDir() {
		return s.checkFolder(cfg, path, unpublished)
	}
	tasks, err := s.checkFile(cfg, path, unpublished)
	if err != nil {
		return err
	}
	s.showTask(tasks[0])
	for _, same := range experiment.AskedTwice(tasks) {
		s.say("note: %s has the same user turn as %s: if all else is the same too, the mean counts it twice; the simulated fleet refuses it", display.EscapedLine(same[1].ID), display.EscapedLine(same[0].ID))
	}
	return nil
}

// checkFolder checks every task file in a folder, a line each. Faults of one
// do not keep it from the others.
func (s *session) checkFolder(cfg *config.Config, folder string, unpublished bool) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var faults []error
	for _, entry := range entries {
		if ending := strings.ToLower(filepath.Ext(entry.Name())); ending == ".jsonl" || ending == ".csv" {
			_, err := s.checkFile(cfg, filepath.Join(folder, entry.Name()), unpublished)
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		return usagef("%s has no task files: names end in .jsonl or .csv", folder)
	}
	return errors.Join(faults...)
}

// checkFile checks a task file and prints a line about its tasks.
func (s *session) checkFile(cfg *config.Config, path string, unpublished bool) ([]benchmark.Task, error) {
	tasks, paper, err := experiment.CheckTasks(cfg, path, unpublished)
	if err == nil {
		fmt.Fprintf(s.stdout, "%s: %s%s\n", path, experiment.Content(tasks), paper)
	}
	return tasks, err
}

// showTask prints a task as it will be asked.
func (s *session) showTask(t benchmark.Task) {
	fmt.Fprintf(s.stdout, "\nTask %s will be asked so", display.EscapedLine(t.ID))
	if t.Answer != "" {
		fmt.Fprintf(s.stdout, ", and %q is right", t.Answer)
	}
	fmt.Fprintln(s.stdout, ":")
	if t.SystemPrompt != "" {
		fmt.Fprintf(s.stdout, "\n[system]\n%s\n", t.SystemPrompt)
	}
	for _, turn := range t.History {
		fmt.Fprintf(s.stdout, "\n[%s]\n%s\n", turn.Role, turn.Content)
	}
	fmt.Fprintf(s.stdout, "\n[user]\n%s\n", t.UserPrompt)
	if t.Metadata != "" {
		fmt.Fprintf(s.stdout, "\nKept with its rollouts and scores: %s\n", t.Metadata)
	}
}

// Environment variables of the service that publishes datasets, as its own tools
// name them.
const (
	hubEndpointVariable = "HF_ENDPOINT"
	hubTokenVariable    = "HF_TOKEN"
)

// download fetches the files of groups that are not there. It gives the groups
// whose files then are, and an error that names what could not be fetched.
func (s *session) download(ctx context.Context, groups []upstream.Group, to string) ([]upstream.Group, error) {
	client, err := hub.New(hub.Options{Endpoint: s.variable(hubEndpointVariable), Token: s.variable(hubTokenVariable), Report: s.report})
	if err != nil {
		return nil, &usageError{err}
	}
	faults := map[*upstream.Source]error{}
	var all error
	for _, g := range groups {
		if _, known := faults[g.Source]; known {
			continue
		}
		faults[g.Source] = s.fetch(ctx, client, g.Source, to)
		if all = errors.Join(all, faults[g.Source]); ctx.Err() != nil {
			return nil, all
		}
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g upstream.Group) bool { return faults[g.Source] != nil }), all
}

// fetch fetches the files of a source.
func (s *session) fetch(ctx context.Context, client *hub.Client, source *upstream.Source, to string) error {
	for _, name := range source.Files {
		path := source.Path(to, name)
		t := s.console().Transfer(source.Dataset + "/" + name)
		fetched, err := client.Fetch(ctx, hub.File{Dataset: source.Dataset, Revision: source.Revision, Name: name}, path, t.Progress)
		t.End()
		if err != nil {
			return err
		}
		said := "fetched"
		if fetched.Kept {
			said = "is there already"
		}
		s.say("%s: %s, %s, with the service's digest; SHA-256 %s", path, said, display.Megabytes(fetched.Bytes), fetched.SHA256)
	}
	return nil
}
