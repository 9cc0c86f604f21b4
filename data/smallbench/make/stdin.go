package main

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/benchmark"
)

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
