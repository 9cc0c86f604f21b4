// Package algebra reports whether two expressions have the same value: exactly
// where arithmetic with big rational numbers can, else numerically at several
// points to high precision, always within a bounded effort.
package algebra
