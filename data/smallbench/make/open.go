package main

import "speceval/internal/benchmark"

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
