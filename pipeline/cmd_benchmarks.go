package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"speceval/internal/benchmark"
	"speceval/internal/benchmark/hub"
	"speceval/internal/benchmark/upstream"
	"speceval/internal/store/group"
	"speceval/internal/terminal/display"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
)

func (s *session) benchmarksCommand() *cobra.Command {
	var o upstream.Options
	download := false
	c := &cobra.Command{
		Use: "benchmarks [GROUP…]", Short: "make task files of the paper's benchmarks from their authors' files",
		Long: `Make task files of the paper's benchmarks from the files of their authors.

Files are read from DIR/<dataset>/<file>. HF_TOKEN holds the token for those whose
terms must be accepted, HF_ENDPOINT another address of the service.`,
		Example: `  speceval benchmarks --download               fetch all (5 GB) into upstream/ and make all 18
  speceval benchmarks --download aime24 hmmt   two of them
  speceval benchmarks --from /data/upstream    from files that are there, into corpus.tasks`,
		RunE: s.configured(func(cfg *config.Config, words []string) error {
			groups, err := experiment.PaperGroups(words...)
			if err != nil {
				return usage(err)
			}
			if o.From == "" && !download {
				return usagef("name the folder of upstream files with --from, or fetch them with --download")
			}
			if o.Prompts, err = experiment.Prompts(cfg); err != nil {
				return usage(err)
			}
			o.Published = experiment.PaperIDs()
			o.From, o.To = cmp.Or(o.From, "upstream"), cmp.Or(o.To, cfg.Corpus.Tasks)
			ctx, stop := s.interruptible()
			defer stop()
			var absent error
			if download {
				if groups, absent = s.download(ctx, groups, o.From); ctx.Err() != nil {
					return absent
				}
			}
			ids := ", the published ids in order"
			if o.Unpublished {
				ids = ""
				fmt.Fprintln(s.stdout, "compared with no published ids: this is not the paper's corpus")
			}
			o.Done = func(p upstream.Prepared) {
				tests := ""
				if p.Tests > 0 {
					tests = fmt.Sprintf(", %d tests", p.Tests)
				}
				fmt.Fprintf(s.stdout, "%s: %d tasks%s%s; %s\n", p.Path, p.Tasks, tests, ids, experiment.AskedIn(p.Group, p.PromptsSHA256))
			}
			return errors.Join(absent, upstream.Prepare(ctx, groups, o))
		}),
	}
	flags := c.Flags()
	flags.StringVar(&o.From, "from", "", "read upstream files below `DIR`")
	flags.BoolVar(&download, "download", false, "fetch what is missing, into upstream or the folder of --from")
	flags.StringVar(&o.To, "to", "", "write task files into `OUT` (the configuration's corpus.tasks)")
	flags.BoolVar(&o.Unpublished, "unpublished", false, "prepare other data, compared with nothing")
	c.AddCommand(s.benchmarksListCommand(), s.benchmarksCheckCommand())
	return c
}

func (s *session) benchmarksListCommand() *cobra.Command {
	return s.jsonFlag(&cobra.Command{
		Use: "list", Short: "list the paper's benchmarks, and where their tasks come from", Args: cobra.NoArgs,
		Example: "  speceval benchmarks list --json   one JSON document",
		RunE: func(*cobra.Command, []string) error {
			return s.print(experiment.PaperBenchmarks())
		},
	})
}

// download fetches the files of groups that are not there. It returns the groups whose
// files then are, and an error that names what could not be fetched.
func (s *session) download(ctx context.Context, groups []upstream.Group, to string) (there []upstream.Group, all error) {
	client, err := hub.New(hub.Options{Endpoint: s.variable("HF_ENDPOINT"), Token: s.variable("HF_TOKEN"), Report: s.report})
	if err != nil {
		return nil, usage(err)
	}
	for _, of := range group.By(groups, func(g upstream.Group) *upstream.Source { return g.Source }) {
		source, err := of[0].Source, ctx.Err()
		for _, name := range source.Files {
			if err != nil {
				break
			}
			var fetched hub.Fetched
			path, t := source.Path(to, name), s.console().Transfer(source.Dataset+"/"+name)
			fetched, err = client.Fetch(ctx, hub.File{Dataset: source.Dataset, Revision: source.Revision, Name: name}, path, t.Progress)
			if t.End(); err == nil {
				how := map[bool]string{true: "is there already", false: "fetched"}[fetched.Kept]
				s.say("%s: %s, %s, with the service's digest; SHA-256 %s", path, how, display.Megabytes(fetched.Bytes), fetched.SHA256)
			}
		}
		if all = errors.Join(all, err); err == nil {
			there = append(there, of...)
		}
	}
	return there, all
}

// benchmarksCheckCommand reports what is wrong with a task file, or with those of a folder,
// and what the tasks of a single one ask if nothing is.
func (s *session) benchmarksCheckCommand() *cobra.Command {
	unpublished := false
	c := &cobra.Command{
		Use: "check PATH", Short: "check task files, and show what will be asked", Args: cobra.ExactArgs(1),
		Example: `  speceval benchmarks check tasks      task files, against the published ids
  speceval benchmarks check mine.csv   a file of your own, line by line`,
		RunE: s.configured(func(cfg *config.Config, words []string) error {
			path := words[0]
			info, err := os.Stat(path)
			if err != nil {
				return usage(err)
			}
			files := []string{path}
			if info.IsDir() {
				files = nil
				for _, pattern := range []string{"*.jsonl", "*.csv"} {
					names, _ := fs.Glob(os.DirFS(path), pattern) // which fails for bad patterns alone
					for _, name := range names {
						files = append(files, filepath.Join(path, name))
					}
				}
			}
			if len(files) == 0 {
				return usagef("%s has no task files: names end in .jsonl or .csv", path)
			}
			var faults []error
			var tasks []benchmark.Task
			for _, file := range files {
				content := ""
				tasks, content, err = experiment.CheckTasks(cfg, file, unpublished)
				if faults = append(faults, err); err == nil {
					fmt.Fprintf(s.stdout, "%s: %s\n", file, content)
				}
			}
			if err = errors.Join(faults...); err == nil && !info.IsDir() {
				s.showTask(tasks[0])
				for _, same := range experiment.AskedTwice(tasks) {
					s.say("note: %s has the same user turn as %s: if all else is the same too, the mean counts it twice; the simulated fleet takes both for one", display.EscapedLine(same[1].ID), display.EscapedLine(same[0].ID))
				}
			}
			return err
		}),
	}
	c.Flags().BoolVar(&unpublished, "unpublished", false, "compare with no published ids")
	return c
}

// showTask prints a task as it will be asked.
func (s *session) showTask(t benchmark.Task) {
	right := ""
	if t.Answer != "" {
		right = fmt.Sprintf(", and %q is right", t.Answer)
	}
	fmt.Fprintf(s.stdout, "\nTask %s will be asked so%s:\n", display.EscapedLine(t.ID), right)
	for _, turn := range t.Turns() {
		fmt.Fprintf(s.stdout, "\n[%s]\n%s\n", turn.Role, turn.Content)
	}
	if t.Metadata != "" {
		fmt.Fprintf(s.stdout, "\nKept with its rollouts and scores: %s\n", t.Metadata)
	}
}
