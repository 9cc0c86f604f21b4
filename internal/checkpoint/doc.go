// Package checkpoint holds the shapes of the paper's checkpoints, as model folders
// without weights: what a vLLM server needs to serve a model of the same size
// whose answers are noise (--load-format dummy). A step of such a server takes as
// long as one of the checkpoint's.
package checkpoint
