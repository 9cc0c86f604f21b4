package serving

// Waiting is how many wait for any model.
func (s *Servers) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, waiting := range s.waiting {
		n += waiting
	}
	return n
}
