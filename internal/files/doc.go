// Package files opens files with care: those that a user or a configuration names
// (input.go), those that this program made earlier (own.go), and the records of their
// bytes by which a later change is noticed (digest.go).
package files
