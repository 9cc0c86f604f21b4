package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v17/parquet"
	parquetcolumns "github.com/apache/arrow/go/v17/parquet/file"

	"speceval/internal/files"
	"speceval/internal/parquetfile"
)

// lightevalFormat is details/<model>/<time>/details_<task>_<time>.parquet of lighteval,
// a row for every document.
func lightevalFormat() format {
	return format{
		name: "lighteval",
		is: func(f *file) bool {
			if !parquetfile.IsParquet(f.first()) {
				return false
			}
			details, err := openDetails(f)
			if err == nil {
				details.disk.Close()
			}
			return err == nil
		},
		read: each(readLighteval),
	}
}

// details is an open file of details.
type details struct {
	disk    *os.File
	rows    *parquetfile.File
	id      int            // column of the documents' ids
	samples int            // column of how often each was asked, −1 if there is none
	metrics map[int]string // columns of metrics
	order   []int          // of these columns
	texts   int            // bytes of the texts read of a row group so far
}

const (
	maxDetailsPage  = 64 << 20
	maxDetailsGroup = 1 << 22  // values of a row group, in all columns that are read
	maxDetailsTexts = 64 << 20 // bytes of its texts, shortened to what an id may have
)

func openDetails(f *file) (d *details, err error) {
	disk, err := files.OpenInput(f.path, files.Log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			disk.Close()
		}
	}()
	defer parquetfile.Recover(f.path, &err)
	rows, err := parquetfile.Open(disk, f.size, maxDetailsPage)
	if err != nil {
		return nil, err
	}
	d = &details{disk: disk, rows: rows, id: -1, samples: -1, metrics: make(map[int]string)}
	schema := rows.MetaData().Schema
	for i := range schema.NumColumns() {
		column := schema.Column(i)
		path := strings.ReplaceAll(column.Path(), "__", "") // of earlier versions: __doc__, __metric__
		metric, is := strings.CutPrefix(path, "metric.")
		switch {
		case column.MaxRepetitionLevel() > 0:
		case path == "doc.id":
			d.id = i
		case path == "doc.num_samples":
			d.samples = i
		case is && len(d.order) < maxNames:
			d.metrics[i], d.order = metric, append(d.order, i)
		}
	}
	if d.id < 0 || len(d.order) == 0 {
		return nil, errors.New("it has no columns doc.id and metric.…: it is no file of details")
	}
	return d, nil
}

func readLighteval(f *file, c Choice) (_ []Log, err error) {
	d, err := openDetails(f)
	if err != nil {
		return nil, err
	}
	defer d.disk.Close()
	defer parquetfile.Recover("its columns", &err)
	t := newLogBuilder(Log{Format: "lighteval", Source: f.path, Complete: true})
	t.log.Benchmark, t.log.Model = described(f)
	if err := t.from(f); err != nil {
		return nil, err
	}
	choose := &chooser{wanted: c.Scorer}
	row := 0
	for i := range d.rows.NumRowGroups() {
		group := d.rows.RowGroup(i)
		d.texts = 0
		ids, err := d.column(group, d.id)
		if err != nil {
			return nil, err
		}
		metrics := make(map[int][]scalar, len(d.order))
		for _, column := range d.order {
			if metrics[column], err = d.column(group, column); err != nil {
				return nil, err
			}
		}
		var samples []scalar
		if d.samples >= 0 {
			if samples, err = d.column(group, d.samples); err != nil {
				return nil, err
			}
		}
		for k, id := range ids {
			row++
			var scores []scored
			var of repeats
			if samples != nil {
				of.all = int(max(0, min(samples[k].Number, maxRollouts)))
				of.seen = of.all
			}
			for _, column := range d.order {
				s := scored{name: d.metrics[column], value: metrics[column][k]}
				s.share, s.refused = of.over(s.name, "")
				scores = append(scores, s)
			}
			if err := choose.take(t, id.id(), Rollout{Number: 1, PromptTokens: -1, CompletionTokens: -1}, scores); err != nil {
				return nil, fmt.Errorf("row %d: %w", row, err)
			}
		}
	}
	if err := choose.settle(t); err != nil {
		return nil, err
	}
	log, err := t.done()
	return []Log{log}, err
}

// described is the benchmark and the model by the path of a file.
func described(f *file) (benchmark, model string) {
	dir := filepath.Dir(f.path)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	time := filepath.Base(dir)
	benchmark = trimmed(f.base(), "details_", "_"+time+".parquet")
	if benchmark == "" {
		benchmark = trimmed(f.base(), "details_", ".parquet")
		if cut := strings.LastIndexByte(benchmark, '_'); cut > 0 {
			benchmark = benchmark[:cut]
		}
	}
	_, model, _ = strings.Cut(filepath.ToSlash(filepath.Dir(dir)), "/details/")
	return benchmark, model
}

// column is the values of a column in a row group, null where there is none.
func (d *details) column(group *parquetcolumns.RowGroupReader, i int) ([]scalar, error) {
	chunk, count, err := d.rows.Column(group, i)
	name := d.rows.MetaData().Schema.Column(i).Path()
	if most := int64(maxDetailsGroup / (len(d.order) + 2)); err == nil && (count != group.NumRows() || count > most) {
		err = fmt.Errorf("%d values in a row group of %d rows, at most %d can be read", count, group.NumRows(), most)
	}
	var values []scalar
	if err == nil {
		values, err = d.scalars(chunk, int(count))
	}
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", name, err)
	}
	return values, nil
}

// scalars reads the values of a chunk.
func (d *details) scalars(chunk parquetcolumns.ColumnChunkReader, count int) ([]scalar, error) {
	number := func(v float64) scalar { return scalar{Kind: '0', Number: v} }
	switch c := chunk.(type) {
	case *parquetcolumns.Float64ColumnChunkReader:
		return batches(c, count, number)
	case *parquetcolumns.Float32ColumnChunkReader:
		return batches(c, count, func(v float32) scalar { return number(float64(v)) })
	case *parquetcolumns.Int64ColumnChunkReader:
		return batches(c, count, func(v int64) scalar { return number(float64(v)) })
	case *parquetcolumns.Int32ColumnChunkReader:
		return batches(c, count, func(v int32) scalar { return number(float64(v)) })
	case *parquetcolumns.BooleanColumnChunkReader:
		return batches(c, count, func(v bool) scalar {
			if v {
				return scalar{Kind: 't'}
			}
			return scalar{Kind: 'f'}
		})
	case *parquetcolumns.ByteArrayColumnChunkReader:
		values, err := batches(c, count, func(v parquet.ByteArray) scalar {
			if d.texts += min(len(v), maxID+1); d.texts > maxDetailsTexts {
				return scalar{Kind: 'n'}
			}
			return scalar{Kind: '"', Text: strings.ToValidUTF8(string(v[:min(len(v), maxID+1)]), "\uFFFD")}
		})
		if d.texts > maxDetailsTexts {
			err = fmt.Errorf("the texts of a row group are longer than %d MiB", maxDetailsTexts>>20)
		}
		return values, err
	}
	return nil, fmt.Errorf("%T holds neither numbers nor texts", chunk)
}

// batches reads the values of a chunk, and makes scalars of them.
func batches[P any](chunk interface {
	parquetcolumns.ColumnChunkReader
	ReadBatch(batchSize int64, values []P, defLvls, repLvls []int16) (int64, int, error)
}, count int, toScalar func(P) scalar) ([]scalar, error) {
	const batch = 4096
	buffer, levels := make([]P, batch), make([]int16, batch)
	most := chunk.Descriptor().MaxDefinitionLevel()
	var all []scalar
	for len(all) < count {
		n, present, err := chunk.ReadBatch(min(batch, int64(count-len(all))), buffer, levels, nil)
		if err == nil {
			err = chunk.Err()
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("damaged Parquet file: only %d of %d values are there", len(all), count)
		}
		if err != nil {
			return nil, err
		}
		next := 0
		for i := range int(n) {
			if most > 0 && levels[i] != most || next >= present {
				all = append(all, scalar{Kind: 'n'})
				continue
			}
			all = append(all, toScalar(buffer[next]))
			next++
		}
	}
	return all, nil
}
