// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATestSleepsInBubblesOnly(t *testing.T) {
	const found = "hack/x/a_test.go:4: a test sleeps: wait for a state (test/wait), or sleep in a bubble of testing/synctest"
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"a sleep":                       {"time.Sleep(d)", []string{found}},
		"a sleep of a loop":             {"for ; !ok(); time.Sleep(d) {}", []string{found}},
		"a sleep beside a bubble":       {"synctest.Test(t, func(t *testing.T) { synctest.Wait() }); time.Sleep(d)", []string{found}},
		"a sleep around a wait":         {"go func() { synctest.Wait() }(); time.Sleep(d)", []string{found}},
		"a sleep in a case of a select": {"select { case <-c: time.Sleep(d) }", []string{found}},
		"a timer as a sleep":            {"<-time.After(d)", []string{found}},
		"a timer as a limit":            {"select { case <-c: case <-time.After(d): }", nil},
		"a sleep in a bubble":           {"synctest.Test(t, func(t *testing.T) { go func() { time.Sleep(d) }(); <-time.After(d) })", nil},
		"a sleep beside a wait":         {"time.Sleep(d); synctest.Wait()", nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := readModule(write(t, map[string]string{
				"hack/x/a_test.go":              "//go:build e2e\n\npackage x\nfunc Test(t *testing.T) { " + test.body + " }\n",
				"test/load/a_test.go":           "package load\nfunc Test(t *testing.T) { <-time.After(d) }\n",
				"test/node_modules/x/a_test.go": "package x\nfunc Test(t *testing.T) { time.Sleep(d) }\n",
			}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, m.problems()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
