package conformance

// accepted lists in which checks the imitation may differ from a real server,
// and why.
var accepted = []struct{ check, reason string }{}

// Accepted is the reason why the imitation may differ in a check from a real
// server, "" where it may not.
func Accepted(check string) string {
	for _, a := range accepted {
		if a.check == check {
			return a.reason
		}
	}
	return ""
}
