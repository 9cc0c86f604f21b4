package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"speceval/internal/phrase"
	"speceval/internal/upstream"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
)

// benchmarksOptions are the flags of the command benchmarks.
type benchmarksOptions struct {
	from, to    string
	download    bool
	unpublished bool
}

// upstreamFolder is where downloaded files are kept.
const upstreamFolder = "upstream"

func benchmarksCommand() command {
	o := new(benchmarksOptions)
	return command{
		name: "benchmarks",
		args: "[--from DIR | --download] [--to OUT] [--unpublished] [GROUP...] | list [--json] | check PATH",
		about: `make task files of the paper's benchmarks from the files of their authors

Files are looked for at DIR/<dataset>/<file>. With --download they are fetched there
first, at the revisions of the paper; HF_TOKEN holds the token for those whose terms
must be accepted, HF_ENDPOINT another address of the service. Every task file is
compared with the published ids, in order.`,
		examples: `  speceval benchmarks list                     what there is, and where it comes from
  speceval benchmarks --download               fetch everything (5 GB) into upstream/ and make all 18
  speceval benchmarks --download aime24 hmmt   two of them
  speceval benchmarks --from /data/upstream    from files that are there, into the folder corpus.tasks
  speceval benchmarks check tasks              task files again, against the published ids
  speceval benchmarks check mine.csv           a file of your own, line by line
`,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.from, "from", "", "read upstream files below `DIR`")
			fs.BoolVar(&o.download, "download", false, "fetch what is missing, into upstream or the folder of --from")
			fs.StringVar(&o.to, "to", "", "write task files into `OUT` (the configuration's corpus.tasks)")
			fs.BoolVar(&o.unpublished, "unpublished", false, "prepare other data through the same selections, compared with nothing")
		},
		run:  o.run,
		subs: []command{benchmarksListCommand(), benchmarksCheckCommand()},
	}
}

// benchmarksListOptions are the flags of benchmarks list.
type benchmarksListOptions struct{ json bool }

func benchmarksListCommand() command {
	o := new(benchmarksListOptions)
	return command{
		name:  "list",
		args:  "[--json]",
		about: "list the paper's benchmarks, and where their tasks come from",
		examples: `  speceval benchmarks list          what there is, and where it comes from
  speceval benchmarks list --json   one JSON document
`,
		flags: func(fs *pflag.FlagSet) { jsonFlag(fs, &o.json, "list as one JSON document") },
		run:   o.run,
	}
}

func (o *benchmarksListOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	all, err := experiment.PaperBenchmarks()
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(s.stdout, all)
	}
	return experiment.WriteBenchmarks(s.stdout, all)
}

func (o *benchmarksOptions) run(s *session, words []string) error {
	groups, err := experiment.PaperGroups(words...)
	if err != nil {
		return &usageError{err}
	}
	if o.from == "" && !o.download {
		return usagef("name the folder of upstream files with --from, or fetch them with --download")
	}
	cfg, err := config.Load(s.config, s.sets)
	if err != nil {
		return &usageError{err}
	}
	prompts, err := experiment.Prompts(cfg)
	if err != nil {
		return &usageError{err}
	}
	published, err := experiment.PaperIDs()
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	from := cmp.Or(o.from, upstreamFolder)
	var absent error
	if o.download {
		if groups, absent = s.download(ctx, groups, from); ctx.Err() != nil {
			return absent
		}
	}
	return errors.Join(absent, s.prepare(ctx, groups, upstream.Options{
		From: from, To: cmp.Or(o.to, cfg.Corpus.Tasks), Prompts: prompts, Published: published, Unpublished: o.unpublished,
	}))
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
			s.report(fmt.Sprintf("reading %s, %s", path, phrase.Megabytes(info.Size())))
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
