package main

import (
	"encoding/json"
	"strings"

	"speceval/internal/benchmark"
)

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
