package evaluation

import (
	"fmt"

	"speceval/method/estimate"
)

// SampleError is the error of a mean where the tasks are a sample of what they stand
// for, clusters of them where they have some. It does not vanish with the rollouts.
type SampleError struct {
	StandardErrorTasks float64    `json:"se_tasks"`
	IntervalTasks      [2]float64 `json:"interval_tasks"` // 95%
	Clusters           int        `json:"clusters"`       // independent draws: tasks, or clusters of them
	Clustered          bool       `json:"clustered"`
}

// OverTasks is that of an estimate. Shares and clusters are the tasks', or nil. It is
// the zero value where all tasks are of one cluster, of which nothing is known then.
func OverTasks(m estimate.Mean, shares []float64, clusters []string) (SampleError, error) {
	if one(clusters) {
		return SampleError{Clusters: 1, Clustered: true}, nil
	}
	o, err := m.Sample(shares, clusters).Mean()
	if err != nil {
		return SampleError{}, err
	}
	return SampleError{o.StandardError, [2]float64{o.Low, o.High}, o.Clusters, len(clusters) > 0}, nil
}

func one(clusters []string) bool {
	for _, c := range clusters {
		if c != clusters[0] {
			return false
		}
	}
	return len(clusters) > 0
}

// Words are what it says, for people.
func (e SampleError) Words() string {
	if e.Clusters < 2 {
		return "all tasks are of one cluster: what they stand for cannot be told from them"
	}
	return fmt.Sprintf("± %.4f, %.4f to %.4f, for what these %d %s are a sample of", e.StandardErrorTasks, e.IntervalTasks[0], e.IntervalTasks[1], e.Clusters, draws(e.Clustered))
}

// draws is what is drawn of what tasks are a sample of.
func draws(clustered bool) string {
	if clustered {
		return "clusters"
	}
	return "tasks"
}

// Shares are the weights of the tasks in the mean; nil where all are alike.
func (r *Result) Shares() (shares []float64) {
	for _, t := range r.Rows {
		if t.Share != 0 {
			shares = append(shares, t.Share)
		}
	}
	return shares
}

// ClusterOf is the clusters of the tasks; nil where every task is its own.
func (r *Result) ClusterOf() (clusters []string) {
	for _, t := range r.Rows {
		if t.Cluster != "" {
			clusters = append(clusters, t.Cluster)
		}
	}
	return clusters
}
