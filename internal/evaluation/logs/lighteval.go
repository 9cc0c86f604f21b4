package logs

import (
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

// readLighteval reads details/<model>/<time>/details_<task>_<time>.parquet of lighteval, a row
// for every document.
func readLighteval(b *book, path string) (err error) {
	benchmark := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "details_"), ".parquet")
	if cut := strings.LastIndexByte(benchmark, '_'); cut > 0 && !strings.HasSuffix(benchmark, "_"+folder(path, 0)) {
		benchmark = benchmark[:cut]
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	_, model, _ := strings.Cut(filepath.ToSlash(filepath.Dir(filepath.Dir(full))), "/details/")
	d := b.draft(strings.TrimSuffix(benchmark, "_"+folder(path, 0)), model)
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
	f, err := parquetfile.Open(disk, info.Size(), maxValue)
	if err != nil {
		return err
	}
	for g := range f.NumRowGroups() {
		if err := d.details(f, f.RowGroup(g)); err != nil {
			return fmt.Errorf("row group %d: %w", g+1, err)
		}
	}
	return nil
}

// details takes the documents of a row group: their ids, how often each was asked if that
// is there, and the metrics.
func (d *draft) details(f *parquetfile.File, group *file.RowGroupReader) error {
	columns, names, metrics := make(map[string]func() (jsontext.Value, error)), []string(nil), 0
	for i := range f.MetaData().Schema.NumColumns() {
		column := f.MetaData().Schema.Column(i)
		name := strings.ReplaceAll(column.Path(), "__", "") // of earlier versions: __doc__, __metric__
		metric := strings.HasPrefix(name, "metric.")
		if column.MaxRepetitionLevel() > 0 || !metric && name != "doc.id" && name != "doc.num_samples" {
			continue
		}
		chunk, _, err := f.Column(group, i)
		if err == nil {
			columns[name], err = valuesOf(chunk)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		if names = append(names, name); metric {
			metrics++
		}
	}
	if columns["doc.id"] == nil || metrics == 0 {
		return errors.New("it has no columns doc.id and metric.…: it is no file of details")
	}
	for k := range group.NumRows() {
		var scores members
		values := make(map[string]jsontext.Value)
		for _, name := range names {
			value, err := columns[name]()
			if err != nil {
				return fmt.Errorf("row %d, column %s: %w", k+1, name, err)
			}
			values[name] = value
			if metric, is := strings.CutPrefix(name, "metric."); is {
				scores = append(scores, member{metric, value})
			}
		}
		var id taskID
		var of responses
		of.all = int(max(0, min(tokens(values["doc.num_samples"]), maxRollouts)))
		of.seen = of.all
		err := id.UnmarshalJSON(values["doc.id"])
		if err == nil {
			err = d.addScored(row{Rollout: ioTokens{}.rollout(1, ""), id: id, scores: scores, of: &of})
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", k+1, err)
		}
	}
	return nil
}

// valuesOf reads the values of a column as JSON, one at a time: a small file may hold many.
func valuesOf(chunk file.ColumnChunkReader) (func() (jsontext.Value, error), error) {
	switch c := chunk.(type) {
	case *file.Float64ColumnChunkReader:
		return values(c, func(v float64) string {
			if math.IsNaN(v) {
				return "null"
			}
			return strconv.FormatFloat(v, 'g', -1, 64)
		}), nil
	case *file.Int64ColumnChunkReader:
		return values(c, func(v int64) string { return strconv.FormatInt(v, 10) }), nil
	case *file.BooleanColumnChunkReader:
		return values(c, strconv.FormatBool), nil
	case *file.ByteArrayColumnChunkReader:
		return values(c, func(v parquet.ByteArray) string {
			text, _ := jsontext.AppendQuote(nil, v)
			return string(text)
		}), nil
	}
	return nil, fmt.Errorf("%T holds neither numbers nor texts", chunk)
}

// values reads the values of a chunk, null where there is none.
func values[P any](chunk interface {
	file.ColumnChunkReader
	ReadBatch(batchSize int64, values []P, defLvls, repLvls []int16) (int64, int, error)
}, encode func(P) string) func() (jsontext.Value, error) {
	var value [1]P
	var level [1]int16
	return func() (jsontext.Value, error) {
		n, _, err := chunk.ReadBatch(1, value[:], level[:], nil)
		switch err := errors.Join(err, chunk.Err()); {
		case err != nil:
			return nil, err
		case n == 0:
			return nil, errors.New("damaged Parquet file: it holds fewer values than it claims")
		case level[0] < chunk.Descriptor().MaxDefinitionLevel():
			return jsontext.Value("null"), nil
		}
		return jsontext.Value(encode(value[0])), nil
	}
}
