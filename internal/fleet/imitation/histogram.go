package imitation

import (
	"slices"
	"strconv"
)

// Buckets of the real server's histograms.
var (
	firstTokenBuckets = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	tokenBuckets      = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestBuckets    = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	stepBuckets       = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	manyBuckets       = []float64{1, 2, 5, 10, 20}
)

// countBuckets are 1, 2, 5, 10, … up to most.
func countBuckets(most int) (buckets []float64) {
	for power := 1; ; power *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*power > most {
				return buckets
			}
			buckets = append(buckets, float64(m*power))
		}
	}
}

// histogram counts values in buckets.
type histogram struct {
	bounds []float64
	counts []uint64 // below the bounds, and above all at the end
	sum    float64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// observe counts a value n times.
func (h *histogram) observe(value float64, n int) {
	if n <= 0 {
		return
	}
	i, _ := slices.BinarySearch(h.bounds, value)
	h.counts[i] += uint64(n)
	h.sum += value * float64(n)
}

// appendTo writes the samples of a histogram in Prometheus's text form.
func (h *histogram) appendTo(b []byte, name, labels string) []byte {
	total := uint64(0)
	for i, n := range h.counts {
		total += n
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = decimal(h.bounds[i])
		}
		b = append(b, name+"_bucket{"+labels[:len(`engine="0",`)]+`le="`+bound+`",`+labels[len(`engine="0",`):]+"} "...)
		b = append(b, decimal(float64(total))+"\n"...)
	}
	b = append(b, name+"_count{"+labels+"} "+decimal(float64(total))+"\n"...)
	return append(b, name+"_sum{"+labels+"} "+decimal(h.sum)+"\n"...)
}

// decimal writes a number as Python does: always with a point or an exponent.
func decimal(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if v >= 1e-4 && v < 1e16 || v <= -1e-4 && v > -1e16 || v == 0 {
		text = strconv.FormatFloat(v, 'f', -1, 64)
		if v == float64(int64(v)) {
			text += ".0"
		}
	}
	return text
}
