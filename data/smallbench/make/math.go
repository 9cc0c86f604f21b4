package main

import "speceval/internal/benchmark"

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
