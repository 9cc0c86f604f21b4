package latex

import (
	"regexp"
	"strings"
)

// spelled gives characters beyond ASCII the spelling that the lexer knows, and digits and signs above
// and below the line themselves.
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
	'\u00a0': " ", '\u2009': " ", '\u202f': " ", '\u2002': " ", '\u2003': " ", '\u3000': " ", '\u200b': "", '\ufeff': "", '\u2061': "", '\u2062': "", '\ufffd': "",
	'⁰': "0", '¹': "1", '²': "2", '³': "3", '⁴': "4", '⁵': "5", '⁶': "6", '⁷': "7", '⁸': "8", '⁹': "9", '⁺': "+", '⁻': "-", 'ⁿ': "n",
	'₀': "0", '₁': "1", '₂': "2", '₃': "3", '₄': "4", '₅': "5", '₆': "6", '₇': "7", '₈': "8", '₉': "9", '₊': "+", '₋': "-", 'ₙ': "n",
}

var (
	spelling = func() *strings.Replacer {
		pairs := []string{"\x7f", " "}
		for character, spelled := range spelled {
			pairs = append(pairs, string(character), spelled)
		}
		for control := range ' ' {
			pairs = append(pairs, string(control), " ")
		}
		return strings.NewReplacer(pairs...)
	}()
	raised  = regexp.MustCompile(`[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+`)
	lowered = regexp.MustCompile(`[₀₁₂₃₄₅₆₇₈₉₊₋ₙ]+`)
)

// plain rewrites characters beyond ASCII as LaTeX and drops what is no text.
func plain(text string) string {
	text = raised.ReplaceAllString(strings.ToValidUTF8(text, ""), "^{$0}")
	return spelling.Replace(lowered.ReplaceAllString(text, "_{$0}"))
}
