// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package must ends a test at an error that is not the subject of the test.
package must

import "testing"

// Succeed fails the test if there is an error.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value returns a function that returns v, or fails the test if there is an error. The
// test is the argument of a second call, so that the first one takes the results of
// another function:
//
//	key := must.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
func Value[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Succeed(t, err)
		return v
	}
}

// Values is Value for functions with two results and an error.
func Values[T, U any](v T, w U, err error) func(testing.TB) (T, U) {
	return func(t testing.TB) (T, U) {
		t.Helper()
		Succeed(t, err)
		return v, w
	}
}
