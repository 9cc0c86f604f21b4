package rows

import (
	"context"
	"fmt"
	"os"

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

// endGroup sees to it that no lists are left of a row group.
func (p *parquetFile) endGroup() error {
	for i := range p.columns {
		c := &p.columns[i]
		if err := c.end(); err != nil {
			return fmt.Errorf("after row %d: column %q: %w", p.into.number, p.into.columns[c.at].Name, err)
		}
	}
	return nil
}
