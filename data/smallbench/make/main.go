// Command make writes the small benchmark, data/smallbench/smallbench.jsonl,
// from the problems next to it, as bare ones: the shipped templates ask them. It is
// run by hand after a change, and makes the same bytes every time:
//
//	go run ./data/smallbench/make -to data/smallbench/smallbench.jsonl
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/store/atomicfile"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "make:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("make", flag.ContinueOnError)
	to := flags.String("to", data.SmallBenchmarkName, "task file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	tasks := slices.Concat(mathProblems(), choiceProblems(), stdinProblems(), functionProblems(), openQuestions())
	err := atomicfile.Write(*to, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		var err error
		for _, t := range tasks {
			err = errors.Join(err, e.Encode(problem{t.ID, t.Prompt, t.Answer, t.Scorer, t.OptionTexts, t.Tests}))
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d tasks\n", len(tasks))
	return err
}

// problem is a record of a task file that a template asks.
type problem struct {
	ID      string           `json:"id"`
	Prompt  string           `json:"prompt"`
	Answer  string           `json:"answer,omitzero"`
	Scorer  string           `json:"scorer"`
	Options []string         `json:"options,omitzero"`
	Tests   []benchmark.Test `json:"tests,omitzero"`
}

// choiceProblems have four to ten options. One of them follows a rule that can be checked.
func choiceProblems() []benchmark.Task {
	problem := func(id, prompt, answer string, options ...string) benchmark.Task {
		return benchmark.Task{ID: "choice-" + id, Prompt: prompt, Answer: answer, Scorer: "choice", OptionTexts: options}
	}
	return []benchmark.Task{
		problem("prime", "Which of these numbers is a prime?", "C", "91", "87", "97", "51"),
		problem("fraction", "Which of these fractions is the greatest?", "B", "7/9", "4/5", "11/14", "15/19", "3/4"),
		problem("letters", "In which of these words does no letter occur twice?", "D", "letter", "puzzle", "banana", "planet"),
		problem("binary", "Which of these numbers reads the same from both ends when it is written in base 2?", "B", "18", "21", "22", "26", "29", "12"),
		problem("weekday", "Today is a Wednesday. Which day of the week is it in 100 days?", "E", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
		problem("month", "Which of these months has the most days in an ordinary year?", "D", "February", "April", "June", "August", "September"),
		problem("dictionary", "Which of these words stands last in a dictionary?", "F", "stone", "stall", "store", "steam", "stork", "story", "stool", "stoic"),
		problem("square", "Which of these numbers is the square of a whole number?", "H", "1442", "1500", "1523", "1555", "1593", "1599", "1603", "1681", "1700", "1722"),
		problem("length", "Which of these lengths is the greatest?", "C", "3.2 km", "31500 dm", "3210 m", "320400 cm"),
		problem("roman", "Which of these Roman numerals stands for the greatest number?", "A", "MCMXC", "MDCCC", "MCDXC", "MLXVI", "MCCCL", "MDCLX"),
		problem("anagram", `Which of these words has exactly the letters of "master", in another order?`, "B", "steamy", "stream", "smarty", "matter", "seater"),
		problem("clock", "At which of these times do the two hands of a clock stand at a right angle?", "G", "1:00", "2:00", "4:00", "5:00", "6:00", "7:00", "3:00", "10:00", "11:00"),
		problem("pair", "The sum of which of these pairs of numbers is a multiple of 11?", "J", "14 and 18", "23 and 31", "9 and 25", "40 and 3", "27 and 27", "51 and 5", "12 and 61", "8 and 57", "70 and 6", "38 and 39"),
		problem("hexadecimal", "Which of these hexadecimal numbers is 200 in decimal notation?", "A", "C8", "8C", "B8", "D0"),
	}
}

// call is a list of arguments and the result that a function must give.
type call struct {
	arguments []any
	result    any
}

// functionProblems are functions to write, with the results of calls.
func functionProblems() []benchmark.Task {
	problem := func(id, function, prompt string, calls ...call) benchmark.Task {
		task := benchmark.Task{ID: "code-" + id, Prompt: prompt, Scorer: "code"}
		for _, c := range calls {
			var lines []string
			for _, argument := range c.arguments {
				lines = append(lines, literal(argument))
			}
			task.Tests = append(task.Tests, benchmark.Test{
				Kind: "function", Function: function, Input: strings.Join(lines, "\n"), Output: literal(c.result),
			})
		}
		return task
	}
	with := func(arguments ...any) func(result any) call {
		return func(result any) call { return call{arguments, result} }
	}
	type list = []int
	type table = [][]int
	return []benchmark.Task{
		problem("digits", "repeated_digit_sum", "The function repeated_digit_sum(n) takes a whole number n of at least 0, replaces it by the sum of its decimal digits until one digit is left, and returns that digit.",
			with(0)(0), with(7)(7), with(38)(2), with(999999999)(9), with(123456)(3)),
		problem("rotate", "rotate", "The function rotate(items, k) returns a new list in which every element of the list items has moved k places to the right, those at the end coming back at the front. k may be negative or greater than the length; an empty list stays empty.",
			with(list{1, 2, 3, 4}, 1)(list{4, 1, 2, 3}), with(list{1, 2, 3}, -1)(list{2, 3, 1}), with(list{}, 5)(list{}), with(list{5, 6, 7}, 7)(list{7, 5, 6})),
		problem("climb", "longest_climb", "The function longest_climb(values) returns the length of the longest stretch of neighbouring elements of the list values in which each is greater than the one before it. An empty list has length 0.",
			with(list{})(0), with(list{3})(1), with(list{1, 2, 2, 3, 4})(3), with(list{5, 4, 3})(1), with(list{-3, -2, 0, 9, 1, 2})(4)),
		problem("intervals", "merge_intervals", "The function merge_intervals(intervals) takes a list of pairs [start, end] with start <= end, joins those that overlap or touch at an end, and returns the resulting pairs as lists, sorted by start.",
			with(table{})(table{}), with(table{{1, 3}, {2, 6}, {8, 10}})(table{{1, 6}, {8, 10}}), with(table{{5, 7}, {1, 5}})(table{{1, 7}}), with(table{{1, 10}, {2, 3}, {11, 12}})(table{{1, 10}, {11, 12}})),
		problem("cipher", "shift_letters", "The function shift_letters(text, k) returns the text with every letter from a to z, small or capital, replaced by the one k places later in the alphabet, starting again at a after z, in the same case. k may be negative; all other characters stay.",
			with("abc", 1)("bcd"), with("xyz, XYZ!", 3)("abc, ABC!"), with("Ärger", -1)("Äqfdq"), with("", 4)(""), with("same", 26)("same")),
		problem("median", "median", "The function median(values) returns the median of a list of whole numbers that is not empty: the middle one in sorted order, or half the sum of the two middle ones.",
			with(list{3})(3), with(list{9, 1, 5})(5), with(list{4, 1, 3, 2})(2.5), with(list{-7, -7, 8, 8})(0.5)),
		problem("transpose", "transpose", "The function transpose(rows) takes a matrix as a list of rows of equal length and returns its columns, from left to right, as a list of lists.",
			with(table{{1, 2, 3}, {4, 5, 6}})(table{{1, 4}, {2, 5}, {3, 6}}), with(table{{7}})(table{{7}}), with(table{{1}, {2}})(table{{1, 2}})),
	}
}

// literal is a value in JSON. It is for the values above.
func literal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// mathProblems have answers of every shape that a math scorer meets: integers,
// fractions, decimals, roots, sets, pairs, intervals, expressions, equations.
func mathProblems() []benchmark.Task {
	problem := func(id, prompt, answer string) benchmark.Task {
		return benchmark.Task{ID: "math-" + id, Prompt: prompt, Answer: answer, Scorer: "math"}
	}
	return []benchmark.Task{
		problem("product", "A warehouse has 347 shelves, and on every shelf stand 286 jars. How many jars is that?", "99242"),
		problem("remainder", "What remainder does $7^{100}$ leave on division by 13?", "9"),
		problem("even-sum", "Add up the first 500 even numbers, beginning with 2.", "250500"),
		problem("digits", "How many digits has $2^{200}$ in decimal notation?", "61"),
		problem("zeros", "How many zeros stand at the end of $125!$ in decimal notation?", "31"),
		problem("choose", "Five of 18 rowers go to the race. How many different crews are possible, if seats do not matter?", "8568"),
		problem("divisor", "What is the greatest whole number that divides both 4368 and 2772?", "84"),
		problem("fraction", `Write $\frac{5}{12}+\frac{7}{18}-\frac{1}{4}$ as a fraction in lowest terms.`, `\frac{5}{9}`),
		problem("linear", "For which $x$ is $7x+11=3x-4$?", `-\frac{15}{4}`),
		problem("dice", "Two fair dice are thrown. How probable is it that the product of their numbers is a multiple of 6? Give a fraction in lowest terms.", `\frac{5}{12}`),
		problem("discount", "A lamp costs 46 coins. Its price falls by $12.5\\%$. What is the new price, in coins, as a decimal number?", "40.25"),
		problem("diagonal", "A rectangle is 4 wide and 10 high. How long is its diagonal? Give the exact value, the root simplified.", `2\sqrt{29}`),
		problem("roots", `Simplify $\sqrt{75}+\sqrt{48}-\sqrt{12}$.`, `7\sqrt{3}`),
		problem("ring", "Two circles with radii 9 and 5 have the same centre. What is the area of the ring between them? Give the exact value.", `56\pi`),
		problem("zeros-of-cubic", "Give the set of all real $x$ with $x^3-4x^2-7x+10=0$.", `\{-2,1,5\}`),
		problem("system", "Which pair $(x,y)$ satisfies both $3x+2y=16$ and $5x-y=5$?", "(2,5)"),
		problem("interval", "Which interval is the set of all real $x$ with $|2x-3|\\le 7$?", "[-2,5]"),
		problem("expand", "Multiply out and collect the terms: $(x+3)(x-5)+(x-2)^2$.", "2x^2-6x-11"),
		problem("line", "A line passes through the points $(2,-1)$ and $(6,7)$. Give its equation in the form $y=mx+c$, with numbers for $m$ and $c$.", "y=2x-5"),
		problem("complex", "With $i^2=-1$, write $(3+2i)(1-4i)$ in the form $a+bi$.", "11-10i"),
		problem("base", "Write the decimal number 201 in base 6, with the base as a subscript.", "533_6"),
	}
}

// openQuestions have short answers that can be put in many ways, so that a
// judge must compare.
func openQuestions() []benchmark.Task {
	question := func(id, prompt, answer string) benchmark.Task {
		return benchmark.Task{ID: "judge-" + id, Prompt: prompt, Answer: answer, Scorer: "judge"}
	}
	return []benchmark.Task{
		question("leaves", "Which gas do the leaves of plants take from the air to make sugar of it?", "Carbon dioxide"),
		question("mountain", "Why does water boil at a lower temperature on a high mountain than by the sea?", "Because the air pressure is lower there"),
		question("moon", "What keeps the Moon on its path around the Earth?", "The gravity of the Earth"),
		question("board", "How many squares of any size can be found along the lines of an ordinary chessboard?", "204"),
		question("planet", "Which planet of the Solar System has the greatest mass?", "Jupiter"),
		question("heart", "How many chambers has a human heart?", "Four"),
		question("coin", "A fair coin has shown heads ten times in a row. How probable is it that the next toss shows heads?", "One half"),
		question("ice", "An ice cube floats in a glass that is full of water to the brim. What does the level of the water do while the ice melts?", "It stays the same"),
		question("sorting", "What is the usual name of the method that sorts a list by cutting it in the middle, sorting both halves, and joining them in order?", "Merge sort"),
		question("river", "Which river flows through Vienna, Budapest and Belgrade?", "The Danube"),
		question("thunder", "Why is a distant stroke of lightning seen before its thunder is heard?", "Because light travels faster than sound"),
		question("century", "The number 1900 can be divided by four, and yet the year was not a leap year in the Gregorian calendar. Why?", "Because a year that ends a century is a leap year only if 400 divides it"),
	}
}

// stdinProblems are programs that read their input and print a result. What
// they must print is computed here.
func stdinProblems() []benchmark.Task {
	problem := func(id, prompt string, solve func(input string) string, inputs ...string) benchmark.Task {
		task := benchmark.Task{ID: "code-" + id, Prompt: prompt, Scorer: "code"}
		for _, input := range inputs {
			task.Tests = append(task.Tests, benchmark.Test{Kind: "stdin", Input: input, Output: solve(input)})
		}
		return task
	}
	return []benchmark.Task{
		problem("squares", "The first line of the input is a whole number n, the second has n whole numbers with blanks between them. Print the sum of the squares of these n numbers. For n = 0 the second line is empty and the sum is 0.",
			sumOfSquares, "3\n1 2 3\n", "0\n\n", "4\n-5 0 5 100\n", "2\n3000000000 4000000000\n"),
		problem("words", "The input is one line of words in small letters with a blank between any two. Print every different word once with the number of times that it occurs, as \"word number\", a line for each, sorted by word.",
			wordCounts, "the cat and the dog\n", "a\n", "b a b a c b\n", "to be or not to be\n"),
		problem("brackets", "The input is one line made of the characters ( ) [ ] { and }. Print \"yes\" if every bracket is closed by one of its own kind in the right order, and \"no\" otherwise.",
			balanced, "([]{})\n", "([)]\n", "(((\n", "}{\n", "{[()()]}[]\n"),
		problem("runs", "The input is one line of letters. Replace every longest run of one letter by its length followed by the letter, and print the result. For \"aaab\" that is \"3a1b\".",
			runLengths, "aaab\n", "z\n", "abcabc\n", "AAAAAAAAAAAAaa\n"),
		problem("path", "The first line of the input has the height h and the width w of a grid, and each of the next h lines w whole numbers. A path starts in the top left cell, steps only right or down, and ends in the bottom right cell. Print the smallest possible sum of the numbers on a path, both ends included.",
			cheapestPath, "1 1\n7\n", "2 3\n1 9 1\n1 1 1\n", "3 3\n5 1 1\n9 9 1\n1 1 1\n", "2 2\n-1 -2\n-3 -4\n"),
		problem("calendar", "The input is one line with a number of minutes since midnight, possibly more than a day's or negative. Print the time of day as HH:MM with two digits each.",
			timeOfDay, "0\n", "61\n", "1439\n", "1440\n", "-1\n", "10000\n"),
	}
}

// integers reads the whole numbers of a text. It is for the inputs above.
func integers(text string) []int {
	var numbers []int
	for _, field := range strings.Fields(text) {
		n, err := strconv.Atoi(field)
		if err != nil {
			panic(err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func sumOfSquares(input string) string {
	total := new(big.Int) // the last input leaves the range of 64 bits
	for _, n := range integers(input)[1:] {
		square := big.NewInt(int64(n))
		total.Add(total, square.Mul(square, square))
	}
	return fmt.Sprintln(total)
}

func wordCounts(input string) string {
	counts := map[string]int{}
	for _, word := range strings.Fields(input) {
		counts[word]++
	}
	text := ""
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintln(word, counts[word])
	}
	return text
}

func balanced(input string) string {
	// Pairs that touch can be taken out, as long as there are any.
	rest := strings.TrimSpace(input)
	for range len(rest) {
		rest = strings.NewReplacer("()", "", "[]", "", "{}", "").Replace(rest)
	}
	if rest == "" {
		return "yes\n"
	}
	return "no\n"
}

func runLengths(input string) string {
	text, word := "", strings.TrimSpace(input)
	for start := 0; start < len(word); {
		end := start
		for end < len(word) && word[end] == word[start] {
			end++
		}
		text += fmt.Sprintf("%d%c", end-start, word[start])
		start = end
	}
	return text + "\n"
}

func cheapestPath(input string) string {
	numbers := integers(input)
	height, width, cells := numbers[0], numbers[1], numbers[2:]
	best := make([]int, height*width)
	for i := range best {
		var before []int
		if i >= width {
			before = append(before, best[i-width])
		}
		if i%width > 0 {
			before = append(before, best[i-1])
		}
		best[i] = cells[i]
		if len(before) > 0 {
			best[i] += slices.Min(before)
		}
	}
	return fmt.Sprintln(best[len(best)-1])
}

func timeOfDay(input string) string {
	const day = 24 * 60
	minutes := (integers(input)[0]%day + day) % day
	return fmt.Sprintf("%02d:%02d\n", minutes/60, minutes%60)
}
