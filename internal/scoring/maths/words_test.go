package maths_test

import (
	"strings"
	"testing"
)

// spelled are golds with the forms in which a sentence has them.
var inSentences = map[string][]string{
	"7":           {"7", "$7$", `\(7\)`, "**7**", "$\\mathbf{7}$", "\n$$7$$"},
	"540":         {"540", "$540$", "$x = 540$"},
	`\frac{3}{4}`: {`$\frac{3}{4}$`, "3/4", "$0.75$"},
	"-12":         {"-12", "$-12$"},
	`2\sqrt{3}`:   {`$2\sqrt{3}$`, `\(\sqrt{12}\)`},
	`x^2+1`:       {`$x^2+1$`, `$1 + x^2$`},
}

// sentences put a value at § into words that state it, or do not. | separates
// alternatives.
var sentences = []struct {
	text   string
	states bool
}{
	{"The answer is |The final answer is |Answer: |**Answer:** |So we get |Hence it is |There are |Therefore the result equals |In total we have |ANSWER: " +
		"@not |definitely not |never |at most |at least |less than |more than |no more than |fewer than |up to |under |over |strictly below |half of |twice |double |" +
		"the square root of |a multiple of |one of |other than |anything but |anything except |neither 5 nor |between 5 and |maybe |perhaps |possibly |plus |10 minus |3 times |almost |close to |" +
		"not exactly |not equal to |nothing like |either 5 or |some number above |one more than |one less than |the reciprocal of |the negative of |a third of |off by @§.", false},
	{"The answer @isn't |is not |cannot be |can't be |may be |might be |could be |must not be |will never be |exceeds |differs from |is believed to be |used to be |is nowhere near |" +
		"is no longer |has to exceed |must be below |does not equal |is far from |is greater than |could well be |need not be |should not be |is hardly |is anything but @§.", false},
	{"The wrong answer is |An incorrect answer would be |My initial answer was |My first answer was |It is false that the answer is |It is not true that the answer is |I do not think the answer is |" +
		"I doubt that the answer is |Without a discount the total would be |You might think the answer is |Some could say the answer is |The naive answer is |Nobody says that the answer is |It would be wrong to answer |If so, perhaps the answer is |" +
		"The mistaken value is |Suppose the answer is not |Incorrect: |Wrong answer: |We rule out |We reject |We discard |All values except |Not @§.", false},
	{"The answer is |It is |We get |There are @§ @is wrong.|is not the answer.|fails.|does not work.|or 99.|or more.|or less.|or so.|at most.|at least.|doubled.|halved.|squared.|cubed.|factorial.|plus one.|minus two.|" +
		"times three.|over two.|divided by two.|dozen.|hundred.|thousand.|lakh.|gross.|percent of ten.|and a half.|more than 99.|less than 99.|mod five.|(wrong).|(not correct).|, which is wrong.|, but that is incorrect.|" +
		", or 99.|, maybe.|, at most.|, or perhaps 99.|. No, that is wrong.|. That is incorrect.|? Not sure.|?|, probably not.|quarters.|thirds.|if n is odd, otherwise 99.", false},
	{"@§ is wrong.|§ is not the answer.|§ isn't the answer.|§ was my first guess.|§ is too small.|§ does not work.|§ fails.|§ cannot be the answer.|§ is incorrect.|§ is excluded.|Is the answer §?|Is it §?|" +
		"It is neither § nor 99.|The first § primes.|The answer is the sum of 3 and §.|The answer is not, in fact, §.|The answer is, at most, §.|One might think it is §, but it is 99.|" +
		"The answer is not § but 99.|It is not §. It is 99.|It is 99, not §.|The answer is 99 rather than §.|The answer is 99, and not §.", false},

	{"The answer is |The answer would be |The final answer is |Answer: |**Answer:** |**Final Answer**\n\n|### Final Answer\n|Final answer: |So we get |Hence it is |Therefore the result equals |In total we have |ANSWER: |The answer\u00a0is\u00a0|" +
		"The correct answer is |We conclude that the answer is |We can conclude that the answer is |Since 5 is not prime, the answer is |The answer is not 5 but |It cannot be 5, so it is |One might think it is 5, but it is |" +
		"One might expect 99, but the answer is |It is not 5. It is |The number of odd integers not divisible by 3 is |The smallest such value is |In fact, the answer is |Half of the double is |" +
		"We need $a > 3$ and $b < 5$. Thus the answer is @|exactly |simply |just |precisely |clearly |equal to |therefore |indeed @§.", true},
	{"The answer is @§ @exactly.|in total.|, not 99.|(not 99).|rather than 99.|, and not 99.|because 99 is not prime.|, since 99 is too large.|, as required.|, which is what we wanted.|. I hope it is correct.|" +
		". Note that 5 is wrong since it is too small.|. It is not hard to check this. No other value works.|, so we are done.|. This is the smallest possible value; nothing below it works.", true},
	{"§ times the first number.|If x = 2, the answer is §; otherwise it is 99.|The book says §, which I believe is wrong.|It is impossible that the answer is §.|The answer is said to be §, wrongly.|Every value works apart from §.", false},
	{"The answer isn't 99; it's §.|There is no doubt that the answer is §.|§ is the answer.|So § is the correct answer.|Thus § is the required value.|It is §, not 99.|It turns out to be §.", true},
}

// each calls yield with every choice of alternatives.
func each(parts []string, said string, yield func(string)) {
	if len(parts) == 0 {
		yield(said)
		return
	}
	for _, alternative := range strings.Split(parts[0], "|") {
		each(parts[1:], said+alternative, yield)
	}
}

// TestSentences holds that a value counts where a sentence states it and nowhere else.
func TestSentences(t *testing.T) {
	count, wrong := 0, 0
	for _, s := range sentences {
		each(strings.Split(s.text, "@"), "", func(sentence string) {
			for gold, forms := range inSentences {
				for _, form := range forms {
					count++
					text := strings.ReplaceAll(sentence, "§", form)
					if v := check(gold, text); v.Correct() != s.states {
						wrong++
						t.Errorf("gold %s, %q: %v (read %q; %s)", gold, text, v.Correct(), v.Answer, v.Note)
					}
				}
			}
		})
	}
	t.Logf("%d of %d agree", count-wrong, count)
}

// TestWordsAroundABox holds that words around a box take it back only if they deny or
// doubt it, or bound the answer itself.
func TestWordsAroundABox(t *testing.T) {
	for alternatives, states := range map[string]bool{
		`The answer is not §.|It can't be §.|Maybe §.|The answer is at most §.|At least §.|The answer is half of §.|§ is wrong, should be 8.|§ is not correct.|§ is incorrect; the answer is 8.|§? No.|` +
			`§. Wait, I made a mistake.|§. That is wrong.|We doubt §.|It is false that the answer is §.|The wrong answer is §.|§ or \boxed{8}|§ or 8 is not known, but \boxed{8}.`: false,
		`The answer is not \boxed{8}. It is §.|§, not \boxed{8}.|We need at least § socks.|The product is at most §, with equality when $x=1$.|$x$ is odd only if $x=§$.|The largest number that cannot be paid is §.|` +
			`There is no solution for $x = §$.|He can buy § apples.|The cost would be § dollars.|I think the answer is §.|The number of wrong answers is §.|§ (we reject -3).|$§$ is not divisible by 3.|` +
			`§. It is not possible to do better.|§. This is wrong for n=2, but we need n=3.|§, which exceeds 6.|This is 14/2, or §.|### Not done` + "\n" + `§|It is not: §|§ cannot be improved.|The greatest lower bound is §.`: true,
	} {
		for _, sentence := range strings.Split(alternatives, "|") {
			for _, form := range []string{`\boxed{7}`, `$\boxed{7}$`, "\n\\[\n\\boxed{7}\n\\]\n"} {
				text := strings.ReplaceAll(sentence, "§", form)
				if strings.Contains(sentence, "$") && form[0] != '\\' {
					continue
				}
				if v := check("7", text); v.Correct() != states {
					t.Errorf("%q: %v (read %q; %s)", text, v.Correct(), v.Answer, v.Note)
				}
			}
		}
	}
}
