package model

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"speceval/internal/policy"
	"speceval/internal/terminal/table"
)

// NewSheet is a sheet of rows, structs whose fields are columns by these tags:
//
//	csv     its name in CSV, in its absence that of parquet; a field without either is in print alone
//	head    its heading in print, and group one over neighbours: "a|$a$" in words and in TeX;
//	        a column without a heading is in CSV alone
//	align   left or center; right without it
//	format  how it is rounded, as table.ParseFormat reads; "±" behind that prints its error
//	of      the column that an error is of: of X where its name is X_se or X_sd
//	paper   decimals of the paper's number, the difference that is accepted whatever the
//	        noise, and "paired" where that number is printed next to ours
//
// A field without a name and a heading is no column. Fields of an embedded struct are columns
// in its place. A nil pointer and an empty name are missing, and so is a number that is not
// finite where the tag missing is "NaN".
func NewSheet[T any](title string, rows []T) *Sheet {
	s := &Sheet{Title: title, Rows: len(rows)}
	all := reflect.ValueOf(rows)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name := cmp.Or(f.Tag.Get("csv"), f.Tag.Get("parquet"))
		if name != "" || f.Tag.Get("head") != "" {
			s.Add(columnOf(name, f, func(row int) any { return all.Index(row).FieldByIndex(f.Index).Interface() }))
		}
	}
	return s
}

// Shower is a field that is printed otherwise than it is stored in CSV.
type Shower interface{ Shown() table.Cell }

// columnOf is the column of a field.
func columnOf(name string, f reflect.StructField, at func(row int) any) Column {
	format, spread := strings.CutSuffix(f.Tag.Get("format"), "±")
	c := Column{
		Name: name, Of: f.Tag.Get("of"), Head: HeadOf(f.Tag.Get("head")), Group: HeadOf(f.Tag.Get("group")),
		Format: table.ParseFormat(format), PlusMinus: spread,
		Align: map[string]table.Align{"left": table.Left, "center": table.Center}[f.Tag.Get("align")],
		Cell:  func(row int) table.Cell { return CellOf(at(row)) },
	}
	if f.Tag.Get("missing") == "NaN" {
		c.Cell = func(row int) table.Cell { return table.Finite(at(row).(float64)) }
	}
	if f.Type.Implements(reflect.TypeFor[Shower]()) {
		c.Shown = func(row int) table.Cell { return at(row).(Shower).Shown() }
	}
	if words := strings.Fields(f.Tag.Get("paper")); len(words) > 0 {
		c.Rule = &Rule{Decimals: int(number(words[0]))}
		for _, word := range words[1:] {
			if word == "paired" {
				c.Paired = true
			} else {
				c.Rule.Tolerance = number(word)
			}
		}
	}
	return c
}

// number is a number of a tag.
func number(word string) float64 {
	v, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(fmt.Sprintf("a tag of a row: %v", err))
	}
	return v
}

// HeadOf is a heading in a tag.
func HeadOf(tag string) table.Head {
	plain, tex, _ := strings.Cut(tag, "|")
	return table.Head{Plain: plain, TeX: tex}
}

// CellOf is a value as a cell.
func CellOf(field any) table.Cell {
	switch v := field.(type) {
	case nil:
		return table.Missing()
	case table.Cell:
		return v
	case fmt.Stringer:
		return table.Text(v.String())
	}
	switch v := reflect.ValueOf(field); v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return table.Missing()
		}
		return CellOf(v.Elem().Interface())
	case reflect.Float64:
		return table.Number(v.Float())
	case reflect.Int, reflect.Int32, reflect.Int64:
		return table.Integer(v.Int())
	case reflect.String:
		if v.Len() == 0 {
			return table.Missing()
		}
		return table.Text(v.String())
	default:
		panic(fmt.Sprintf("%T is no cell", field))
	}
}

// RowBudget is a budget that heads its row in print: b = 8.
type RowBudget int32

// Shown is "b = 8".
func (b RowBudget) Shown() table.Cell {
	head := BudgetHead(int32(b))
	return table.Math(head.Plain, head.TeX)
}

// Checkpoint is a model, printed as the paper does.
type Checkpoint string

// Shown is the name as ModelName has it.
func (c Checkpoint) Shown() table.Cell { return table.Text(ModelName(string(c))) }

// Policy is the policy of a row, in CSV by its name and in print by its title.
type Policy struct{ *policy.Policy }

// String is the name.
func (p Policy) String() string { return p.Name }

// Shown is the title.
func (p Policy) Shown() table.Cell { return table.Text(p.Title()) }

// PolicyKeys name the policy of a row.
type PolicyKeys struct {
	Policy Policy `csv:"policy" head:"Policy" align:"left"`
	Donors string `csv:"donors"`
}

// KeysOf are the columns of a policy.
func KeysOf(p *policy.Policy) PolicyKeys { return PolicyKeys{Policy{p}, p.Donors.Name} }
