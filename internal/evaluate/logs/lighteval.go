package logs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/store/files"
	"speceval/internal/store/parquetfile"
)

// lighteval is details/<model>/<time>/details_<task>_<time>.parquet of lighteval, a row
// for every document.
var lighteval = format{
	name: "lighteval",
	is: func(path string, h head) (string, bool) {
		return path, parquetfile.IsParquet(h) && details(path, func(*detailFile) error { return nil }) == nil
	},
	read: readLighteval,
}

// detailFile is an open file of details, with its columns.
type detailFile struct {
	*parquetfile.File
	id, samples int      // ids of documents, and how often each was asked (−1: no such column)
	metrics     []int    // columns
	names       []string // of metrics
}

// details calls read with a file of details.
func details(path string, read func(f *detailFile) error) (err error) {
	disk, err := files.OpenInput(path, files.Log)
	if err != nil {
		return err
	}
	defer disk.Close()
	defer parquetfile.Recover("its columns", &err)
	info, err := disk.Stat()
	if err != nil {
		return err
	}
	f := &detailFile{id: -1, samples: -1}
	if f.File, err = parquetfile.Open(disk, info.Size(), maxText); err != nil {
		return err
	}
	for i := range f.MetaData().Schema.NumColumns() {
		column := f.MetaData().Schema.Column(i)
		name := strings.ReplaceAll(column.Path(), "__", "") // of earlier versions: __doc__, __metric__
		metric, is := strings.CutPrefix(name, "metric.")
		switch {
		case column.MaxRepetitionLevel() > 0:
		case name == "doc.id":
			f.id = i
		case name == "doc.num_samples":
			f.samples = i
		case is && len(f.metrics) < maxNames:
			f.metrics, f.names = append(f.metrics, i), append(f.names, metric)
		}
	}
	if f.id < 0 || len(f.metrics) == 0 {
		return errors.New("it has no columns doc.id and metric.…: it is no file of details")
	}
	return read(f)
}

func readLighteval(b *book, path string) error {
	benchmark := trimmed(filepath.Base(path), "details_", "_"+folder(path, 0)+".parquet")
	if benchmark == "" {
		benchmark = trimmed(filepath.Base(path), "details_", ".parquet")
		benchmark = benchmark[:max(0, strings.LastIndexByte(benchmark, '_'))]
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	_, model, _ := strings.Cut(filepath.ToSlash(filepath.Dir(filepath.Dir(full))), "/details/")
	d, err := b.draft(benchmark, model)
	if err != nil {
		return err
	}
	return details(path, func(f *detailFile) error {
		for i := range f.NumRowGroups() {
			if err := d.details(f, i); err != nil {
				return fmt.Errorf("row group %d: %w", i+1, err)
			}
		}
		return nil
	})
}

// details takes the documents of a row group.
func (d *draft) details(f *detailFile, group int) error {
	columns := append([]int{f.id}, f.metrics...)
	if f.samples >= 0 {
		columns = append(columns, f.samples)
	}
	values := make([][]jsontext.Value, len(columns))
	for i, column := range columns {
		var err error
		if values[i], err = f.values(group, column, maxValues/len(columns)); err != nil {
			return fmt.Errorf("column %s: %w", f.MetaData().Schema.Column(column).Path(), err)
		}
	}
	for k := range values[0] {
		id, err := idOf(values[0][k])
		var of repeats
		if f.samples >= 0 {
			of.all, _ = strconv.Atoi(string(values[len(columns)-1][k]))
			of.all = max(0, min(of.all, maxRollouts))
			of.seen = of.all
		}
		var scores []scored
		for i, name := range f.names {
			s := scored{name: name, value: values[1+i][k]}
			s.share, s.refused = of.over(name, "")
			scores = append(scores, s)
		}
		if err == nil {
			err = d.take(id, Rollout{Number: 1, PromptTokens: -1, CompletionTokens: -1}, scores)
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", k+1, err)
		}
	}
	return nil
}

// values reads a column of a row group as JSON, null where a row has no value.
func (f *detailFile) values(group, column, most int) ([]jsontext.Value, error) {
	chunk, count, err := f.Column(f.RowGroup(group), column)
	if err == nil && (count != f.RowGroup(group).NumRows() || count > int64(most)) {
		err = fmt.Errorf("it has %d values, at most %d can be read", count, most)
	}
	if err != nil {
		return nil, err
	}
	switch c := chunk.(type) {
	case *file.Float64ColumnChunkReader:
		return batches(c, int(count), decimal)
	case *file.Float32ColumnChunkReader:
		return batches(c, int(count), func(v float32) string { return decimal(float64(v)) })
	case *file.Int64ColumnChunkReader:
		return batches(c, int(count), func(v int64) string { return strconv.FormatInt(v, 10) })
	case *file.Int32ColumnChunkReader:
		return batches(c, int(count), func(v int32) string { return strconv.Itoa(int(v)) })
	case *file.BooleanColumnChunkReader:
		return batches(c, int(count), strconv.FormatBool)
	case *file.ByteArrayColumnChunkReader:
		left, fault := maxText, error(nil)
		values, err := batches(c, int(count), func(v parquet.ByteArray) string {
			if left -= len(v); left < 0 {
				return "null"
			}
			text, err := jsontext.AppendQuote(nil, v)
			fault = cmp.Or(fault, err)
			return string(text)
		})
		if left < 0 {
			err = fmt.Errorf("its texts are longer than %d MiB", maxText>>20)
		}
		return values, cmp.Or(err, fault)
	}
	return nil, fmt.Errorf("%T holds neither numbers nor texts", chunk)
}

// decimal writes a number as JSON, NaN as null.
func decimal(v float64) string {
	if math.IsNaN(v) {
		return "null"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// batches reads the values of a chunk as JSON.
func batches[P any](chunk interface {
	file.ColumnChunkReader
	ReadBatch(batchSize int64, values []P, defLvls, repLvls []int16) (int64, int, error)
}, count int, encode func(P) string) (all []jsontext.Value, err error) {
	const batch = 4096
	buffer, levels := make([]P, batch), make([]int16, batch)
	most := chunk.Descriptor().MaxDefinitionLevel()
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
			value := jsontext.Value("null")
			if (most == 0 || levels[i] == most) && next < present {
				value = jsontext.Value(encode(buffer[next]))
				next++
			}
			all = append(all, value)
		}
	}
	return all, nil
}
