package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"speceval/internal/parquetfile"
)

const (
	// maxPage is the largest page that is read, in bytes: one of a thousand images
	// has many megabytes.
	maxPage = 256 << 20
	maxRows = 1 << 26 // that a file may claim
)

// parquetFile reads Parquet, row by row and page by page.
type parquetFile struct {
	file    *parquetfile.File
	into    *record
	columns []parquetColumn
}

func readParquet(_ context.Context, file *os.File, into *record) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	p := parquetFile{into: into}
	if err := p.open(file, info.Size()); err != nil {
		return err
	}
	rows := int64(0)
	for g := range p.file.NumRowGroups() {
		count, err := p.group(g)
		if err != nil {
			return err
		}
		if rows += count; count < 0 || rows > maxRows {
			return fmt.Errorf("damaged Parquet file: row group %d claims %d rows, at most %d can be read", g+1, count, maxRows)
		}
		for range count {
			into.begin()
			if err := p.row(); err != nil {
				return err
			}
			if err := into.emit(); err != nil {
				return err
			}
		}
		if err := p.endGroup(); err != nil {
			return err
		}
	}
	return nil
}

// open reads the footer and finds the columns.
func (p *parquetFile) open(file *os.File, size int64) (err error) {
	defer parquetfile.Recover("footer", &err)
	if p.file, err = parquetfile.Open(file, size, maxPage); err != nil {
		return err
	}
	footer := p.file.MetaData().Schema
	root := footer.Root()
	for i, c := range p.into.columns {
		field := root.FieldIndexByName(c.Name)
		switch {
		case field < 0 && !c.Optional:
			return missing(c.Name, fieldNames(root))
		case field < 0:
			continue
		}
		column, err := columnOf(footer, root.Field(field), c.Kind)
		if err != nil {
			return fmt.Errorf("column %q %w", c.Name, err)
		}
		column.at = i
		p.columns = append(p.columns, column)
	}
	return nil
}

func fieldNames(root *schema.GroupNode) (names []string) {
	for i := range root.NumFields() {
		names = append(names, root.Field(i).Name())
	}
	return names
}

// group begins row group g, and tells how many rows it claims.
func (p *parquetFile) group(g int) (rows int64, err error) {
	defer parquetfile.Recover(fmt.Sprintf("row group %d", g+1), &err)
	group := p.file.RowGroup(g)
	for i := range p.columns {
		c := &p.columns[i]
		if err := c.begin(p.file, group); err != nil {
			return 0, fmt.Errorf("row group %d: column %q: %w", g+1, p.into.columns[c.at].Name, err)
		}
	}
	return group.NumRows(), nil
}

// row reads the next row of the group.
func (p *parquetFile) row() error {
	for i := range p.columns {
		c := &p.columns[i]
		if err := c.read(p.into); err != nil {
			return p.into.columnFault(c.at, err)
		}
	}
	return nil
}

// endGroup returns an error if lists of a row group are left.
func (p *parquetFile) endGroup() error {
	for i := range p.columns {
		c := &p.columns[i]
		if err := c.end(); err != nil {
			return fmt.Errorf("after row %d: column %q: %w", p.into.number, p.into.columns[c.at].Name, err)
		}
	}
	return nil
}

// parquetColumn reads a column of a file, value by value: what the library decodes
// at once keeps every page that it is of.
type parquetColumn struct {
	at    int // of the columns that were asked for
	index int // of the column in the file
	list  bool
	// entry is the least definition level of an entry of a list; one below it the
	// list is empty, two below it null.
	entry int16

	reader  file.ColumnChunkReader
	full    int16 // definition level of a value that is not null
	pending bool  // the value below is read, but of the next row
	value   parquetValue
}

// parquetValue is a value with its levels.
type parquetValue struct {
	repetition, definition [1]int16
	text                   [1]parquet.ByteArray // in the memory of its page
	short                  [1]int32
	long                   [1]int64
}

var errDamaged = errors.New("damaged Parquet file: it holds fewer values than it claims")

// columnOf finds the values of a field, which must be fit for a kind.
func columnOf(file *schema.Schema, field schema.Node, kind Kind) (parquetColumn, error) {
	var c parquetColumn
	leaf, levels, repeated := field, int16(0), 0
	for {
		switch leaf.RepetitionType() {
		case parquet.Repetitions.Repeated:
			repeated++
			levels++
			c.entry = levels
		case parquet.Repetitions.Optional:
			levels++
		}
		group, ok := leaf.(*schema.GroupNode)
		if !ok {
			break
		}
		if group.NumFields() != 1 {
			return c, fmt.Errorf("is a structure, want %s", kind)
		}
		leaf = group.Field(0)
	}
	c.list = repeated > 0
	nested := leaf != field
	switch primitive := leaf.(*schema.PrimitiveNode); {
	case kind == Texts && repeated == 1 && textual(primitive):
	case kind == Texts || nested || c.list:
		return c, typeFault(primitive, c.list, nested, kind)
	case kind != Number && textual(primitive), kind != Filled && integral(primitive):
	default:
		return c, typeFault(primitive, c.list, nested, kind)
	}
	c.index = file.ColumnIndexByNode(leaf)
	return c, nil
}

// textual reports whether the values are texts, by what the type says they mean.
func textual(n *schema.PrimitiveNode) bool {
	if n.PhysicalType() != parquet.Types.ByteArray {
		return false
	}
	switch n.LogicalType().(type) {
	case schema.NoLogicalType, schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType, schema.UnknownLogicalType:
		return true
	}
	return false
}

// integral reports whether the values are signed integers.
func integral(n *schema.PrimitiveNode) bool {
	if n.PhysicalType() != parquet.Types.Int32 && n.PhysicalType() != parquet.Types.Int64 {
		return false
	}
	switch t := n.LogicalType().(type) {
	case schema.NoLogicalType, schema.UnknownLogicalType:
		return true
	case *schema.IntLogicalType:
		return t.IsSigned()
	case schema.IntLogicalType:
		return t.IsSigned()
	}
	return false
}

func typeFault(n *schema.PrimitiveNode, list, nested bool, want Kind) error {
	name := n.PhysicalType().String()
	if t := n.LogicalType(); !t.IsNone() {
		name += " (" + t.String() + ")"
	}
	switch {
	case list:
		name = "a list of " + name
	case nested:
		name = "a structure of " + name
	}
	return fmt.Errorf("is %s, want %s: another revision of the dataset may have other types", name, want)
}

// begin opens the column in a row group.
func (c *parquetColumn) begin(f *parquetfile.File, group *file.RowGroupReader) error {
	reader, values, err := f.Column(group, c.index)
	if err != nil {
		return err
	}
	if !c.list && values != group.NumRows() {
		return fmt.Errorf("damaged Parquet file: %d values for %d rows", values, group.NumRows())
	}
	c.reader, c.full, c.pending = reader, reader.Descriptor().MaxDefinitionLevel(), false
	return nil
}

// next reads a value, and reports whether there was one.
func (c *parquetColumn) next() (more bool, err error) {
	var read int64
	v := &c.value
	switch reader := c.reader.(type) {
	case *file.ByteArrayColumnChunkReader:
		read, _, err = reader.ReadBatch(1, v.text[:], v.definition[:], v.repetition[:])
	case *file.Int32ColumnChunkReader:
		read, _, err = reader.ReadBatch(1, v.short[:], v.definition[:], v.repetition[:])
	case *file.Int64ColumnChunkReader:
		read, _, err = reader.ReadBatch(1, v.long[:], v.definition[:], v.repetition[:])
	}
	if err == nil {
		err = c.reader.Err()
	}
	if err != nil {
		return false, fmt.Errorf("damaged Parquet file: %w", err)
	}
	return read == 1, nil
}

// read reads the value of the next row into its cell.
func (c *parquetColumn) read(into *record) (err error) {
	defer parquetfile.Recover("its values", &err)
	if !c.pending {
		more, err := c.next()
		if err != nil {
			return err
		}
		if !more {
			return errDamaged
		}
	}
	c.pending = false
	if c.list {
		return c.readList(into)
	}
	v := &c.value
	switch {
	case c.full > 0 && v.definition[0] < c.full:
		return into.null(c.at)
	case c.reader.Type() == parquet.Types.ByteArray:
		return into.setText(c.at, v.text[0])
	case c.reader.Type() == parquet.Types.Int32:
		v.long[0] = int64(v.short[0])
	}
	cell := &into.cells[c.at]
	return into.setText(c.at, strconv.AppendInt(cell.text[:0], v.long[0], 10))
}

// readList reads the entries of a list, the first of which has been read, and the
// first of the next one.
func (c *parquetColumn) readList(into *record) error {
	v := &c.value
	if v.repetition[0] != 0 {
		return errors.New("damaged Parquet file: a row begins within a list")
	}
	cell := &into.cells[c.at]
	null, empty := v.definition[0] < c.entry-1, v.definition[0] < c.entry
	for {
		if !empty {
			if v.definition[0] < c.full {
				return errors.New("is a list with null, want a list of texts")
			}
			switch {
			case len(cell.text)+len(v.text[0]) > maxValue:
				return errLong
			case !utf8.Valid(v.text[0]):
				return errUTF8
			}
			cell.text = append(cell.text, v.text[0]...)
			if err := cell.endText(); err != nil {
				return err
			}
		}
		more, err := c.next()
		if err != nil {
			return err
		}
		if !more || v.repetition[0] == 0 {
			c.pending = more
			break
		}
		if empty {
			return errors.New("damaged Parquet file: an empty list has entries")
		}
	}
	if null {
		return into.null(c.at)
	}
	return nil
}

// end returns an error if anything of a row group is left.
func (c *parquetColumn) end() error {
	if c.pending {
		return errors.New("damaged Parquet file: there are more lists than rows")
	}
	return nil
}
