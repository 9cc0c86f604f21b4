package sandbox

import "context"

// gate lets a number of programs run side by side, and a test alone.
type gate struct {
	programs chan struct{} // a place for each that has been started
	tests    chan struct{} // a place for each that runs
	alone    chan struct{} // one place: to collect the places of tests
}

// take waits for a place.
func take(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shared calls do when no test waits to run alone.
func (g gate) shared(ctx context.Context, do func() error) error {
	if err := take(ctx, g.tests); err != nil {
		return err
	}
	defer func() { <-g.tests }()
	return do()
}

// byItself calls do when no test runs, and has others wait meanwhile.
func (g gate) byItself(ctx context.Context, do func() error) error {
	if err := take(ctx, g.alone); err != nil {
		return err
	}
	defer func() { <-g.alone }()
	for range cap(g.tests) {
		if err := take(ctx, g.tests); err != nil {
			return err
		}
		defer func() { <-g.tests }()
	}
	return do()
}
