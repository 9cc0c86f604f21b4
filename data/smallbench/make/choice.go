package main

import "speceval/internal/benchmark"

// choiceProblems have four to ten options, of which one follows a rule that
// can be checked.
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
