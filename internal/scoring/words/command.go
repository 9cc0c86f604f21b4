package words

// Look is a change by a command of LaTeX to how a text looks, and to nothing else.
type Look uint8

// The looks of commands.
const (
	Font   Look = iota + 1 // of its argument: \text
	Frame                  // around its argument: \boxed
	Layout                 // of what follows: \quad
	Hidden                 // with an argument that is no part of the text: \hspace
)

// looks are the commands that change how a text looks alone.
var looks = ByWord(map[Look]string{
	Font: `text textbf textit textrm textnormal textsf texttt textup mbox hbox emph mathrm mathbf mathit mathsf mathtt mathcal mathscr mathfrak boldsymbol bm
		operatorname pmb mathnormal textsuperscript bold`,
	Frame: "boxed fbox",
	Layout: `left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle displaystyle textstyle scriptstyle limits nolimits hline bf rm it tt
		cal large Large nonumber notag underline noindent par hfill smallskip medskip bigskip linebreak mathstrut strut allowbreak small normalsize quad qquad
		enspace thinspace mathord mathop mathbin mathrel ensuremath centering therefore checkmark blacksquare`,
	Hidden: "color textcolor hspace vspace label tag phantom hphantom vphantom mspace fontsize",
})

// LookOf is the look of a command, given without its backslash; 0 for one that says
// something.
func LookOf(command string) Look { return looks[command] }
