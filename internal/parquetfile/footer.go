package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits on what a footer holds. The library makes some hundred bytes of every byte or
// two of it, and goes down a schema by recursion.
const (
	maxFooterBytes = 32 << 20
	maxFooterParts = 2 << 20 // fields, and entries of lists
	maxColumns     = 1 << 14 // columns, and groups of columns
	maxGroups      = 1 << 16 // row groups
	maxDepth       = 64      // of groups of columns within one another
	maxNesting     = 16      // of what a footer is written in
)

// checkFooter walks the footer of a file, size bytes long, before the library makes
// anything of it.
func checkFooter(r io.ReaderAt, size int64) error {
	var tail [8]byte
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > maxFooterBytes {
		return fmt.Errorf("its footer has %d bytes, at most %d can be read", length, maxFooterBytes)
	}
	text := make([]byte, length)
	if _, err := r.ReadAt(text, size-8-length); err != nil {
		return err
	}
	s := footerScanner{rest: text}
	if err := s.file(); err != nil {
		return fmt.Errorf("its footer: %w", err)
	}
	return nil
}

// footerScanner walks Thrift's compact protocol.
type footerScanner struct {
	rest  []byte
	parts int // passed over so far
	depth int
	open  []uint64 // children that groups of columns still have, of the schema so far
}

// The types of the protocol that need care.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeMap    = 11
	typeStruct = 12
)

var errFooter = errors.New("it is damaged")

// file walks the whole footer: its schema is field 2, its row groups are field 4.
func (s *footerScanner) file() error {
	return s.structure(func(field int64, kind byte) (bool, error) {
		switch {
		case field == 2 && kind == typeList:
			return true, s.list(maxColumns, "columns", s.column)
		case field == 4 && kind == typeList:
			return true, s.list(maxGroups, "row groups", s.value)
		}
		return false, nil
	})
}

// column walks an entry of the schema, which lists columns and groups of them, a group
// before what is in it; field 5 is how many children it has.
func (s *footerScanner) column(kind byte) error {
	if kind != typeStruct {
		return s.value(kind)
	}
	children := uint64(0)
	err := s.structure(func(field int64, kind byte) (bool, error) {
		if field != 5 || kind <= typeByte || kind >= typeDouble {
			return false, nil
		}
		raw, err := s.varint()
		children = raw >> 1 // it is written in zigzag
		return true, err
	})
	for len(s.open) > 0 && s.open[len(s.open)-1] == 0 {
		s.open = s.open[:len(s.open)-1]
	}
	if len(s.open) > 0 {
		s.open[len(s.open)-1]--
	}
	if children > 0 {
		s.open = append(s.open, children)
	}
	if err == nil && len(s.open) > maxDepth {
		err = fmt.Errorf("columns are nested deeper than %d", maxDepth)
	}
	return err
}

// structure walks the fields of a structure; own walks those that it reports.
func (s *footerScanner) structure(own func(field int64, kind byte) (bool, error)) error {
	if s.depth++; s.depth > maxNesting {
		return errors.New("it is nested too deep")
	}
	defer func() { s.depth-- }()
	field := int64(0)
	for {
		head, err := s.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 > 0 {
			field += int64(head >> 4)
		} else {
			raw, err := s.varint()
			if err != nil {
				return err
			}
			field = int64(raw>>1) ^ -int64(raw&1)
		}
		done, err := own(field, head&15)
		if err == nil && !done && head&15 != typeTrue && head&15 != typeFalse { // which have no more
			err = s.value(head & 15)
		}
		if err == nil {
			err = s.part()
		}
		if err != nil {
			return err
		}
	}
}

// list walks a list of at most so many entries, by a walker of each.
func (s *footerScanner) list(most uint64, what string, each func(kind byte) error) error {
	head, err := s.byte()
	if err != nil {
		return err
	}
	count := uint64(head >> 4)
	if count == 15 {
		if count, err = s.varint(); err != nil {
			return err
		}
	}
	if count > most {
		return fmt.Errorf("it claims %d %s, at most %d can be read", count, what, most)
	}
	for range count {
		if err := errors.Join(each(head&15), s.part()); err != nil {
			return err
		}
	}
	return nil
}

// value walks a value.
func (s *footerScanner) value(kind byte) error {
	switch kind {
	case typeTrue, typeFalse, typeByte:
		return s.skip(1)
	case typeDouble:
		return s.skip(8)
	case typeBinary:
		n, err := s.varint()
		if err != nil {
			return err
		}
		return s.skip(n)
	case typeList, typeSet:
		return s.list(maxFooterParts, "entries of a list", s.value)
	case typeMap:
		return errFooter // no footer has one
	case typeStruct:
		return s.structure(func(int64, byte) (bool, error) { return false, nil })
	}
	_, err := s.varint()
	return err
}

// part counts what was passed over.
func (s *footerScanner) part() error {
	if s.parts++; s.parts > maxFooterParts {
		return fmt.Errorf("it has more than %d parts", maxFooterParts)
	}
	return nil
}

func (s *footerScanner) skip(n uint64) error {
	if n > uint64(len(s.rest)) {
		return errFooter
	}
	s.rest = s.rest[n:]
	return nil
}

func (s *footerScanner) byte() (byte, error) {
	if len(s.rest) == 0 {
		return 0, errFooter
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return b, nil
}

func (s *footerScanner) varint() (uint64, error) {
	v, n := binary.Uvarint(s.rest)
	if n <= 0 {
		return 0, errFooter
	}
	s.rest = s.rest[n:]
	return v, nil
}
