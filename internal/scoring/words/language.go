package words

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// language is how a language states an answer. Forms are separated by bars; is and isNot follow
// the nouns.
type language struct{ answer, is, isNot string }

// languages of the usual multilingual benchmarks, and some more; the first names an option in English
// that is looked for.
var languages = []language{
	{"the only false statement|the only incorrect statement|the only true statement|the only correct statement|the false statement|the incorrect statement|the wrong statement|the true statement|the correct statement|the exception|the odd one out|" + sought, " is", " is not"},
	{"die richtige antwort|die korrekte antwort|die endgültige antwort|die antwort|richtige antwort|endgültige antwort|antwort|das ergebnis|ergebnis", " ist| lautet| beträgt", " ist nicht| lautet nicht"},
	{"la bonne réponse|la réponse correcte|la réponse finale|la réponse|bonne réponse|réponse finale|réponse", " est la| est donc| est", " n'est pas"},
	{"la respuesta correcta|la respuesta final|la opción correcta|la respuesta|respuesta correcta|respuesta final|respuesta", " es la| es", " no es"},
	{"a resposta correta|a resposta final|a alternativa correta|a resposta|resposta correta|resposta final|resposta", " é a| é", " não é"},
	{"la risposta corretta|la risposta finale|la risposta|risposta corretta|risposta finale|risposta", " è la| è", " non è"},
	{"het juiste antwoord|het antwoord|antwoord", " is", " is niet"},
	{"rätt svar|svaret|svar", " är| er", " är inte| er ikke"},
	{"prawidłowa odpowiedź|poprawna odpowiedź|odpowiedź", " to| jest", " to nie| nie"},
	{"doğru cevap|doğru yanıt|cevap|yanıt", "", ""},
	{"правильный ответ|окончательный ответ|ответ", " это| -| –| —", " не"},
	{"правильна відповідь|відповідь", " це| -| –| —", " не"},
	{"正确答案|最终答案|正确选项|正確答案|最終答案|正確選項|答案", "应该是|應該是|是|为|為|选|選", "不是|不为|不為"},
	{"正しい答え|最終的な答え|最終的な回答|正解|答え|回答|解答", "は", ""},
	{"최종 답변|최종 답|정답|답변|답", "은|는", ""},
	{"الإجابة الصحيحة|الإجابة النهائية|الجواب الصحيح|الإجابة|الجواب", " هي| هو", " ليست| ليس"},
	{"सही उत्तर|अंतिम उत्तर|उत्तर|जवाब", "", ""},
	{"সঠিক উত্তর|চূড়ান্ত উত্তর|উত্তর", " হল| হলো", ""},
	{"సరైన సమాధానం|సమాధానం|జవాబు", "", ""},
	{"คำตอบที่ถูกต้อง|คำตอบสุดท้าย|คำตอบ", "คือ| คือ", "ไม่ใช่"},
	{"jawaban yang benar|jawaban akhir|jawabannya|jawaban", " adalah", " bukan"},
	{"jibu sahihi|jibu", " ni", " si"},
	{"ìdáhùn", " ni", ""},
	{"đáp án đúng|câu trả lời|đáp án", " là", " không phải là"},
}

// sought are statements and options that are looked for because they are false, or true.
var sought = func() string {
	var all []string
	for _, noun := range []string{"statement", "option", "one"} {
		for _, is := range []string{"that is", "which is"} {
			for _, verdict := range []string{"true", "correct", "not true", "not correct", "false", "incorrect", "wrong"} {
				all = append(all, "the "+noun+" "+is+" "+verdict)
			}
		}
	}
	return strings.ReplaceAll(strings.Join(all, "|"), "is not", "isn't") + "|" + strings.Join(all, "|")
}()

// said has the words of other languages beside a value, by their English form. Forms with a blank
// before them stand behind the value.
var said = map[string]string{
	"not":            "nicht|kein|keine|ikke|niet|не|не равно|不等于|不等於|bukan|pas|não|ليست|ليس|nie",
	"is not":         "ist nicht|n'est pas|no es|não é|non è|不是|并非|並非",
	"at least":       "mindestens|wenigstens|au moins|al menos|como mínimo|pelo menos|no mínimo|almeno|minstens|minst|co najmniej|en az|не менее|как минимум|至少|少なくとも|최소|적어도|setidaknya|angalau|ít nhất|не меньше|بقوة لا تقل عن",
	"at most":        "höchstens|au plus|a lo sumo|como máximo|como mucho|no máximo|al massimo|al più|hoogstens|högst|co najwyżej|en fazla|не более|至多|最多|多くとも|최대|paling banyak|nhiều nhất|bis zu|jusqu'à|hasta|fino a|не больше",
	"about":          "ungefähr|etwa|environ|aproximadamente|circa|ongeveer|ungefär|około|yaklaşık|примерно|约|大约|約|およそ|약",
	"minus":          "moins|menos|meno|минус|负|負|마이너스|マイナス|سالب",
	"less than":      "weniger als|unter|moins de|menos de|meno di|menor que|minder dan|mindre än|mniej niż|меньше|менее|小于|少于|不到|不足|低于|أقل من",
	"more than":      "mehr als|über|plus de|más de|mais de|più di|mayor que|meer dan|mer än|więcej niż|больше|более|超过|超過|大于|多于|高于|أكثر من",
	"almost":         "beinahe|knapp|presque|casi|quase|bijna|nästan|prawie|почти|几乎|將近|将近|거의|ほぼ",
	"up to":          "до",
	"half of":        "die hälfte von|la moitié de|la mitad de|a metade de|la metà di|половина от|половина|половину",
	"twice":          "zweimal|doppelt|deux fois|el doble de|o dobro de|il doppio di|вдвое|удвоенное",
	"a hundredth of": "百分之",
	"a third of":     "un tiers de|un tercio de|um terço de|un terzo di|ein drittel von",
	"maybe":          "vielleicht|wahrscheinlich|möglicherweise|peut-être|probablement|quizás|tal vez|probablemente|talvez|provavelmente|forse|probabilmente|misschien|kanske|może|возможно|вероятно|наверное|也许|可能是|可能为|大概|たぶん|おそらく|아마|ربما|शायद|mungkin|belki|có lẽ",
	"and":            "和|与|與|以及|및|und",
	"option":         "opción|opção|opzione|optie|вариант|选项|選項|선택지|विकल्प|pilihan|lựa chọn",
	"or":             "oder|или|або|veya|eller|atau|hoặc|或者|或|または|もしくは|또는|หรือ|অথবা|या|أو",
	"but":            "sondern|sino|而是|而应是",
	"if":             "wenn|если|如果|假如|もし|만약|jika|nếu|إذا",
	"if the answer":  "si la respuesta|si la réponse|se a resposta|se la risposta",
	"₹":              "rs. |inr ",
	" per day":       "pro tag|par jour|al día|por día|por dia|al giorno|per dag|в день",
	"dollars":        "美元|美金|ドル|달러|долларов|доллара|доллар|dólares|डॉलर|ডলার|ดอลลาร์|డాలర్లు|دولار",
	"euros":          "欧元|歐元|ユーロ|유로|евро",
	"the answer is":  "i would go with|ans.|the solution is|选择|選擇|应选|應選|故选|故選|所以选|因此选",
	"so":             "∴|by elimination|by process of elimination",
	" less than":     "未満|미만", " more than": "超",
	" is wrong but ": "가 아니라|이 아니라|ではなく|じゃなく|而不是",
	" halved":        "の半分|의 절반|的一半", " doubled": "の2倍|的两倍|的兩倍",
	" thousand": "千|천|हज़ार|พัน", " myriad": "万|萬|만", " hundredmillion": "亿|億|억", " hundred": "百|백",
	" million": "mio.|millones|milhões|milioni|миллионов|миллиона|млн|ล้าน", " billion": "mrd.|milliards|miliardi|миллиардов|миллиарда|млрд|mil millones",
	" lakh": "लाख", " crore": "करोड़", " tenths": "割",
	" at least": "以上|이상", " at most": "以下|以内|이하",
	" is wrong":   "ではない|ではありません|じゃない|이 아닙니다|가 아닙니다|이 아니다|नहीं है|değil|değildir|ไม่ถูกต้อง|是错的|是錯的|不正确|不正確",
	" is correct": "is the exception|is the odd one out|是正确的|是正確的|是对的|が正しい|が正解|가 정답|이 정답|ist richtig|ist korrekt|es correcta|est correcte|está correta|è corretta",
	" ":           "है|です。|です|である。|である|だ。|입니다|이다|이에요",
}

// form is a form of another language and what stands for it.
type form struct{ of, english string }

// forms are all forms by their first rune, the longest first.
var forms = sync.OnceValue(func() map[rune][]form {
	all := map[rune][]form{}
	list := func(of, english string) {
		first, _ := utf8.DecodeRuneInString(of)
		all[first] = append(all[first], form{of, english})
	}
	for _, l := range languages {
		for end, forms := range map[string]string{"": "", " is": l.is, " is not": l.isNot} {
			for is := range strings.SplitSeq(forms, "|") {
				for noun := range strings.SplitSeq(l.answer, "|") {
					if is != "" || end == "" {
						list(noun+is, "the answer"+end)
					}
				}
			}
		}
	}
	for english, others := range said {
		for other := range strings.SplitSeq(others, "|") {
			list(other, english)
		}
	}
	for _, of := range all {
		slices.SortFunc(of, func(a, b form) int { return cmp.Or(len(b.of)-len(a.of), strings.Compare(a.of, b.of)) })
	}
	return all
})

// foreign are words of the forms in ASCII, the longest of each: a text in ASCII without any of them
// is English.
var foreign = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, of := range forms() {
		for _, f := range of {
			if isASCII(f.of) {
				all[slices.MaxFunc(slices.Collect(asciiWords(f.of)), func(a, b string) int { return len(a) - len(b) })] = true
			}
		}
	}
	return all
})

// isEnglish reports whether a text, in lower case, has no form of another language.
func isEnglish(text string) bool {
	if !isASCII(text) {
		return false
	}
	known := foreign()
	for word := range asciiWords(text) {
		if known[word] {
			return false
		}
	}
	return true
}

// asciiWords are the words of a text in lower case.
func asciiWords(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return !joined(r) && r != '\'' })
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// English gives a text that may be in another language with English words for what it says about
// its answer: "La respuesta no es 7" becomes "the answer is not 7", and so does "the exception is
// not 7". Full-width letters and digits of other scripts become ASCII ones, and stand apart from
// words of scripts without blanks. What it does not know stays, and English does.
func English(text string) string {
	if isEnglish(strings.ToLower(text)) {
		return text
	}
	text = strings.Map(plainRune, text)
	low := strings.ToLower(text)
	if len(low) != len(text) { // in few languages: letters change their length
		return text
	}
	known := forms()
	var b strings.Builder
	copied := 0
	prior, written, seam := ' ', ' ', false // the runes before, in the text and in what it becomes
	for at := 0; at < len(low); {
		r, size := utf8.DecodeRuneInString(low[at:])
		f, is := formAt(known[r], low[at:], r, prior)
		next := r
		if is {
			next, _ = utf8.DecodeRuneInString(f.english)
			size = len(f.of)
		}
		blank := (is || seam || apart(written) != apart(next)) && ofWord(written) && ofWord(next)
		if is || blank {
			b.WriteString(text[copied:at])
			copied = at
		}
		if blank {
			b.WriteByte(' ')
		}
		prior, written = r, r
		if is {
			b.WriteString(f.english)
			copied = at + size
			prior, _ = utf8.DecodeLastRuneInString(f.of)
			written, _ = utf8.DecodeLastRuneInString(f.english)
		}
		at, seam = at+size, is
	}
	return b.String() + text[copied:]
}

func ofWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// endBytes is how much of the end of a text is read as perhaps of another language.
const endBytes = 400

// EnglishEnd is a text whose last sentences are as [English] gives them.
func EnglishEnd(text string) string {
	from := max(0, len(text)-endBytes)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	end := English(text[from:])
	if end == text[from:] {
		return text
	}
	return text[:from] + end
}

// Continental is an answer with its numbers as in English, if the response is in a European language
// with points between thousands and a comma before decimals: 1.234,50. Else it is empty.
func Continental(answer, response string) string {
	if !decimals.MatchString(answer) || !european.MatchString(response) && EnglishEnd(response) == response {
		return ""
	}
	return decimals.ReplaceAllStringFunc(answer, strings.NewReplacer(".", "", ",", ".").Replace)
}

var (
	european = regexp.MustCompile(`(?i)[à-öø-ÿа-я]|\s(?:und|sind|der|das|einen?|von|mit|el|la|los|las|es|que|con|del|una?|les?|des|est|pour|il|che|sono|di|uma|em|een|het|van)\s`)
	decimals = regexp.MustCompile(`\b[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?\b|\b\d+,\d{1,2}\b`)
)

// Forms that begin with these runes are parts of other words, but behind a value, or before one:
// 百 is a part of 百分, and 和 is a sum.
const (
	behindValues = "千천万萬만亿億억百백割以이未미超"
	beforeValues = "和与與负負约約최"
)

// beginsValue matches a text that begins with a number, a letter or a formula.
var beginsValue = regexp.MustCompile(`^[ *]*[0-9a-z$\\(-]`)

// formAt is the longest form that a text begins with, after a rune.
func formAt(forms []form, text string, first, prior rune) (form, bool) {
	if first < 'a' || joined(first) && joined(prior) {
		return form{}, false
	}
	for _, f := range forms {
		if !strings.HasPrefix(text, f.of) {
			continue
		}
		if f.english[0] == ' ' && strings.ContainsRune(behindValues, first) && prior >= utf8.RuneSelf ||
			strings.ContainsRune(beforeValues, first) && !beginsValue.MatchString(text[len(f.of):]) {
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(f.of)
		next, _ := utf8.DecodeRuneInString(text[len(f.of):])
		if !joined(last) || !joined(next) {
			return f, true
		}
	}
	return form{}, false
}

// joined reports whether a rune, in lower case, is of a word in a script with blanks between words.
func joined(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z'
	}
	return unicode.In(r, unicode.L, unicode.M) && !apart(r)
}

// apart reports whether a rune is of a script that has no blanks between words, or puts endings
// behind numbers.
func apart(r rune) bool {
	return r > 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// plainRune is the ASCII form of a full-width rune, and of a digit in any script.
func plainRune(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r >= '！' && r <= '～':
		return r - '！' + '!'
	case strings.ContainsRune("。।۔", r):
		return '.'
	case strings.ContainsRune("、،", r):
		return ','
	case unicode.Is(unicode.Nd, r):
		for _, digits := range unicode.Nd.R16 {
			if rune(digits.Lo) <= r && r <= rune(digits.Hi) {
				return '0' + (r-rune(digits.Lo))%10
			}
		}
	}
	return r
}
