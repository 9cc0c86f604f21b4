package display

import (
	"strings"
	"testing"
)

func TestAPage(t *testing.T) {
	var b strings.Builder
	p := ManPage{
		Name: ManPageName("tool go"), About: "goes", Usage: "tool go [-n N]", Text: "goes\n\n.not a request\n'nor this, \\d", Examples: "  tool go\n",
		Options: [][2]string{{"-n N", "N times"}}, See: []string{"tool", "tool-stop"},
	}
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `.TH TOOL\-GO 1
.SH NAME
tool\-go \- goes
.SH SYNOPSIS
tool go [\-n N]
.SH DESCRIPTION
.nf
goes

\&.not a request
\&'nor this, \ed
.fi
.SH EXAMPLES
.nf
  tool go
.fi
.SH OPTIONS
.TP
.B \-n N
N times
.SH SEE ALSO
tool(1), tool\-stop(1)
`
	if b.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", b.String(), want)
	}
}
