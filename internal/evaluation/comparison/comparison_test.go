package comparison

import (
	"fmt"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/store/profile"
)

// file is a file of profiles, each "benchmark model tested_k passes…".
func file(t *testing.T, name string, lines ...string) File {
	t.Helper()
	text := "benchmark,model,task_index,task_id,pass_count,tested_k\n"
	for _, line := range lines {
		f := strings.Fields(line)
		for i, passes := range f[3:] {
			text += fmt.Sprintf("%s,%s,%d,t%d,%s,%s\n", f[0], f[1], i, i, passes, f[2])
		}
	}
	profiles, err := profile.Parse([]byte(text), "profiles.csv")
	if err != nil {
		t.Fatal(err)
	}
	return File{name, profiles}
}

func TestWhatDiffers(t *testing.T) {
	mine := file(t, "MINE",
		"quiz small 64 3 30 64 0", "quiz large 64 0 30 64 60",
		"exam small 64 40 50 31 44 20 60 38 40 41 39", "exam large 4 1 2", "mine small 8 1 2")
	other := file(t, "OTHER",
		"quiz small 1024 51 470 1019 9", "quiz large 1024 600 470 1019 1000",
		"exam small 1024 460 610 300 520 150 790 460 450 460 490", "exam large 1024 300 500 700")
	c, err := Of(mine, other)
	if err != nil || c.Differing() != 2 || len(c.Profiles) != 4 {
		t.Fatalf("%+v, %v", c, err)
	}
	for name, all := range map[string]bool{"compare.txt": false, "compare-all.txt": true} {
		var b strings.Builder
		if err := c.Text(&b, all); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, []byte(b.String()))
	}
}

// The more is compared, the more it takes to differ: 9 of 10 against 1 of 10 has
// p = 0.0011, which is held against 0.01/2 over the number of tasks, here 2, and
// of profiles.
func TestProfilesShareTheFalseAlarms(t *testing.T) {
	mine, other := []string{"quiz a 10 9 5"}, []string{"quiz a 10 1 5"}
	for _, want := range []int{1, 1, 0} {
		c, err := Of(file(t, "a", mine...), file(t, "b", other...))
		if err != nil || c.Differing() != want {
			t.Errorf("%d profiles: %v, %+v, want %d to differ", len(mine), err, c, want)
		}
		same := fmt.Sprintf("quiz b%d 10 5 5", len(mine))
		mine, other = append(mine, same), append(other, same)
	}
}

func TestNothingInCommon(t *testing.T) {
	_, err := Of(file(t, "a", "quiz m 8 1 2"), file(t, "b", "exam m 8 1 2", "exam n 8 1 2"))
	const want = "no benchmark and model is in both files:\na has 1 profile: quiz__model=m\nb has 2 profiles: exam__model=m, exam__model=n"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}
