package latex

import (
	"strings"
	"unicode/utf8"
)

// spelled gives characters beyond ASCII the spelling that the lexer knows.
var spelled = map[rune]string{
	'−': "-", '–': "-", '—': "-", '‐': "-", '‑': "-", '﹣': "-", '－': "-",
	'＋': "+", '×': `\times `, '⋅': `\cdot `, '·': `\cdot `, '∙': `\cdot `, '•': `\cdot `, '∗': "*", '÷': `\div `,
	'＝': "=", '／': "/", '∕': "/", '⁄': "/", '≤': `\le `, '⩽': `\le `, '≥': `\ge `, '⩾': `\ge `, '≠': `\ne `, '≈': `\approx `,
	'＜': "<", '＞': ">", '±': `\pm `, '∓': `\mp `, '√': `\sqrt `, '∛': `\sqrt[3]`, '∞': `\infty `,
	'∪': `\cup `, '∩': `\cap `, '∈': `\in `, '∉': `\notin `, '≡': `\equiv `, '∖': `\setminus `, '∅': `\emptyset `, '⌀': `\emptyset `,
	'π': `\pi `, 'Π': `\Pi `, 'Φ': `\Phi `, 'Γ': `\Gamma `, 'θ': `\theta `, 'α': `\alpha `, 'β': `\beta `, 'γ': `\gamma `, 'δ': `\delta `, 'λ': `\lambda `,
	'μ': `\mu `, 'µ': `\mu `, 'φ': `\phi `, 'ϕ': `\phi `, 'ω': `\omega `, 'σ': `\sigma `, 'ε': `\epsilon `, 'ρ': `\rho `, 'τ': `\tau `,
	'Δ': `\Delta `, 'Ω': `\Omega `, 'Σ': `\Sigma `, '∠': `\angle `, '△': `\triangle `, 'ℝ': `\mathbb{R}`, 'ℤ': `\mathbb{Z}`, 'ℕ': `\mathbb{N}`, 'ℚ': `\mathbb{Q}`, 'ℂ': `\mathbb{C}`,
	'°': `^\circ `, 'º': `^\circ `, '′': "'", '’': "'", '⌊': `\lfloor `, '⌋': `\rfloor `, '⌈': `\lceil `, '⌉': `\rceil `,
	'½': `\frac{1}{2}`, '⅓': `\frac{1}{3}`, '⅔': `\frac{2}{3}`, '¼': `\frac{1}{4}`, '¾': `\frac{3}{4}`, '⅕': `\frac{1}{5}`, '⅛': `\frac{1}{8}`, '⅙': `\frac{1}{6}`,
	'（': "(", '）': ")", '［': "[", '］': "]", '｛': `\{`, '｝': `\}`, '，': ",", '、': ",", '；': ";", '：': ":", '％': "%", '。': ".", '．': ".",
	'…': `\ldots `, '∣': "|", '｜': "|", '“': "", '”': "", '£': `\pounds `, '€': `\euro `, '¢': " cents",
	'\u00a0': " ", '\u2009': " ", '\u202f': " ", '\u2002': " ", '\u2003': " ", '\u3000': " ", '\u200b': "", '\ufeff': "", '\u2061': "", '\u2062': "",
}

// raised and lowered are digits and signs above and below the line.
const (
	raised   = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ"
	raisedBy = "0123456789+-n"
	lowered  = "₀₁₂₃₄₅₆₇₈₉₊₋ₙ"
)

// Plain rewrites characters beyond ASCII as LaTeX and drops what is no text.
func Plain(text string) string {
	ascii := true
	for i := 0; i < len(text); i++ {
		if c := text[i]; c >= utf8.RuneSelf || c < ' ' {
			ascii = false
			break
		}
	}
	if ascii {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	script := "" // the digits above or below the line that are open
	for _, r := range text {
		mark, digit := scripted(r)
		if mark != script {
			if script != "" {
				b.WriteByte('}')
			}
			if script = mark; mark != "" {
				b.WriteString(mark + "{")
			}
		}
		switch {
		case digit != 0:
			b.WriteByte(digit)
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ')
		case r == utf8.RuneError:
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		default:
			if s, ok := spelled[r]; ok {
				b.WriteString(s)
			} else {
				b.WriteRune(r)
			}
		}
	}
	if script != "" {
		b.WriteByte('}')
	}
	return b.String()
}

// scripted reads a digit above or below the line: ^ or _, and the digit.
func scripted(r rune) (mark string, digit byte) {
	if r < utf8.RuneSelf {
		return "", 0
	}
	if i := strings.IndexRune(raised, r); i >= 0 {
		return "^", raisedBy[utf8.RuneCountInString(raised[:i])]
	}
	if i := strings.IndexRune(lowered, r); i >= 0 {
		return "_", raisedBy[utf8.RuneCountInString(lowered[:i])]
	}
	return "", 0
}
