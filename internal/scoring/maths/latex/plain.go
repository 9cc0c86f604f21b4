package latex

import (
	"regexp"
	"strings"

	"speceval/internal/scoring/words"
)

// spelled gives characters beyond ASCII the spelling that the lexer knows, and digits and signs above
// and below the line themselves.
var spelled = words.ByWord(map[string]string{
	"-": "− – — ‐ ‑ ﹣ － ⁻ ₋", "+": "＋ ⁺ ₊", `\times `: "×", `\cdot `: "⋅ · ∙ •", "*": "∗", `\div `: "÷", "=": "＝", "/": "／ ∕ ⁄", `\le `: "≤ ⩽",
	`\ge `: "≥ ⩾", `\ne `: "≠", `\approx `: "≈", "<": "＜", ">": "＞", `\pm `: "±", `\mp `: "∓", `\sqrt `: "√", `\sqrt[3]`: "∛", `\infty `: "∞",
	`\cup `: "∪", `\cap `: "∩", `\in `: "∈", `\notin `: "∉", `\equiv `: "≡", `\setminus `: "∖", `\emptyset `: "∅ ⌀", `\pi `: "π", `\Pi `: "Π",
	`\Phi `: "Φ", `\Gamma `: "Γ", `\theta `: "θ", `\alpha `: "α", `\beta `: "β", `\gamma `: "γ", `\delta `: "δ", `\lambda `: "λ", `\mu `: "μ µ",
	`\phi `: "φ ϕ", `\omega `: "ω", `\sigma `: "σ", `\epsilon `: "ε", `\rho `: "ρ", `\tau `: "τ", `\Delta `: "Δ", `\Omega `: "Ω", `\Sigma `: "Σ",
	`\angle `: "∠", `\triangle `: "△", `\mathbb{R}`: "ℝ", `\mathbb{Z}`: "ℤ", `\mathbb{N}`: "ℕ", `\mathbb{Q}`: "ℚ", `\mathbb{C}`: "ℂ", `^\circ `: "° º",
	"'": "′ ’", `\lfloor `: "⌊", `\rfloor `: "⌋", `\lceil `: "⌈", `\rceil `: "⌉", `\frac{1}{2}`: "½", `\frac{1}{3}`: "⅓", `\frac{2}{3}`: "⅔",
	`\frac{1}{4}`: "¼", `\frac{3}{4}`: "¾", `\frac{1}{5}`: "⅕", `\frac{1}{8}`: "⅛", `\frac{1}{6}`: "⅙", "(": "（", ")": "）", "[": "［", "]": "］",
	`\{`: "｛", `\}`: "｝", ",": "， 、", ";": "；", ":": "：", "%": "％", ".": "。 ．", `\ldots `: "…", "|": "∣ ｜",
	"": "“ ” \u200b \ufeff \u2061 \u2062 \ufffd", `\pounds `: "£", `\euro `: "€", " cents": "¢", "0": "⁰ ₀", "1": "¹ ₁", "2": "² ₂", "3": "³ ₃",
	"4": "⁴ ₄", "5": "⁵ ₅", "6": "⁶ ₆", "7": "⁷ ₇", "8": "⁸ ₈", "9": "⁹ ₉", "n": "ⁿ ₙ",
})

var (
	spelling = func() *strings.Replacer {
		var pairs []string
		for character, spelled := range spelled {
			pairs = append(pairs, character, spelled)
		}
		for control := range ' ' {
			pairs = append(pairs, string(control), " ")
		}
		for _, space := range "\x7f\u00a0\u2009\u202f\u2002\u2003\u3000" {
			pairs = append(pairs, string(space), " ")
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
