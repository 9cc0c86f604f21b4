package report

import "strconv"

// paperTables is how many tables the paper has.
const paperTables = 8

// number sees to it that the next table has the number that the paper gives it,
// and one beyond all of the paper's where it has none, whatever is not here: texts
// name tables by these numbers. base is empty for a table that is no file.
func (p *prose) number(base string) {
	next := max(p.most, paperTables) + 1
	if m := numbered.FindStringSubmatch(base); m != nil {
		next, _ = strconv.Atoi(m[2])
	}
	if next != p.count+1 {
		p.line(`\setcounter{table}{%d}`, next-1)
	}
	p.count, p.most = next, max(p.most, next)
}
