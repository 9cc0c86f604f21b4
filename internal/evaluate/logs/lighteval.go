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

// lighteval is details/<model>/<time>/details_<task>_<time>.parquet of lighteval, a row
// for every document.
var lighteval = format{
	name: "lighteval",
	is: func(path string, h head) (string, bool) {
		return path, parquetfile.IsParquet(h) && strings.HasPrefix(filepath.Base(path), "details")
	},
	read: readLighteval,
}

// detail is a column of details.
type detail struct {
	name  string // id, num_samples, or a metric's
	place int    // −1: it is not there
	next  func() (jsontext.Value, error)
}

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
	columns, err := detailsOf(f)
	if err != nil {
		return err
	}
	for g := range f.NumRowGroups() {
		group := f.RowGroup(g)
		for i := range columns {
			c := &columns[i]
			if c.place < 0 {
				continue
			}
			chunk, _, err := f.Column(group, c.place)
			if err == nil {
				c.next, err = valuesOf(chunk)
			}
			if err != nil {
				return fmt.Errorf("column %s: %w", c.name, err)
			}
		}
		for k := range group.NumRows() {
			if err := d.details(columns); err != nil {
				return fmt.Errorf("row group %d, row %d: %w", g+1, k+1, err)
			}
		}
	}
	return nil
}

// detailsOf are the columns of a file: the ids of documents, how often each was asked if that
// is there, and the metrics.
func detailsOf(f *parquetfile.File) ([]detail, error) {
	none := detail{place: -1, next: func() (jsontext.Value, error) { return nil, nil }}
	columns := []detail{none, none}
	for i := range f.MetaData().Schema.NumColumns() {
		column := f.MetaData().Schema.Column(i)
		name := strings.ReplaceAll(column.Path(), "__", "") // of earlier versions: __doc__, __metric__
		metric, is := strings.CutPrefix(name, "metric.")
		switch {
		case column.MaxRepetitionLevel() > 0:
		case name == "doc.id":
			columns[0] = detail{name: name, place: i}
		case name == "doc.num_samples":
			columns[1] = detail{name: name, place: i}
		case is:
			columns = append(columns, detail{name: metric, place: i})
		}
	}
	if columns[0].place < 0 || len(columns) == 2 {
		return nil, errors.New("it has no columns doc.id and metric.…: it is no file of details")
	}
	return columns, nil
}

// details takes a document.
func (d *draft) details(columns []detail) error {
	var of repeats
	var id taskID
	var scores []scored
	for i, c := range columns {
		value, err := c.next()
		switch {
		case err != nil:
			return fmt.Errorf("column %s: %w", c.name, err)
		case i == 0:
			if id, err = idOf(value); err != nil {
				return err
			}
		case i == 1:
			of.all, _ = strconv.Atoi(string(value))
			of.all = max(0, min(of.all, maxRollouts))
			of.seen = of.all
		default:
			s := scoreOf(c.name, value)
			s.share, s.refused = of.over(c.name, "")
			scores = append(scores, s)
		}
	}
	return d.take(id, ioTokens{}.rollout(1), scores)
}

// valuesOf reads the values of a column as JSON, one at a time.
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
