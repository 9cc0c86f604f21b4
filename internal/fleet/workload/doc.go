// Package workload is what the simulated fleet knows of the published runs: how
// fast each model's replicas step, and how long the answers of each profile's
// tasks are. Its parameters were fitted to published measurements; the page
// beside the data says which, and how well.
package workload
