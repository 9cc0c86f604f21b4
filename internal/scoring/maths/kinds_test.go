package maths_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"speceval/internal/scoring"
	"speceval/internal/scoring/maths"
	"speceval/internal/scoring/maths/latex"
)

func FuzzCheck(f *testing.F) {
	f.Add(`\frac{1}{2}`, `The answer is $0.5$.`)
	f.Add(`\{1,2\}`, `\boxed{2} and \boxed{1}`)
	f.Add(`x>3`, `(3,\infty)`)
	f.Add(`50\%`, `\[\frac12\]`)
	f.Add(`9^{9^{9^9}}`, `\tan(\frac{\pi}{2})`)
	f.Add(`\begin{pmatrix}1\\2\end{pmatrix}`, `(1,2)`)
	f.Add(`\text{(C)}`, "\x00\xffC")
	f.Fuzz(func(t *testing.T, gold, prediction string) {
		there := check(gold, prediction)
		if len(there.Answer) > 500 {
			t.Fatalf("an answer of %d bytes", len(there.Answer))
		}
		if _, err := maths.New(gold).Score(context.Background(), scoring.Response{Text: prediction, Cut: true}); err != nil {
			t.Fatal(err)
		}
		if back := check(prediction, gold); back.Correct() != there.Correct() && alone(gold) && alone(prediction) {
			t.Fatalf("%.300q and %.300q: %v there, %v back", gold, prediction, there.Correct(), back.Correct())
		}
		if plain(gold) && !check(gold, gold).Correct() {
			t.Fatalf("%.300q is not equal to itself", gold)
		}
	})
}

// plain tells whether a text is an answer as it stands: a list in several boxes
// is one only where gold is a list.
func plain(text string) bool {
	_, ok := latex.Read(text)
	return ok && len(text) < 400 && !strings.Contains(text, `\boxed`) && utf8.ValidString(text)
}

// lettered is a text that may be a choice with its letter, as in "A. 0".
var lettered = regexp.MustCompile(`^[^A-J]*[A-J][^a-zA-Z0-9]*[).:]`)

// alone tells whether a text is an expression, which is compared the same both
// ways. Responses may say of what their answer is the value, leave out that it is in
// cents, or put a choice behind its letter.
func alone(text string) bool {
	a, ok := latex.Read(text)
	return ok && plain(text) && a.Kind == latex.Value && a.Unit != "¢" && !strings.Contains(text, "_") && !lettered.MatchString(text)
}

// TestHeldOutCases holds the rules to labelled cases that were written before them.
// It does not say which fail: rules that are made for single cases of this file
// would leave nothing to hold them to.
func TestHeldOutCases(t *testing.T) {
	all := cases(t, "heldout.tsv")
	falseCorrect, falseWrong := 0, 0
	for _, c := range all {
		switch right := check(c.gold, c.prediction).Correct(); {
		case right && !c.equal:
			falseCorrect++
		case !right && c.equal:
			falseWrong++
		}
	}
	t.Logf("%d cases: %d false correct, %d false wrong", len(all), falseCorrect, falseWrong)
	if len(all) < 800 || 100*(falseCorrect+falseWrong) > 3*len(all) || 200*falseCorrect > len(all) {
		t.Error("want 800 or more, at most 3% wrong, and of those at most 0.5% correct by mistake")
	}
}

// TestHostile would not end, or run out of memory, if any of these were
// evaluated as they are written.
func TestHostile(t *testing.T) {
	megabyte := func(piece string) string { return strings.Repeat(piece, 1<<19/len(piece)) }
	texts := []string{
		`9^{9^{9^9}}`, `9!!!!!!!`, `((((9!)!)!)!)!`, `2^{2^{2^{2^{2^{2}}}}}`, `1e9999`, `10^{10^{10}}`, `0.1^{99999999999}`, `\binom{5000}{2500}^{5000}`,
		`(\sqrt{2})^{65535}`, `\exp(\exp(\exp(\exp 5)))`, `\sin(10^{100})`, `\sqrt[1000000000]{2}`, `x^{x^{x^{x}}}`, `1` + strings.Repeat("0", 5500),
		strings.Repeat(`\sin(`, 50) + "x" + strings.Repeat(")", 50), strings.Repeat(`\{`, 50) + "1" + strings.Repeat(`\}`, 50),
		strings.Repeat("(x=", 25) + "1" + strings.Repeat(")", 25), strings.Repeat(`\pm 1,`, 900), strings.Repeat(`\sin x+`, 500) + "1",
		strings.Repeat("5000!+", 500) + "1", strings.Repeat(`x^{65535}+`, 200) + "1", "1" + strings.Repeat(",x+1", 900), strings.Repeat(`\{1,`, 40) + "2" + strings.Repeat(`\}`, 40),
		strings.Repeat(`\{1,2\}\cup`, 300) + `\{3\}`, strings.Repeat(`(1,2)\cup`, 300) + `(3,4)`, strings.Repeat("f(", 1500), strings.Repeat(`\frac`, 1000), strings.Repeat(`\text{`, 900),
		strings.Repeat("1/", 600) + "3", strings.Repeat("-", 3000) + "1", strings.Repeat("a_", 2000), strings.Repeat(`\begin{pmatrix}`, 300),
		`\boxed{` + strings.Repeat("{", 4000) + strings.Repeat("}", 4000) + "}",
		"the answer is " + megabyte(`\frac{`), megabyte("\\boxed{1}\n"), megabyte("answer is "), megabyte("the answer is $"), megabyte("word "), megabyte(`not \boxed{7} `), megabyte(`\(\)`),
	}
	for _, piece := range []string{
		"{", "}", "(", `\left(`, `\frac`, `\frac{`, `\sqrt{`, `\sqrt[`, "^", "_", "9^", "9!", "!", "-", "+1", "*9", ",", "1,", "=", "<", "1<", "{}", "x+", "1", "\\",
		`\boxed{`, `\boxed{}`, `\boxed{1}`, "$", "$$", `\(`, `\[`, `\text{`, `\begin{pmatrix}`, "&", `\\`, `\pm 1`, "|", "x", "x^9(", `\{`, `\cup`, "9", ".", "%", "\xff", "\x00", "é",
	} {
		many := strings.Repeat(piece, 1<<17/len(piece))
		texts = append(texts, many, `\boxed{`+many+"}")
	}
	for _, text := range texts {
		if check("5", text).Correct() {
			t.Errorf("%.20q… is 5", text)
		}
		check(text, `x^2+1`)
		if len(text) > 1<<16 {
			continue
		}
		for _, gold := range []string{`\{1,2,3\}`, `(1,x)`, `x>5`} {
			check(gold, text)
			check(text, gold)
		}
		check(text, text+" ")
		check(text+"+0", text)
		check(text, "1\\cdot "+text)
	}
}

// rows are the kinds of answers that a row describes. Several of one kind are its
// variants.
var rows = []row{
	{kind: "integer", draw: `n = number() ; t = «n» ; k = 2..9`, gold: `«n»`,
		same: []string{`«n».0`, `«n».00`, `{«n»}`, `\mathbf{«n»}`, `\text{«n»}`, `«n-k» + «k»`, `«n+k» - «k»`, `\frac{«n*k»}{«k»}`, `«n*k»/«k»`, `«between("(",n,")")»`,
			`«n>0?»+«n»`, `«n>0?»00«n»`, `«n>0?»\sqrt{«n*n»}`, `«n<0?»−«-n»`, `«n<0?»- «-n»`,
			`«abs(n)>999?»«group(n,",")»`, `«abs(n)>999?»«group(n,"{,}")»`, `«abs(n)>999?»«group(n,"\\,")»`, `«abs(n)>999?»«group(n,",\\!")»`},
		near: []string{`«n+1»`, `«n-1»`, `«-n»`, `«10*n»`, `«n».5`, `«n».01`, `«n» + \frac{1}{«k»}`, `«n»\pi`, `(«n», «k»)`, `\{«n», «n+k»\}`,
			`«swap(t)!=t?»«swap(t)»`, `«abs(n)>999?»«group(n+1,",")»`, `«abs(n)>999?»«group(-n,"{,}")»`}},
	{kind: "fraction", draw: `r = ratio() ; p = num(r) ; q = den(r) ; k = 2..12 ; s = sign(r)`, gold: `«r»`, round: `r`,
		same: []string{`«s»\dfrac{«abs(p)»}{«q»}`, `«s»\tfrac{«abs(p)»}{«q»}`, `«s»\frac{«k*abs(p)»}{«k*q»}`, `«p»/«q»`, `«p» / «q»`, `\frac{«p»}{«q»}`, `\frac{«-p»}{«-q»}`,
			`\dfrac{\,«p»\,}{«q»}`, `{«p» \over «q»}`, `«between("(",r,")")»`, `«p» \cdot \frac{1}{«q»}`, `\frac{\frac{«p»}{«k»}}{\frac{«q»}{«k»}}`, `«r-1/k» + \frac{1}{«k»}`,
			`«p>0&&p<10&&q<10?»\frac«p»«q»`, `«p>0&&p<10&&q<10?»\frac «p» «q»`, `«p>0&&p<10?»\frac«p»{«q»}`},
		near: []string{`«(p+1)/q»`, `«-r»`, `«p/(q+1)»`, `«p»`, `«q»`, `\binom{«q+3»}{«q»}`, `«1/r»`}},
	{kind: "decimal", draw: `n = 1..99999 ; k = 1..6 ; s = 1 | 1 | 1 | -1 ; r = s*n/pow(10,k) ; d = prec(r)`, gold: `«dec(r,d)»`,
		same: []string{`«dec(r,d+1)»`, `«dec(r,d+3)»`, `«r»`, `«abs(r)<1?»«replace(dec(r,d),"0.",".")»`, `\frac{«s*n»}{10^{«k»}}`, `«s*n» \times 10^{-«k»}`},
		near: []string{`«dec(-r,d)»`, `«dec(10*r,d)»`, `«dec(r/10,d+1)»`, `«dec(r+1/10,d+1)»`, `«s*n» \times 10^{-«k+1»}`}},
	{kind: "mixed number", draw: `w = 1..40 ; q = 2..16 ; p = 1..q-1 ; s = | | - ; r = w+p/q`, gold: `«s»«w»\frac{«p»}{«q»}`,
		same: []string{`«s»«r»`, `«s»«w» \frac{«p»}{«q»}`, `«s»«w»\dfrac{«p»}{«q»}`, `«s»«w»\tfrac{«2*p»}{«2*q»}`, `«s»«num(r)»/«den(r)»`,
			`«s==""?»«w»+\frac{«p»}{«q»}`, `«s==""?»«w»\,\frac{«p»}{«q»}`, `«prec(r)<6?»«s»«dec(r,prec(r))»`},
		near: []string{`«s»«w+1»\frac{«p»}{«q»}`, `«s»«w»\frac{«q»}{«p»}`, `«s»\frac{«w*q+p+1»}{«q»}`, `«s»«w»`, `«s»«w»\frac{«p»}{«q+1»}`, `«s»\frac{«w*p»}{«q»}`}},
	{kind: "percent", draw: `n = 1..999 ; h = 0 | 0 | 1 ; r = n+h/2 ; t = dec(r,h)`, gold: `«t»\%`,
		same: []string{`«t»%`, `«t» \%`, `«t»`, `«t»\text{ percent}`, `«t»\,\%`, `{«t»}\%`},
		near: []string{`«n+2»\%`, `«10*n+5»\%`, `-«t»\%`, `0.00«n»`, `«n+2»`}, open: []string{`«dec(r/100,3)»`, `«r/100»`}},
	{kind: "money", draw: `w = 1..99999 ; c = 0..99 ; t = | | .«padded(c,2)» ; t = «w»«t»`, gold: `\$«t»`,
		same: []string{`«t»`, `\$ «t»`, `«t»\text{ dollars}`, `«t» dollars`},
		near: []string{`\$«w+1»`, `«10*w+1»`, `-\$«t»`, `\$«w+3».37`}},
	{kind: "money", draw: `w = 1..99999`, gold: `\$«w»`,
		same: []string{`\$«w».00`, `\$«group(w,",")»`, `\$«group(w,"{,}")»`, `«group(w,",")»`}, near: []string{`\$«w».01`, `\$«w».50`, `\$«w+1»`, `-\$«w»`}},
	{kind: "unit", draw: `e = positive ; u = cm | m | km | inches | feet | miles | seconds | minutes | hours | days | kg | grams | liters | square units | units | m/s | km/h | mph | gallons | meters`,
		gold: `«e»\text{ «u»}`,
		same: []string{`«e»`, `«e» \text{ «u»}`, `«form(e)»\,\text{«u»}`, `«e»~\mathrm{«replace(u," ","~")»}`, `«form(e)»\ \text{«u»}`, `«form(e)»`},
		near: []string{`«miss(e)»\text{ «u»}`, `«miss(e)»`, `«miss(e)» \text{ «u»}`}, open: []string{`«e»\text{ lightyears}`, `«e»\text{ «u»}^2`}},
	{kind: "degree", draw: `n = 2..179`, gold: `«n»^\circ`,
		same: []string{`«n»`, `«n»^{\circ}`, `«n»°`, `«n»\text{ degrees}`, `«n» \text{ degrees}`, `\frac{«2*n»}{2}^\circ`, `«n».0^\circ`, `«n»\,^\circ`},
		near: []string{`«n+1»^\circ`, `«540-n»^\circ`, `«n-1»^{\circ}`, `«10*n»`, `«n».5^\circ`, `-«n»^\circ`}, open: []string{`«radians(n)»`}},
	{kind: "scientific", draw: `m = 1..999 ; m = 10*m ; e = 1..9 ; m = m+e ; n = -12..15 not 0,1,-1 ; t = point(m) ; e = n+1-length(m) ; r = m*pow(10,e)`, gold: `«t» \times 10^{«n»}`,
		same: []string{`«t» \cdot 10^{«n»}`, `«t»\times10^{«n»}`, `«t» * 10^{«n»}`, `«m» \times 10^{«e»}`, `10^{«n»} \cdot «t»`, `«t»0 \times 10^{«n»}`, `«dec(r,prec(r))»`,
			`«n>0?»0 + «t» \times 10^{«n»}`, `«n<0?»\frac{«t»}{10^{«-n»}}`},
		near: []string{`«t» \times 10^{«n+1»}`, `«t» \times 10^{«n-1»}`, `«t» \times 10^{«-n»}`, `«t»`, `-«t» \times 10^{«n»}`, `«m%9+1».3333 \times 10^{«n»}`, `«t» \times 10 \times «n»`}},
	{kind: "large power", draw: `b = 2 | 3 | 5 | 6 | 7 | 10 | 12 ; n = 20..110 ; k = 2..9 ; z,o = ,0 | ,0 | -1,1 ; v = pow(b,n)-o`, gold: `«b»^{«n»}«z»`,
		same: []string{`«v»`, `«group(v,",")»`, `«b»^{«n-k»} \cdot «b»^{«k»}«z»`, `«b» \cdot «b»^{«n-1»}«z»`, `\frac{«b»^{«n+k»}}{«b»^{«k»}}«z»`,
			`«n%2==0?»«b*b»^{«n/2»}«z»`, `«n%2==0?»\left(«b»^{«n/2»}\right)^2«z»`},
		near: []string{`«v+1»`, `«v-1»`, `«b»^{«n+1»}`, `«b»^{«n-1»}`, `«b+1»^{«n»}`, `«b» \cdot «n»`, `«b»^{«n»}«z»+1`, `«b»^{«n-1»} + «b»^{«n-k»}`, `«3*v»`}},
	{kind: "root", gold: `«surd(a,b,c,n)»`, round: `(a+b*sqrt(c))/n`,
		draw: `z = 0 | 1 ; a = -12..12 ; a = z*a ; b = -9..9 not 0 ; c = 2 | 3 | 5 | 6 | 7 | 10 | 11 | 13 | 14 | 15 | 17 | 19 | 21 ; n = 1 | 1 | 2 | 3 | 5 ;
			g = gcd(a,gcd(b,n)) ; a = a/g ; b = b/g ; n = n/g ; o = 2 | 3 | 5 | 6 | 7 | 11 | 13 not c ; s = \sqrt{«c»} ; w = \sqrt{«b*b*c»} ; thin = \sqrt{\,«c»\,} ; half = {«c»}^{1/2} ; sign = √«c» ; bare = \sqrt«c» ; cube = \sqrt[3]{«c»} ; long = «a» + («b») \cdot «s» ; v = a+b*sqrt(c)`,
		same: []string{`«over(sum(b,s,a,""),n)»`, `«over(sum(a,"",b,thin),n)»`, `«over(sum(a,"",b,half),n)»`, `«over(sum(a,"",b,sign),n)»`, `\frac{«surd(3*a,3*b,c,1)»}{«3*n»}`,
			`«over(sum(a,"",b/abs(b),w),n)»`, `«a/n» + \frac{«b»}{«n»}«s»`, `«over(long,n)»`, `«c<10?»«over(sum(a,"",b,bare),n)»`,
			`«a!=0?»\frac{«a*a-b*b*c»}{«surd(n*a,-n*b,c,1)»}`, `«v>0&&a!=0?»\sqrt{«surd(a*a+b*b*c,2*a*b,c,n*n)»}`},
		near: []string{`«surd(a,-b,c,n)»`, `«surd(a+1,b,c,n)»`, `«surd(a,2*b,c,n)»`, `«surd(a,b,c,n+1)»`, `«surd(-a,-b,c,n)»`, `«surd(a,b,o,n)»`, `«over(sum(a,"",b,cube),n)»`}},
	{kind: "higher root", draw: `n = 3 | 3 | 3 | 4 | 5 ; k = 2..6 ; c = 2 | 3 | 5 | 6 | 7 | 10 | 11 | 13 | 14 | 15 | 17 | 19 | 21 ; o = 2 | 3 | 5 | 7 | 11 not c ; p = pow(k,n)`, gold: `«k»\sqrt[«n»]{«c»}`,
		same: []string{`\sqrt[«n»]{«p*c»}`, `«k» \cdot \sqrt[«n»]{«c»}`, `«k» \cdot «c»^{1/«n»}`, `«p*c»^{\frac{1}{«n»}}`, `\sqrt[«n»]{«p»}\,\sqrt[«n»]{«c»}`, `\sqrt[«n»]{«c»} \cdot «k»`},
		near: []string{`«k»\sqrt{«c»}`, `«k+1»\sqrt[«n»]{«c»}`, `«k»\sqrt[«n+1»]{«c»}`, `-«k»\sqrt[«n»]{«c»}`, `\sqrt[«n»]{«k*c»}`, `«k»\sqrt[«n»]{«o»}`, `«p*c+1»^{1/«n»}`}},
	{kind: "pi and e", draw: `n = 2..7`, gold: `«2*n» e^{«n»}`,
		same: []string{`e^«n» \cdot «2*n»`, `«2*n» \cdot e \cdot e^{«n-1»}`, `\frac{«2*n»}{e^{-«n»}}`, `«2*n»e^{«n»}`, `«2*n» \exp(«n»)`},
		near: []string{`«2*n» e^{«n+1»}`, `«2*n+1» e^{«n»}`, `«2*n» e^{-«n»}`, `«2*n*n» e`, `«2*n» \pi^{«n»}`}},
	{kind: "pi and e", draw: `r = abs(ratio()) ; k = -20..20 not 0`, gold: `«k»+«r»\pi`,
		same: []string{`«r»\pi«signed(k)»`, `\frac{«num(r)»\pi«signed(k*den(r))»}{«den(r)»}`, `«k» + \pi \cdot «r»`},
		near: []string{`«r»\pi«signed(-k)»`, `«r»\pi«signed(k+1)»`, `«r»\pi`, `«r»\pi^2«signed(k)»`}},
	{kind: "pi and e", draw: `r = ratio() ; p = num(r) ; q = den(r)`, gold: `\frac{«p»\pi}{«q»}`, round: `r*pi()`,
		same: []string{`«r»\pi`, `«r»\cdot\pi`, `\frac{«3*p»\pi}{«3*q»}`, `«p»\pi/«q»`, `\frac{«p» π}{«q»}`, `\pi \cdot \frac{«p»}{«q»}`, `\left(«r»\right)\pi`, `«r» \times \pi`},
		near: []string{`«r»`, `\frac{«p+1»\pi}{«q»}`, `\frac{«p»\pi^2}{«q»}`, `\frac{«p»}{«q»\pi}`, `«-r»\pi`, `«r»+\pi`}},
	{kind: "logarithm", draw: `b = 2 | 3 | 5 | 6 | 7 | 10 ; n = 2..4 ; m = 11 | 13 | 17 | 19 ; p = pow(b,n)`, gold: `«n» \ln «b»`,
		same: []string{`\ln «p»`, `\ln(«p»)`, `\ln{«b»}\cdot «n»`, `\ln «b» + \ln «p/b»`, `\ln \frac{«p*m»}{«m»}`, `-\ln\left(\frac{1}{«p»}\right)`},
		near: []string{`\ln «p+1»`, `«n+1» \ln «b»`, `\log_{«m»} «p»`, `-«n» \ln «b»`, `\ln «n*b+1»`, `«p»`}},
	{kind: "logarithm", draw: `b = 2 | 3 | 5 | 6 | 7 | 10 ; n = 2..4 ; m = 11 | 13 | 17 | 19 ; p = pow(b,n)`, gold: `\log_{«b»} «m»`,
		same: []string{`\log_{«b»}(«m»)`, `\frac{\ln «m»}{\ln «b»}`, `\log_{«b»}{«m»}`, `\log_{«b»} «m*p» - «n»`, `\frac{1}{\log_{«m»} «b»}`, `\frac{\log_{3} «m»}{\log_{3} «b»}`},
		near: []string{`\log_{«m»} «b»`, `\log_{«b+1»} «m»`, `\log_{«b»} «m+1»`, `\ln \frac{«m»}{«b»}`, `\frac{«m»}{«b»}`}},
	{kind: "trigonometry", draw: `n = 30 | 45 | 60 | 120 | 135 | 150 | 210 | 225 | 240 | 300 | 315 | 330 ; v = sine(n)`, gold: `«v»`,
		same: []string{`\sin «n»^\circ`, `\sin(«n»^{\circ})`, `\sin «radians(n)»`, `\sin\left(«radians(n+360)»\right)`, `\cos «450-n»^\circ`, `\cos\left(«radians(450-n)»\right)`,
			`-\sin «radians(n+180)»`, `2 \cdot «v» - («v»)`},
		near: []string{`«sine(n+180)»`, `\sin «radians(n+180)»`, `«n%90!=45&&sine(n+90)!=v?»«sine(n+90)»`, `«n%90!=45&&sine(n+90)!=v?»\sin «radians(n+90)»`, `«n%30==0&&n%180!=60?»«sine(n+60)»`,
			`«n%30==0&&n%180!=60?»\sin «radians(n+60)»`, `«n%30==0?»«sine(n+30)»`, `«n%30==0?»\sin «radians(n+30)»`, `\sin «radians(n)»+1`, `\tan «radians(n)»`, `«radians(n)»`},
		open: []string{`\sin «n»`}}, // degrees that were forgotten
	{kind: "complex", draw: `p = -15..15 not 0 ; q = -15..15 not 0 ; k = 2..5`, gold: `«sum(p,"",q,"i")»`,
		same: []string{`«sum(q,"i",p,"")»`, `«q>0?»«p» + «q» \cdot i`, `«q<0?»«p» - «-q» \cdot i`, `\frac{«sum(k*p,"",k*q,"i")»}{«k»}`, `«p» + («q»)i`, `i(«sum(q,"",-p,"i")»)`,
			`(1+i)(\frac{«sum(p+q,"",q-p,"i")»}{2})`, `\frac{«sum(p-q,"",p+q,"i")»}{1+i}`, `«p»«signed(q)»\mathrm{i}`},
		near: []string{`«sum(p,"",-q,"i")»`, `«sum(-p,"",q,"i")»`, `«sum(p+1,"",q,"i")»`, `«sum(p,"",q-1,"i")»`, `«p»`, `«sum(q,"i")»`, `«p»«signed(q)»`, `«p*p+q*q+1»`, `«p!=q?»«sum(q,"",p,"i")»`}},
	{kind: "counting", draw: `n = 4..20 ; v = fact(n)`, gold: `«n»!`,
		same: []string{`«v»`, `«group(v,",")»`, `«n» \cdot «n-1»!`, `\frac{«n+1»!}{«n+1»}`, `«n» \cdot «n-1» \cdot «n-2»!`},
		near: []string{`«n-1»!`, `«n+1»!`, `«v+1»`, `«n»`, `\frac{«n»!}{2}`, `«n»! - 1`}},
	{kind: "counting", draw: `n = 4..20 ; k = 2..n-2 ; v = binom(n,k)`, gold: `«v»`,
		same: []string{`\binom{«n»}{«k»}`, `\dbinom{«n»}{«n-k»}`, `\frac{«n»!}{«k»!\,«n-k»!}`, `{«n» \choose «k»}`, `\binom{«n-1»}{«k»} + \binom{«n-1»}{«k-1»}`},
		near: []string{`\binom{«n+1»}{«k»}`, `\frac{«n»!}{«n-k»!}`, `\binom{«n»}{«k»} + 1`, `\frac{«n»}{«k»}`, `«v+1»`}},
	{kind: "two variables", draw: `u,v = x,y | a,b | m,n | \alpha,\beta | x_1,x_2 ; p = -6..6 not 0 ; q = -6..6 not 0 ; r = -6..6 not 0 ; t = -6..6 not 0 ; f = {«u»}^2 ; g = «u» «v» ; h = {«v»}^2 ; a = p*r ; b = p*t+q*r ; c = q*t`,
		gold: `«sum(a,f,b,g,c,h)»`,
		same: []string{`«sum(c,h,a,f,b,g)»`, `«sum(b,g,a,f,c,h)»`, `(«sum(p,u,q,v)»)(«sum(r,u,t,v)»)`, `(«sum(r,u,t,v)»)(«sum(p,u,q,v)»)`, `(«sum(-r,u,-t,v)»)(«sum(-p,u,-q,v)»)`,
			`«p»«u»(«sum(r,u,t,v)»)«signed(q)»«v»(«sum(r,u,t,v)»)`, `«sum(a,f,b,v+u,c,h)»`},
		near: []string{`«sum(a,f,b+1,g,c,h)»`, `«sum(a+1,f,b,g,c,h)»`, `«sum(a,f,b,g,-c,h)»`, `(«sum(p,u,q,v)»)(«sum(r,u,t+1,v)»)`, `(«sum(p,u,q,v)»)+(«sum(r,u,t,v)»)`, `«sum(-a,f,-b,g,-c,h)»`,
			`«sum(a,f,b,g,c,h)» + 10^{-10}`, `«b!=0?»«sum(a,f,c,h)»`, `«b!=0?»«sum(a,f,-b,g,c,h)»`}},
	{kind: "polynomial", gold: `«p»`,
		draw: `v = x | y | t | n | a | k | m | u ; o = z | q | w ; P = 1 | 1 | 2 | 3 | -1 ; Q = -9..9 not 0 ; R = 1 | 1 | 2 ; T = -9..9 not 0 ; U = -9..9 not 0 ; A = P*R ; E = P*T+Q*R ; B = E+A*U ; C = Q*T+E*U ; D = Q*T*U ;
			s = «v»^2 ; c = «v»^3 ; p = sum(A,c,B,s,C,v,D,"") ; f = sum(P,v,Q,"") ; g = sum(R,v,T,"") ; h = sum(1,v,U,"")`,
		same: []string{`«sum(D,"",C,v,B,s,A,c)»`, `«sum(B,s,D,"",A,c,C,v)»`, `(«f»)(«g»)(«h»)`, `(«h»)(«f») \cdot («g»)`, `(«sum(A,s,E,v,Q*T,"")»)(«h»)`, `((«A»«v»«signed(B)»)«v»«signed(C)»)«v»«signed(D)»`,
			`«replace(p,"^","^ ")»`, `«between("(",p,")")»`},
		near: []string{`«sum(A,c,B+1,s,C,v,D,"")»`, `«sum(A,c,B,s,C-1,v,D,"")»`, `«sum(A,c,B,s,C,v,-D,"")»`, `«sum(-A,c,B,s,C,v,D,"")»`, `«p»+10^{-9}`, `«p» = 0`, `«p»+1`, `«sum(A,s,B,v,C,"")»`, `«replace(p,v,o)»`,
			`(«f»)(«g»)(«sum(1,v,U+1,"")»)`}},
	{kind: "rational function", gold: `\frac{«top»}{«bot»}`,
		draw: `v = x | y | t | n | a | k | m | p ; P = -9..9 not 0 ; Q = -9..9 not 0,P ; B = 1..9 ; C = 1..9 ; V = «v»^2 ; f = sum(1,v,P,"") ; g = sum(1,v,Q,"") ; top = sum(B+C,v,B*Q+C*P,"") ; bot = sum(1,V,P+Q,v,P*Q,"")`,
		same: []string{`\frac{«B»}{«f»}+\frac{«C»}{«g»}`, `\frac{«C»}{«g»}+\frac{«B»}{«f»}`, `\frac{«top»}{(«f»)(«g»)}`, `(«top»)/(«bot»)`, `\frac{«B»(«g»)+«C»(«f»)}{(«g»)(«f»)}`, `«B»(«f»)^{-1}+«C»(«g»)^{-1}`},
		near: []string{`\frac{«B+1»}{«f»}+\frac{«C»}{«g»}`, `\frac{«sum(B+C,v,B*Q+C*P+1,"")»}{«bot»}`, `\frac{«top»}{«sum(1,V,P+Q+1,v,P*Q,"")»}`, `\frac{«bot»}{«top»}`, `\frac{«B»}{«f»}-\frac{«C»}{«g»}`,
			`\frac{«B+C»}{«f»+«g»}`, `«top»`, `«B!=C?»\frac{«C»}{«f»}+\frac{«B»}{«g»}`}},
	{kind: "exponential", draw: `b = 2 | 3 | 5 | 7 ; k = 1..4 ; j = 1..3 ; v = n | x | k | t ; p = pow(b,j) ; e = sum(k,v)`, gold: `«b»^{«e»+«j»}`,
		same: []string{`«p» \cdot «b»^{«e»}`, `«b»^{«j»} \cdot «b»^{«e»}`, `«b»^{«j»+«e»}`, `«p» \left(«b»^{«v»}\right)^{«k»}`, `\frac{«b»^{«e»+«j+1»}}{«b»}`, `«b»^{«e»} \times «p»`},
		near: []string{`«b»^{«e»}+«p»`, `«b»^{«e»+«j+1»}`, `«b»^{«e»-«j»}`, `«b+1»^{«e»+«j»}`, `«b»^{«e»} \cdot «b»^{«v»}`, `«b»^{«e»}`, `«b»^{m+«j»}`}},
	{kind: "assignment", draw: `m = -9..9 not 0 ; b = -9..9 not 0 ; y = y | f(x) | y ; r = sum(m,"x",b,"")`, gold: `«y» = «r»`,
		same: []string{`«y»=«r»`, `«r»`, `«y» = «sum(b,"",m,"x")»`, `«y» = «b» + «m» \cdot x`},
		near: []string{`«y» = «sum(-m,"x",b,"")»`, `«y» = «sum(m,"x",-b,"")»`, `«y» = «sum(m,"x",b+1,"")»`, `«sum(m,"x",-b,"")»`, `«y» = «sum(m,"x^2",b,"")»`, `«y» = «b»`}},
	{kind: "assignment", draw: `v = x | y | n | k | r | A ; e = element`, gold: `«v» = «e»`, only: true,
		same: []string{`«v»=«form(e)»`, `«form(e)»`, `«e»`, `«v» = «form(e)».`},
		near: []string{`«v» = «miss(e)»`, `«miss(e)»`, `«v» > «e»`, `«v» \ne «e»`, `w = «e»`, `«e» «v»`}},
	{kind: "line", draw: `p = -9..9 not 0 ; q = -9..9 not 0 ; c = -20..20 not 0 ; l = sum(p,"x",q,"y")`, gold: `«l» = «c»`,
		same: []string{`«sum(q,"y",p,"x")» = «c»`, `«c» = «l»`, `«sum(p,"x",q,"y",-c,"")» = 0`, `«sum(-p,"x",-q,"y")» = «-c»`, `«sum(p,"x")» = «sum(c,"",-q,"y")»`, `0 = «sum(-p,"x",-q,"y",c,"")»`},
		near: []string{`«l» = «-c»`, `«sum(p,"x",-q,"y")» = «c»`, `«sum(p+1,"x",q,"y")» = «c»`, `«l» = «c+1»`, `«l»`, `«c»`, `«l» < «c»`, `«sum(p,"x",q,"z")» = «c»`, `«p!=q?»«sum(q,"x",p,"y")» = «c»`},
		open: []string{`«sum(2*p,"x",2*q,"y")» = «2*c»`, `y = «sum(-p,"x",c,"")» + «1-q» y`}},
	{kind: "inequality", gold: `«p» «f» x «g» «q»`,
		draw: `p = -20..10 ; q = 2..20 ; q = p+q ; f,turned,weak = <,>,\le | \le,\ge,< ; g,other,feeble = <,>,\le | \le,\ge,<`,
		same: []string{`«p» «f» x«g» «q»`, `«q» «other» x «turned» «p»`, `\frac{«2*p»}{2} «f» x «g» «q».0`},
		near: []string{`«p» «weak» x «g» «q»`, `«p» «f» x «feeble» «q»`, `«p» «f» x «g» «q+1»`, `x «g» «q»`, `«p» «f» y «g» «q»`, `«p»`}},
	{kind: "inequality", draw: `e = element ; s,turned,looser,opposite,sign = <,>,\le,\ge,< | >,<,\ge,\le,> | \le,\ge,<,>,≤ | \ge,\le,>,<,≥`, gold: `x «s» «e»`,
		same: []string{`x «s» «form(e)»`, `«form(e)» «turned» x`, `«e» «turned» x`, `x «sign» «e»`, `«sign!=s?»x «s»q «e»`, `«sign!=s?»x «s»qslant «e»`},
		near: []string{`x «turned» «e»`, `x «looser» «e»`, `x «opposite» «e»`, `«e» «s» x`, `x «s» «miss(e)»`, `«e»`, `x = «e»`, `t «s» «e»`}},
	{kind: "choice", draw: `a = A | B | C | D | E | F | G | H ; b = A | B | C | D | E | F | G | H not a ; g = «a» | («a») | \text{«a»}`, gold: `«g»`,
		same: []string{`«a»`, `(«a»)`, `\text{«a»}`, `\textbf{(«a»)}`, `\mathrm{«a»}`, `\text{(«a»)}`, `«a».`, `\mathbf{«a»}`}, near: []string{`«b»`, `(«b»)`, `\text{«b»}`, `«a»«b»`}},
	{kind: "text", gold: `\text{«w»}`, draw: `w = ` + vocabulary + ` ; o = ` + vocabulary + ` not w ; q = ` + vocabulary + ` not w ; n = 2..99`,
		same: []string{`«w»`, `\text{ «w»}`, `\mathrm{«w»}`, `\textbf{«w»}`, `\text{«lower(w)»}`, `«upper(w)»`, `\text{«w».}`, `\textit{«w»}`},
		near: []string{`«o»`, `\text{«o»}`, `«q»`, `\text{«q»}`, `«n»`, `\text{not «w»}`}},
	{kind: "base", draw: `b = 2..9 ; n = 3..7 ; t = digits(b,n) ; o = swap(t)`, gold: `«t»_«b»`,
		same: []string{`«t»_{«b»}`, `{«t»}_{«b»}`, `«t» _ «b»`}, near: []string{`«t»_{«b+1»}`, `1«t»_{«b»}`, `«t»0_«b»`, `«o!=t?»«o»_«b»`}, open: []string{`«t»`}},
	{kind: "time and ratio", draw: `h = 1..12 ; n = 0..59 ; m = padded(n,2)`, gold: `«h»:«m»`,
		same: []string{`«h»\text{:}«m»`, `\text{«h»:«m»}`, `\mathrm{«h»:«m»}`},
		near: []string{`«h+1»:«m»`, `«h»:«padded((n+1)%60,2)»`, `«h»:«padded((n+30)%60,2)»`, `«h»`, `«h»«m»`}, open: []string{`«h»:«m» \text{ PM}`}},
	{kind: "time and ratio", draw: `p = 1..20 ; q = 1..20 not p`, gold: `«p»:«q»`,
		same: []string{`«p» : «q»`, `«p»{:}«q»`, `«p»\,:\,«q»`}, near: []string{`«q»:«p»`, `«p+1»:«q»`, `«p»:«q+1»`, `«p+q»`}, open: []string{`\frac{«p»}{«q»}`, `«2*p»:«2*q»`}},
	{kind: "repeating decimal", draw: `l = 0..9 ; p = 1..998 not 9,99 ; r = p/(pow(10,length(p))-1)`, gold: `«r»`,
		same: []string{`0.\overline{«p»}`, `«num(r)»/«den(r)»`, `0.\overline{«p»«p»}`},
		near: []string{`0.«l»«p»`, `1.\overline{«p»}`, `-0.\overline{«p»}`, `0.0\overline{«p»}`}, open: []string{`0.«p»«p»«p»\ldots`}},
	{kind: "repeating decimal", draw: `l = 0..9 ; p = 1..998 not 9,99 ; r = (p/(pow(10,length(p))-1)+l)/10`, gold: `«r»`,
		same: []string{`0.«l»\overline{«p»}`, `«num(r)»/«den(r)»`, `0.«l»\overline{«p»«p»}`},
		near: []string{`0.«l»«p»`, `1.«l»\overline{«p»}`, `-0.«l»\overline{«p»}`, `0.0«l»\overline{«p»}`}, open: []string{`0.«l»«p»«p»«p»\ldots`}},
	{kind: "repeating decimal", draw: `a = 0..9 ; b = 0..9 not a ; r = (10*a+b)/99`, gold: `«r»`, same: []string{`0.\overline{«a»«b»}`, `«num(r)»/«den(r)»`}, near: []string{`0.\overline{«b»«a»}`}},
	{kind: "chain", whole: true, only: true, draw: `n = 10..400 ; k = 2..9 ; x = x | S | f(3) | m+n | \angle ABC | AB | P | a_5 | \text{Area} ; e = pick(" = ","=","\n= ")`, gold: `«n»`,
		same: []string{`We conclude that $\boxed{«x»«e»«n»}$.`, `We conclude that $\boxed{«x»«e»«n-k»+«k»«e»«n»}$.`, `We conclude that $\boxed{«n+k»-«k»«e»«n»}$.`,
			`We conclude that $\boxed{«x»«e»\frac{«n*k»}{«k»}}$.`, `We conclude that $\boxed{|AB|«e»«n»}$.`},
		near: []string{`We conclude that $\boxed{«x»«e»«n+1»}$.`, `We conclude that $\boxed{«x»«e»«n+1-k»+«k»«e»«n+1»}$.`, `We conclude that $\boxed{«n+k»-«k+1»«e»«n-1»}$.`,
			`We conclude that $\boxed{«x»«e»\frac{«n*k»}{«k+1»}}$.`}},
	{kind: "sentence", whole: true, only: true, draw: `n = 11..999 ; k = 1..9 ; g,t = «n»,«n» | «n»,«n» | \frac{«2*k-1»}{16},«2*k-1»/16 ; o = n+k`, gold: `«g»`,
		same: []string{`Therefore, «t».`, `Hence it is «t».`, `There are «o» cases at first. After all of them, the largest n is «t».`, `So the total comes to «t».`, `Starting from «o», we end at «t».`, `Thus the sum equals «t»`,
			`Consequently the number of ways is «t».`, `We counted twice and got «t».`, `One might guess «o». In fact, the value of m is «t».`, `Final count: «t»`, `Altogether: «t».`},
		near: []string{`Therefore, «o».`, `Hence it is «o».`, `There are «t» cases at first. After all of them, the largest n is «o».`, `So the total comes to «o».`, `Starting from «t», we end at «o».`, `Thus the sum equals «o»`,
			`Consequently the number of ways is «o».`, `One might guess «t». In fact, the value of m is «o».`, `Altogether: «o».`, `There are at least «t».`, `Nothing follows from this.`}},
	{kind: "response", whole: true, only: true, draw: `e = element`, gold: `«e»`,
		same: responses(`form`, `miss`), near: responses(`miss`, `form`)},
	{kind: "formula list", whole: true, only: true, draw: `a = element ; b = element not a ; n = pick("","x=","t = ")`, gold: `«a», «b»`,
		same: []string{`The solutions are $«n»«a»$ and $«n»«b»$.`, `So the roots are $«n»«form(b)»$, $«n»«form(a)»$.`, `We find \(«n»«form(a)»\) and \(«n»«form(b)»\).`},
		near: []string{`The solutions are $«n»«miss(a)»$ and $«n»«b»$.`, `So the roots are $«n»«form(a)»$, $«n»«miss(b)»$.`, `We find \(«n»«miss(a)»\) and \(«n»«form(b)»\).`,
			`The only root is $«b»$.`, `The solutions are $«n»«a»$ and $«n»1000$.`}},
	{kind: "points", only: true, draw: `a = element ; b = element not a ; c = element not a,b ; d = element not a,b,c ; p = («a», «b») ; q = («c»,«d»)`, gold: `\{(«a», «b»), («c», «d»)\}`,
		same: []string{`\{(«form(a)»,«form(b)»), («form(c)», «form(d)»)\}`, `«between("\\{",p+","+q,"\\}")»`, `«between("\\{",q+", "+p,"\\}")»`},
		near: []string{`\{(«b», «a»), «q»\}`, `\{(«a», «d»), («c», «b»)\}`, `\{(«miss(a)», «b»), «q»\}`, `\{«p», («form(c)», «miss(d)»)\}`, `\{«p»\}`, `(«a», «b», «c», «d»)`, `\{«a»,«b»,«c»,«d»\}`, `\{«p», «q», (0,0)\}`}},
	{kind: "interval", draw: `p = -30..20 ; q = 3..40 ; q = p+q ; t = «p», «q» ; o,e,turned,other = [,),(,] | (,],[,) | [,],(,)`, gold: `«o»«p»,«q»«e»`,
		same: []string{`«between(o,t,e)»`, `«o»«p».0, \frac{«3*q»}{3}«e»`, `\left«o»«p»,\;«q».0\right«e»`, `x \in «o»«p»,«q»«e»`},
		near: []string{`«turned»«p»,«q»«e»`, `«o»«p+1»,«q»«e»`, `«p»`, `«o»«p»,«q»«other»`, `«o»«p»,«q+1»«e»`, `«o»«p»,\infty)`, `\{«p»,«q»\}`}},
	{kind: "interval", draw: `p = -30..20 ; o,turned = [,( | (,[`, gold: `«o»«p»,\infty)`,
		same: []string{`«o»«p».0,+\infty)`, `\left«o»\frac{«3*p»}{3},\,\infty\right)`, `x \in «o»«p»,\infty)`}, near: []string{`«turned»«p»,\infty)`, `«o»«p+1»,\infty)`, `«p»`, `(-\infty,«p»)`, `«o»«p»,1000)`}},
	{kind: "union", draw: `p = -30..20 ; q = 3..40 ; q = p+q ; e,other = ),] | ],) ; o,turned = (,[ | [,( ; l = (-\infty,«p»«e» ; r = «o»«q»,\infty)`, gold: `«l»\cup «r»`,
		same: []string{`«r» \cup «l»`, `\left(-\infty,«p».0\right«e»\cup\left«o»\frac{«3*q»}{3},+\infty\right)`, `«l» \cup «o»«q», +\infty)`, `x \in «l»\cup «r»`},
		near: []string{`«l»`, `«r»`, `(-\infty,«p»«other»\cup «r»`, `«l»\cup «turned»«q»,\infty)`, `(-\infty,«p+1»«e»\cup «r»`, `«l»\cap «r»`, `(-\infty,\infty)`, `«o»«p»,«q»«e»`, `«l»\cup «o»«q»,1000)`}},
	{kind: "plus or minus", only: true, gold: `«over(top,n)»`,
		draw: `a = -12..12 not 0 ; b = 1..9 ; c = 2 | 3 | 5 | 6 | 7 | 10 | 11 | 13 | 14 | 15 | 17 | 19 | 21 ; n = 1 | 1 | 2 | 3 | 5 ; m,a = «a»,«a» | «a»,«a» | ,0 ; s = \sqrt{«c»} ; w = sum(b,s) ; x = surd(a,b,c,n) ; y = surd(a,-b,c,n) ; top = «m»\pm «w» ; wide = «m» \pm«w» ; up = «a+1» \pm «w» ; other = «m»\pm \sqrt{23} ; turned = «-a»\pm «w»`,
		same: []string{`«x», «y»`, `«y», «x»`, `\{«y»,«x»\}`, `«x»\text{ and }«y»`, `«over(wide,n)»`},
		near: []string{`«x»`, `«y»`, `«x», «surd(a+1,b,c,n)»`, `«over(up,n)»`, `«over(other,n)»`, `«x», «y», 0`, `«a!=0?»«over(turned,n)»`}},
	{kind: "cut formula", whole: true, only: true, draw: `p = 2..40 ; q = 41..90 ; s = p+q ; a = We have $a = «p»$ and $b = «q»$, so | First $x = «p»$. Then $y = «q»$. Hence | With $p=«p»$ and $q=«q»$ we get`, gold: `«s»`,
		same: []string{`«a» $«s»`, `«a» \(«s»`, `«a» $s = «s»`, `«a» $«p» + «q» = «s»`},
		near: []string{`«a» $s =`, `«a» $«s+1»`, `«a» $s = «s» + «q» + \sqrt`, `«a» $\sqrt[3]«s» \cdot`, `«a» $\frac`}},
	{kind: "number word", only: true, draw: `n = 1..99 ; w = words(n)`, gold: `«n»`,
		same: []string{`«w»`, `\text{«w»}`, `«upper(w)»`}, near: []string{`«words(n%99+1)»`, `\text{«words(n%90+5)»}`, `«w» thousand`, `half of «w»`}},
	{kind: "percent word", only: true, draw: `n = 2..99`, gold: `«n»\%`,
		same: []string{`«n» percent`, `«n» per cent`, `«n»\text{ per cent}`, `«n» \text{ percent}`, `«words(n)» percent`, `«words(n)» per cent`, `0.«padded(n,2)»`, `«n»`, `\frac{«n»}{100}`},
		near: []string{`«n+1» percent`, `«10*n+1»\text{ per cent}`, `«words(n%99+1)» percent`, `0.0«padded(n,2)»`, `0.«padded(n,2)» percent`, `1 in «n+1»`}},
	{kind: "share", only: true, draw: `n = 1..99 ; t = 0.«padded(n,2)»`, gold: `«t»`,
		same: []string{`«n»\%`, `«n».0\%`, `\frac{«n»}{100}`, `«n» percent`, `«n»%`}, near: []string{`«t»\%`, `«n+1»\%`, `«n».5\%`, `«10*n+1»\%`, `«t»\text{ percent}`}},
	{kind: "glued unit", only: true, draw: `h = 1..999 ; n = 1..999 ; t = padded(n,3) ; u = m | km | kg | g | s | cm | ft | mm | mg | L | h ; g = \text{ «u»} | \text{ «u»} | ; g = «h»«t»«g»`, gold: `«g»`,
		same: []string{`«h»,«t»«u»`, `«h»,«t»\text{«u»}`, `«h»{,}«t»«u»`, `«h»,«t» «u»`, `«h»,«t»\mathrm{«u»}`}, near: []string{`«h+1»,«t»«u»`, `«h».«t»«u»`, `«h»,«t»0«u»`, `«h»«u»`, `«h», «t»«u»`}},
	{kind: "mixed form", only: true, gold: `«s»\frac{«w*q+p»}{«q»}`,
		draw: `w = 1..30 ; q = 2..12 ; p = 1..q-1 ; s = | | - ; f = \frac{«p»}{«q»} ; a = \dfrac{«p»}{«q»} ; b = \tfrac{«p»}{«q»} ; o = \frac{«p»}{«q+w»} ; c = \dfrac{«p»}{«q+w»}`,
		same: []string{`«s»«w»«f»`, `«s»«w» «a»`, `«s»«w»\,«b»`, `«s»{«w»}«f»`, `«s»«w»{«f»}`, `«s»«w»~«f»`, `«s»«w»\ «f»`, `«s»«w»\;«a»`, `«s»«w»\text{ }«f»`},
		near: []string{`«s»«w+1»«f»`, `«s»«w»«o»`, `«s»«w+1» «a»`, `«s»«w»\,«c»`, `«s»{«w+1»}«f»`, `«s»{«w»}«o»`, `«s»«w»{«o»}`, `«s»«w+1»~«f»`, `«s»«w»\ «o»`, `«s»«w+1»\;«a»`, `«s»«w+1»\text{ }«f»`,
			`«s»«w+1»\cdot«f»`, `«s»(«w»-«f»)`, `«w», «f»`}},
	{kind: "prime power", draw: `p = 2 | 3 ; q = 5 | 7 | 11 ; e = 2..6 ; f = 2..3`, gold: `«pow(p,e)*pow(q,f)»`,
		same: []string{`«p»^«e» «q»^«f»`, `«p»^{«e»}«q»^{«f»}`, `«p»^{«e»} \, «q»^{«f»}`, `«p»^«e» \cdot «q»^«f»`, `«q»^«f»\; «p»^«e»`, `(«p»^«e»)(«q»^«f»)`},
		near: []string{`«p»^«e+1» «q»^«f»`, `«p»^«e» + «q»^«f»`, `«p»^«e», «q»^«f»`, `«p»^{«e»} «q»`, `«p»^«e»\, «q»^«f+1»`}},
	{kind: "named ratio", only: true, draw: `p = 1..20 ; q = 1..20 not p ; x,y = x,y | AB,CD | \text{boys},\text{girls} | a,b | AP,PB ; c = pick(":"," : ")`, gold: `«p»:«q»`,
		same: []string{`«x»:«y» = «p»«c»«q»`, `«x» : «y» = «p»«c»«q»`, `«x»:«y»=«2*p»:«2*q»`, `\text{ratio} = «p»:«q»`, `\text{The ratio is } «p»:«q»`, `«p» \text{ to } «q»`},
		near: []string{`«x»«c»«y» = «q»:«p»`, `«x»:«y»=«p+1»«c»«q»`, `«x»:«y» = «p»:«q+1»`, `\text{ratio} = «q»:«p»`}},
	{kind: "coordinate", only: true, draw: `e = element ; f = element not e ; c = pick("; ",", ",";\\ ",",\\quad ","\\text{ and }")`, gold: `(«e», «f»)`,
		same: []string{`x = «e»«c»y = «f»`, `y=«f»; x=«e»`, `y=«form(f)», x=«e»`, `\begin{cases}x = «e» \\ y = «f»\end{cases}`, `(x, y) = («e», «f»)`, `x = «form(e)»«c»y = «form(f)»`},
		near: []string{`x = «f»«c»y = «e»`, `x = «e»«c»y = 1000`, `x = «miss(e)»«c»y = «f»`, `\begin{cases}x = «f» \\ y = «e»\end{cases}`, `x = «e»; x = «f»`}},
	{kind: "congruence", only: true, draw: `m = 3..30 ; r = 1..m-1`, gold: `«r» \pmod{«m»}`,
		same: []string{`«r»\pmod{«m»}`, `x \equiv «r» \pmod{«m»}`, `«r» \mod «m»`}, near: []string{`«r» \pmod{«m+1»}`, `«r-1» \pmod{«m»}`, `x \equiv «r» \pmod{«m-1»}`}},
	{kind: "distance", only: true, draw: `c = -9..9 ; r = 1..9 ; t = sum(1,"x",-c,"")`, gold: `(«c-r», «c+r»)`,
		same: []string{`«c-r» < x < «c+r»`, `x \in («c-r», «c+r»)`, `|«t»| < «r»`}, near: []string{`«c-r» < x < «c+r+1»`, `«c-r» \le x < «c+r»`, `|«t»| > «r»`, `|«sum(1,"x",-c-1,"")»| < «r»`}},
	{kind: "sum", draw: `n = 3..30 ; k = 2..9`, gold: `«k*n*(n+1)/2»`,
		same: []string{`«k»\cdot\frac{«n»\cdot «n+1»}{2}`, `«k»\binom{«n+1»}{2}`},
		near: []string{`\sum_{i=1}^{«n+1»} «k»i`, `\sum_{i=2}^{«n»} «k»i`, `«k»\binom{«n+2»}{2}`, `\prod_{i=1}^{3} «k+n*n»i`}},
	{kind: "polar", draw: `n = 2..20 ; a = 30 | 45 | 60 | 120 | 135 | 150 | 210 | 240 | 300 | 330 ; t = radians(a)`, gold: `«n»e^{«t» i}`,
		same: []string{`«n»(\cos «t» + i \sin «t»)`, `«n»\left(«sine(90-a)» + («sine(a)») i\right)`, `«n»\operatorname{cis} «a»^\circ`, `«n»e^{«radians(a+360)» i}`},
		near: []string{`«n»e^{«radians(a+30)» i}`, `«n»e^{-«t» i}`, `«n»(\cos «t» - i \sin «t»)`, `«n»e^{«t»}`}},
	{kind: "false equation", only: true, draw: `n = 10..400 ; k = 2..9`, gold: `«n»`,
		same: []string{`«n-k»+«k»=«n»`, `\frac{«n*k»}{«k»} = «n»`, `x = «n+k» - «k» = «n»`, `«n» = «n»`},
		near: []string{`«n-1»=«n»`, `«n»+«k»=«n»`, `\frac{«n»}{«k»} = «n»`, `x = «n+k» = «n»`, `x = «n» + «k» = «n»`, `«n» \cdot «k» = «n»`}},
	{kind: "other base", only: true, draw: `b = 2..9 ; n = 3..6 ; t = digits(b,n)`, gold: `«t»`, same: []string{`«t»_{10}`, `«t».0`}, near: []string{`«t»_{«b»}`, `«t»_«b»`, `«t»0`}},
	{kind: "other base", only: true, draw: `b = 2..9 ; n = 3..6 ; t = digits(b,n)`, gold: `«t»_{«b»}`,
		same: []string{`«t»_«b»`, `«t»_{\text{«words(b)»}}`}, near: []string{`«t»`, `«t»_«b+1»`, `«t»_{10}`, `1«t»_{«b»}`}},
	{kind: "log base", draw: `x = x | 2 | 7 | (x+1) | 3 | y ; k = 2..9`, gold: `«k» + \ln «x»`,
		same: []string{`«k» + \log_{e} «x»`, `«k» + \log_e «x»`, `\ln «x» + «k»`}, near: []string{`«k» + \log «x»`, `«k» + \log_{10} «x»`, `«k» + \log_2 «x»`, `«k» + \lg «x»`}},
	{kind: "log base", draw: `x = x | 2 | 7 | (x+1) | 3 | y ; k = 2..9`, gold: `«k» + \log «x»`,
		same: []string{`«k» + \log_{10} «x»`, `\log «x» + «k»`, `«k» + \lg «x»`}, near: []string{`«k» + \ln «x»`, `«k» + \log_e «x»`, `«k» + \log_2 «x»`, `«k» + \log_{100} «x»`}},
	{kind: "sign order", only: true, draw: `k = 2..9 ; p = a | x | m ; q = b | y | n`, gold: `«k»«p» \pm «q»`,
		same: []string{`«p»\cdot «k» \pm «q»`, `-(-«k»«p» \mp «q»)`, `«k»«p»+«q», «k»«p»-«q»`}, near: []string{`«k»«p» \mp «q»`, `«k»«p» + «q»`, `«k+1»«p» \pm «q»`, `«p»\cdot «k»\mp «q»`}},
	{kind: "scaling word", draw: `n = 2..60 ; w,f = dozen,12 | thousand,1000 | million,1000000`, gold: `«n*f»`,
		same: []string{`«n» «w»`, `«n»\text{ «w»}`}, near: []string{`«n+1» «w»`, `«10*n+1»\text{ «w»}`}},
	{kind: "scaling word", only: true, draw: `n = 2..60 ; w = dozen | cents | thousand | million | dozen | cents`, gold: `«n»`,
		same: []string{`«n»\text{ eggs}`, `«n».0`, `«n» boxes`}, near: []string{`«n» «w»`, `«n»\text{ «w»}`, `«n» \text{ «w»}`}},
	{kind: "tiny term", only: true, draw: `n = 1..9000000 ; d = 1..9 ; g = «n» | «n».«d» | \sqrt{«2*n*n»} | «n»x | \frac{«7*n+1»}{7} | 3.14159265 | 0 ; t = 10^{-9} | 10^{-10} | 0.000000001 | 2\times 10^{-9} | 10^{-12} | \frac{1}{10^9}`,
		gold: `«g»`, same: []string{`«g»+0`, `«g»+«t»-«t»`, `0+«g»`, `«t»+«g»-«t»`}, near: []string{`«g»+«t»`, `«g»-«t»`, `«t»+«g»`, `«g» + «t»`}},
	{kind: "tiny term", only: true, draw: `n = 1..9000000`, gold: `«n»`, same: []string{`«n»+0`}, near: []string{`«n».000000001`}},
	{kind: "and or or", only: true, draw: `p = -9..9 ; q = 1..9 ; q = p+q`, gold: `x < «p»\text{ or }x > «q»`,
		same: []string{`x > «q»\text{ or }x < «p»`, `x < «p»\text{ or }x > «q»`, `(-\infty,«p»)\cup(«q»,\infty)`}, near: []string{`x < «p»\text{ and }x > «q»`, `x < «p»\text{ or }x > «q+1»`, `x < «p-1»\text{ or }x > «q»`}},
	{kind: "and or or", only: true, draw: `p = -9..9 ; q = 1..9 ; q = p+q`, gold: `x > «p»\text{ and }x < «q»`,
		same: []string{`x < «q»\text{ and }x > «p»`, `x > «p»\text{ and }x < «q»`, `«p»<x<«q»`}, near: []string{`x > «p»\text{ or }x < «q»`, `x > «p»\text{ and }x < «q+1»`, `x > «p-1»\text{ and }x < «q»`}},
	{kind: "opposite", only: true, gold: `«n»\text{ «a»}`,
		draw: `n = 2..90 ; a,b,c = north,south,N | east,west,E | gain,loss, | increase,decrease, | up,down, | left,right, | BC,AD,BCE | AD,BC,CE | AM,PM,a.m. | above,below, | profit,loss, | clockwise,counterclockwise, | MHz,mHz, | mg,Mg, | MW,mW, | feet,inches,ft | meters,miles,m | apples,oranges, | boys,girls, | red,blue,`,
		same: []string{`«n» \text{ «a»}`, `«n»\,\text{«a»}`, `«c!=""?»«n»\text{ «c»}`, `«c!=""?»«n» \text{ «c»}`}, near: []string{`«n»\text{ «b»}`, `«n» \text{ «b»}`, `«n+1»\text{ «a»}`}},
	{kind: "inventory", only: true, draw: `p = 1..30 ; q = 1..30 not p ; a,b = red,blue | cats,dogs | nickels,dimes | boys,girls | chairs,tables ; c = pick("}, ", " and }")`, gold: `«p»\text{ «a»«c»«q»\text{ «b»}`,
		same: []string{`«p»\text{ «a»}, «q»\text{ «b»}`, `«p»\text{ «a» and }«q»\text{ «b»}`, `«q»\text{ «b»«c»«p»\text{ «a»}`}, near: []string{`«q»\text{ «a»«c»«p»\text{ «b»}`, `«p»\text{ «b»«c»«q»\text{ «a»}`, `«p+1»\text{ «a»«c»«q»\text{ «b»}`}},
	{kind: "capital", draw: `n = 2..40 ; a,b = \pi,\Pi | \sigma,\Sigma | \omega,\Omega | \phi,\Phi | \delta,\Delta | x,X | r,R`, gold: `«n»«a»`,
		same: []string{`«n» «a»`, `«n» \cdot «a»`, `\frac{«2*n»«a»}{2}`}, near: []string{`«n»«b»`, `«n» \cdot «b»`, `«n+1»«a»`}},
	{kind: "vector product", draw: `m = \vec | \mathbf | \overrightarrow ; a = a | u | p ; b = b | v | q ; u = «m»{«a»} ; v = «m»{«b»} ; n = 2..9`, gold: `«n» «u»\cdot «v»`,
		same: []string{`«n» «v» \cdot «u»`, `«n»(«u»\cdot «v»)`}, near: []string{`«n» «u»\times «v»`, `«n+1» «u»\cdot «v»`, `«n»(«u»\times «v»)`}},
	{kind: "vector product", draw: `m = \vec | \mathbf | \overrightarrow ; a = a | u | p ; b = b | v | q ; u = «m»{«a»} ; v = «m»{«b»} ; n = 2..9`, gold: `«n» «u»\times «v»`,
		same: []string{`«n» «u»  \times  «v»`}, near: []string{`«n» «u»\cdot «v»`, `«n» «v»\times «u»`, `«n+1» «u»\times «v»`}},
}

// responses say more than the answer: the right one is a form of e, written by one
// function, and what is said on the way is written by the other.
func responses(right, other string) []string {
	var all []string
	for _, text := range []string{
		"First we get \\boxed{OTHER}, which is wrong.\n\nCorrected: \\boxed{RIGHT}",
		"**Final answer**\n\n$$\\boxed{RIGHT}$$\n",
		"Since $OTHER \\ne RIGHT$, the answer is $\\boxed{RIGHT}$, not $OTHER$.",
		"We have\n\\begin{align*}\na &= OTHER \\\\\nb &= 7\n\\end{align*}\nso the answer is \\(\\boxed{RIGHT}\\).",
		"### Step 1\nAssume $OTHER$.\n### Step 2\n\\[\n\\boxed{\nRIGHT\n}\n\\]\nThis took 2 steps.",
		"The candidates are $OTHER$ and $RIGHT$; the second is right: $\\boxed{\\boxed{RIGHT}}$",
		"The answer: $\\fbox{$RIGHT$}$",
	} {
		all = append(all, strings.NewReplacer("RIGHT", "«"+right+"(e)»", "OTHER", "«"+other+"(e)»").Replace(text))
	}
	return all
}

// vocabulary are words that are answers by themselves.
const vocabulary = `red | green | orange | purple | Monday | Wednesday | Saturday | January | April | October | circle | ellipse | parabola | square | rhombus | trapezoid | odd | even | prime |
	composite | true | false | yes | no | north | south | east | west | increasing | decreasing | convergent | divergent | Alice | Boris | Clara | Dmitri | Evelyn |
	impossible | undefined | zero-sum | symmetric | injective | surjective | abelian | cyclic | planar | bipartite`
