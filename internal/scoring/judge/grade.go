package judge

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// bestGrade is the grade of a response that lacks nothing; the worst is 0.
const bestGrade = 10

// gradeText matches a grade before a remark.
var gradeText = regexp.MustCompile(`^(\d{1,2}(?:\.\d{1,6})?)(?: ?/ ?10| (?:out )?of 10)?`)

// readGrade reads a grade, 7 or 7.5 or 7/10, alone or with a remark that has no further
// number, as a reward from 0 to 1. A number above 10 is not a grade: its
// scale is unknown.
func readGrade(value string) (reward float64, ok bool) {
	found := gradeText.FindStringSubmatch(value)
	if found == nil {
		return 0, false
	}
	rest := strings.TrimLeft(value[len(found[0]):], " \t*\"'`")
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil || n > bestGrade || strings.ContainsFunc(rest, unicode.IsNumber) || !isRemark(rest) {
		return 0, false
	}
	return n / bestGrade, true
}
