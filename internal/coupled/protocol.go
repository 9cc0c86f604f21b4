package coupled

import "encoding/json"

// Protocol is all of a setting that its rollouts may depend on, but for the
// policy: the policies of a setting share identities and seeds.
type Protocol struct {
	Profile   string // digest of the profile, as for its rewards
	Budget    int    // b, average rollouts per task
	Reference int    // of a Uniform run at an equivalent budget: the budget of the HBN run that it equals; 0 for any other run
	Pilots    int    // m, pilot rollouts per task
	Seed      uint64 // master seed

	// Sampling is how a rollout is generated, by name: temperature, token
	// limits, what is special about the model.
	Sampling map[string]string
}

// Fingerprint is the name of the setting in identities: 64 hex digits that
// change with everything in the protocol, and with nothing else.
func (p Protocol) Fingerprint() string {
	content, err := json.Marshal(struct {
		Form string
		Protocol
	}{"protocol/1", p})
	if err != nil { // strings and integers always marshal
		panic(err)
	}
	return digest(content)
}
