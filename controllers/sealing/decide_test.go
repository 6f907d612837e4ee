// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// ref returns a reference to a Secret with these keys, as KEY or KEY=NAME.
func ref(secret string, keys ...string) v1alpha1.SecretRef {
	r := v1alpha1.SecretRef{Name: secret}
	for _, k := range keys {
		key, as, _ := strings.Cut(k, "=")
		r.Keys = append(r.Keys, v1alpha1.SecretRefKey{Key: key, As: v1alpha1.SecretName(as)})
	}
	return r
}

func deleting(r v1alpha1.SecretRef) v1alpha1.SecretRef {
	r.DeleteSource = true
	return r
}

// read returns a Secret at a version with data as KEY=VALUE.
func read(version string, data ...string) source {
	s := source{UID: "uid", ResourceVersion: version, Data: map[string][]byte{}}
	for _, d := range data {
		key, value, _ := strings.Cut(d, "=")
		s.Data[key] = []byte(value)
	}
	return s
}

func own(name string) secretstore.Entry { return secretstore.Entry{Name: name} }

// from returns a secret that came from a key of a Secret at a version.
func from(name, secret, key, version string) secretstore.Entry {
	return secretstore.Entry{Name: name, Source: &secretstore.Source{Secret: secret, Key: key, UID: "uid", ResourceVersion: version}}
}

// kept is from, of a Secret that was deleted after sealing.
func kept(name, secret, key, version string) secretstore.Entry {
	e := from(name, secret, key, version)
	e.Source.Deleted = true
	return e
}

type refs = []v1alpha1.SecretRef

type stored = []secretstore.Entry

type sources = map[string]source

var two = allowance{Tier: "small", Secrets: ptr.To[int32](2)}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		refs    refs
		sources sources
		stored  stored
		opened  map[string]string
		lost    bool
		allowed allowance
		// What comes of it: compare are the names to open, changes as one line
		// for each, failures as Secret: reason: part of the message.
		compare, changes, failures, delete []string
	}{
		"without references nothing happens": {stored: stored{own("A")}},
		"a listed key is sealed under its own name": {
			refs: refs{ref("s", "A")}, sources: sources{"s": read("1", "A=x", "B=y")},
			changes: []string{"set A=x from s/A@1"},
		},
		"a key is sealed under another name": {
			refs: refs{ref("s", "token=A")}, sources: sources{"s": read("1", "token=x")},
			changes: []string{"set A=x from s/token@1"},
		},
		"one key is sealed under two names": {
			refs: refs{ref("s", "token=A", "token=B")}, sources: sources{"s": read("1", "token=x")},
			changes: []string{"set A=x from s/token@1", "set B=x from s/token@1"},
		},
		"without a list all keys are sealed": {
			refs: refs{ref("s")}, sources: sources{"s": read("1", "B=y", "A=x")},
			changes: []string{"set A=x from s/A@1", "set B=y from s/B@1"},
		},
		"an empty value is a value": {
			refs: refs{ref("s", "A")}, sources: sources{"s": {UID: "uid", ResourceVersion: "1", Data: map[string][]byte{"A": nil}}},
			changes: []string{"set A= from s/A@1"},
		},
		"what is sealed of this state is left alone": {
			refs: refs{ref("s", "A")}, sources: sources{"s": read("1", "A=x")}, stored: stored{from("A", "s", "A", "1")},
		},
		"a changed value is sealed anew": {
			refs: refs{ref("s", "A")}, sources: sources{"s": read("2", "A=y")}, stored: stored{from("A", "s", "A", "1")},
			opened: map[string]string{"A": "x"}, compare: []string{"A"},
			changes: []string{"set A=y from s/A@2"},
		},
		"an unchanged value is not sealed again": {
			refs: refs{ref("s", "A")}, sources: sources{"s": read("2", "A=x")}, stored: stored{from("A", "s", "A", "1")},
			opened: map[string]string{"A": "x"}, compare: []string{"A"},
			changes: []string{"note A from s/A@2"},
		},
		"what does not open is sealed anew": {
			refs: refs{ref("s", "A")}, sources: sources{"s": read("2", "A=x")}, stored: stored{from("A", "s", "A", "1")},
			compare: []string{"A"},
			changes: []string{"set A=x from s/A@2"},
		},
		"without a salt all is sealed anew, changed or not": {
			refs: refs{ref("s"), ref("u")}, sources: sources{"s": read("2", "A=x"), "u": read("1", "B=y")}, lost: true,
			stored:  stored{from("A", "s", "A", "1"), from("B", "u", "B", "1")},
			compare: []string{"A"},
			changes: []string{"set A=x from s/A@2", "set B=y from u/B@1"},
		},
		"a name moves to another Secret": {
			refs: refs{ref("u", "A")}, sources: sources{"u": read("1", "A=x")}, stored: stored{from("A", "s", "A", "1")},
			opened: map[string]string{"A": "x"}, compare: []string{"A"},
			changes: []string{"note A from u/A@1"},
		},
		"a removed reference takes what it sealed along": {
			stored: stored{from("A", "s", "A", "1"), own("B")}, changes: []string{"remove A"},
		},
		"a removed key takes what it sealed along": {
			refs: refs{ref("s", "B")}, sources: sources{"s": read("1", "A=x", "B=y")},
			stored:  stored{from("A", "s", "A", "1"), from("B", "s", "B", "1")},
			changes: []string{"remove A"},
		},
		"a renamed key takes the old name along": {
			refs: refs{ref("s", "A=B")}, sources: sources{"s": read("1", "A=x")}, stored: stored{from("A", "s", "A", "1")},
			changes: []string{"remove A", "set B=x from s/A@1"},
		},
		"without a list, a key that is gone is removed": {
			refs: refs{ref("s")}, sources: sources{"s": read("1", "A=x")},
			stored:  stored{from("A", "s", "A", "1"), from("B", "s", "B", "0")},
			changes: []string{"remove B"},
		},
		"a Secret that vanished leaves what was sealed": {
			refs: refs{ref("s", "A"), ref("u")}, stored: stored{from("A", "s", "A", "1"), from("B", "u", "B", "1")},
			failures: []string{"s: SourceMissing: does not exist", "u: SourceMissing: does not exist"},
		},
		"a Secret that was emptied leaves what was sealed": {
			refs: refs{ref("s")}, sources: sources{"s": read("2")}, stored: stored{from("A", "s", "A", "1")},
			failures: []string{"s: SourceMissing: has no keys"},
		},
		"a listed key that vanished leaves what was sealed": {
			refs: refs{ref("s", "A", "B")}, sources: sources{"s": read("1", "B=y")},
			stored:   stored{from("A", "s", "A", "0"), from("B", "s", "B", "1")},
			failures: []string{`s: SourceMissing: has no key "A"`},
		},
		"a refused Secret leaves what was sealed": {
			refs: refs{ref("s")}, sources: sources{"s": {Refused: "because"}}, stored: stored{from("A", "s", "A", "1")},
			failures: []string{"s: SourceInvalid: because"},
		},
		"a key that is no name is said and the others are sealed": {
			refs: refs{ref("s")}, sources: sources{"s": read("1", "lower=x", "A=y", ".hidden=z")},
			changes:  []string{"set A=y from s/A@1"},
			failures: []string{`s: SourceInvalid: key ".hidden" cannot be the name of a secret`},
		},
		"a value that is too large leaves what was sealed": {
			refs: refs{ref("s", "A")}, sources: sources{"s": read("2", "A="+strings.Repeat("x", envelope.MaxPlaintext+1))}, stored: stored{from("A", "s", "A", "1")},
			failures: []string{"s: SourceInvalid: 65537 bytes"},
		},
		"a value that is just not too large is sealed": {
			refs: refs{ref("s", "A")}, sources: sources{"s": read("1", "A="+strings.Repeat("x", envelope.MaxPlaintext))},
			changes: []string{"set A=" + strings.Repeat("x", envelope.MaxPlaintext) + " from s/A@1"},
		},
		"of two that give one name the first wins": {
			refs: refs{ref("s", "A"), ref("u", "token=A", "B")}, sources: sources{"s": read("1", "A=x"), "u": read("1", "token=y", "B=z")},
			changes:  []string{"set A=x from s/A@1", "set B=z from u/B@1"},
			failures: []string{"u: SourceInvalid: A is given more than once"},
		},
		"the first wins even while it has no value": {
			refs: refs{ref("s", "A"), ref("u", "A")}, sources: sources{"u": read("1", "A=y")},
			failures: []string{"s: SourceMissing: does not exist", "u: SourceInvalid: A is given more than once"},
		},
		"the first, without a list and vanished, keeps what it gave": {
			refs: refs{ref("s"), ref("u", "A")}, sources: sources{"u": read("1", "A=y")}, stored: stored{from("A", "s", "A", "1")},
			failures: []string{"s: SourceMissing: does not exist", "u: SourceInvalid: A is given more than once"},
		},
		"what the user set is not replaced": {
			refs: refs{ref("s", "A", "B")}, sources: sources{"s": read("1", "A=x", "B=y")}, stored: stored{own("A")},
			changes:  []string{"set B=y from s/B@1"},
			failures: []string{"s: SourceInvalid: A was set by the user and is not replaced"},
		},
		"a tier's limit is filled in the order of the spec": {
			refs: refs{ref("s", "B", "A"), ref("u", "C")}, sources: sources{"s": read("1", "A=x", "B=y"), "u": read("1", "C=z")},
			stored: stored{own("Z")}, allowed: two,
			changes:  []string{"set B=y from s/B@1"},
			failures: []string{`s: TierLimitExceeded: A is not sealed: the tier "small" allows 2 secrets`, "u: TierLimitExceeded: C is not sealed"},
		},
		"what is removed makes room within a tier's limit": {
			refs: refs{ref("s", "C")}, sources: sources{"s": read("1", "C=z")}, allowed: two,
			stored:  stored{from("A", "s", "A", "1"), own("B")},
			changes: []string{"remove A", "set C=z from s/C@1"},
		},
		"a tier's limit removes nothing and holds up no change of what is stored": {
			refs: refs{ref("s")}, sources: sources{"s": read("2", "A=x", "B=y", "C=z")}, allowed: two,
			stored:  stored{from("A", "s", "A", "1"), from("B", "s", "B", "1"), from("C", "s", "C", "1")},
			compare: []string{"A", "B", "C"},
			changes: []string{"set A=x from s/A@2", "set B=y from s/B@2", "set C=z from s/C@2"},
		},
		"in an unknown tier nothing new is sealed": {
			refs: refs{ref("s", "A", "B")}, sources: sources{"s": read("1", "A=x", "B=y")}, stored: stored{from("A", "s", "A", "1")},
			allowed:  allowance{Tier: "gold", Unknown: true},
			failures: []string{`s: TierLimitExceeded: B is not sealed: the tier "gold" does not exist`},
		},
		"a source to delete is deleted with what it gives sealed": {
			refs: refs{deleting(ref("s"))}, sources: sources{"s": read("1", "A=x")},
			changes: []string{"set A=x from s/A@1 deleted"}, delete: []string{"s"},
		},
		"a source that was sealed before is deleted when the spec says so later": {
			refs: refs{deleting(ref("s"))}, sources: sources{"s": read("1", "A=x")}, stored: stored{from("A", "s", "A", "1")},
			changes: []string{"note A from s/A@1 deleted"}, delete: []string{"s"},
		},
		"a deletion that was cut off is made up for": {
			refs: refs{deleting(ref("s"))}, sources: sources{"s": read("1", "A=x")}, stored: stored{kept("A", "s", "A", "1")},
			delete: []string{"s"},
		},
		"a source on its way out is not deleted again": {
			refs: refs{deleting(ref("s"))}, sources: sources{"s": {UID: "uid", ResourceVersion: "2", Deleting: true, Data: map[string][]byte{"A": []byte("x")}}},
			stored: stored{kept("A", "s", "A", "2")},
		},
		"a source of which not everything is sealed is not deleted": {
			refs: refs{deleting(ref("s", "A", "B"))}, sources: sources{"s": read("1", "A=x")},
			changes:  []string{"set A=x from s/A@1"},
			failures: []string{`s: SourceMissing: has no key "B"`},
		},
		"a source that exceeds the tier's limit is not deleted": {
			refs: refs{deleting(ref("s"))}, sources: sources{"s": read("1", "A=x", "B=y", "C=z")}, allowed: two,
			changes:  []string{"set A=x from s/A@1", "set B=y from s/B@1"},
			failures: []string{"s: TierLimitExceeded: C is not sealed"},
		},
		"a refused source is not deleted": {
			refs: refs{deleting(ref("s"))}, sources: sources{"s": {Refused: "because"}},
			failures: []string{"s: SourceInvalid: because"},
		},
		"a source without keys is not deleted": {
			refs: refs{deleting(ref("s"))}, sources: sources{"s": read("1")},
			failures: []string{"s: SourceMissing: has no keys"},
		},
		"a source that was deleted is not missed": {
			refs: refs{deleting(ref("s", "A")), ref("u")}, stored: stored{kept("A", "s", "A", "1"), kept("B", "u", "B", "1")},
		},
		"a key that was added after the source was deleted is missed": {
			refs: refs{deleting(ref("s", "A", "B"))}, stored: stored{kept("A", "s", "A", "1")},
			failures: []string{"s: SourceMissing: does not exist"},
		},
		"what the user set in place of a deleted source is theirs": {
			refs: refs{deleting(ref("s", "A", "B"))}, stored: stored{own("A"), kept("B", "s", "B", "1")},
		},
		"a source that was made anew replaces what it gave and is deleted again": {
			refs: refs{deleting(ref("s"))}, sources: sources{"s": read("7", "A=y")}, stored: stored{kept("A", "s", "A", "1"), kept("B", "s", "B", "1")},
			opened: map[string]string{"A": "x"}, compare: []string{"A"},
			changes: []string{"set A=y from s/A@7 deleted"}, delete: []string{"s"},
		},
		"a source that was made anew need not have every listed key": {
			refs: refs{deleting(ref("s", "A", "B"))}, sources: sources{"s": read("7", "A=y")}, stored: stored{kept("A", "s", "A", "1"), kept("B", "s", "B", "1")},
			compare: []string{"A"},
			changes: []string{"set A=y from s/A@7 deleted"}, delete: []string{"s"},
		},
		"what a deleted source gave stays as the user's own": {
			stored: stored{kept("A", "s", "A", "1"), from("B", "u", "B", "1")}, changes: []string{"release A", "remove B"},
		},
		"what stays as the user's own is not replaced by another reference": {
			refs: refs{ref("u", "A")}, sources: sources{"u": read("1", "A=y")}, stored: stored{kept("A", "s", "A", "1")},
			changes:  []string{"release A"},
			failures: []string{"u: SourceInvalid: A was set by the user"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := observed{
				Refs: c.refs, Sources: c.sources, Allowed: c.allowed, Listing: secretstore.Listing{Entries: c.stored},
				Stored: map[string][]byte{}, Lost: c.lost,
			}
			empty := cmpopts.EquateEmpty()
			if diff := cmp.Diff(c.compare, outdated(o), empty); diff != "" {
				t.Errorf("to be compared (-want +got):\n%s", diff)
			}
			for name, value := range c.opened {
				o.Stored[name] = []byte(value)
			}
			d := decide(o)
			if diff := cmp.Diff(c.changes, spellChanges(d.Changes), empty); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.delete, d.Delete, empty); diff != "" {
				t.Errorf("deletions (-want +got):\n%s", diff)
			}
			expectFailures(t, d.Failures, c.failures)
		})
	}
}

// expectFailures compares failures with "name: reason: part of the message".
func expectFailures(t *testing.T, got []v1alpha1.SecretFailure, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("failures %+v, want %q", got, want)
		return
	}
	for i, f := range got {
		part := strings.SplitN(want[i], ": ", 3)
		if f.Name != part[0] || f.Reason != part[1] || !strings.Contains(f.Message, part[2]) {
			t.Errorf("failure %+v, want %q", f, want[i])
		}
	}
}

func spellChanges(changes []secretstore.Change) []string {
	var lines []string
	for _, c := range changes {
		line := "note " + c.Name
		switch {
		case c.Delete:
			line = "remove " + c.Name
		case c.Value != nil:
			line = "set " + c.Name + "=" + string(c.Value)
		case c.Source == nil:
			line = "release " + c.Name
		}
		if s := c.Source; s != nil {
			line += fmt.Sprintf(" from %s/%s@%s", s.Secret, s.Key, s.ResourceVersion)
			if s.Deleted {
				line += " deleted"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestADecisionThatIsStoredLeavesNothingToDo(t *testing.T) {
	o := observed{
		Refs:    refs{ref("s", "token=A"), deleting(ref("u")), ref("gone")},
		Sources: sources{"s": read("3", "token=x"), "u": read("4", "B=y")},
		Listing: secretstore.Listing{Entries: stored{kept("K", "gone", "K", "1")}},
	}
	after := o
	for _, c := range decide(o).Changes {
		after.Listing.Entries = append(after.Listing.Entries, secretstore.Entry{Name: c.Name, Source: c.Source})
	}
	if changes := spellChanges(decide(after).Changes); len(changes) > 0 || len(outdated(after)) > 0 {
		t.Errorf("changes %q, to be compared %q", changes, outdated(after))
	}
}

func TestAFailureSpellsOutTheFirstProblemsOnly(t *testing.T) {
	o := observed{Refs: refs{ref("s")}, Sources: sources{"s": read("1", "a=", "b=", "c=", "d=", "e=")}}
	d := decide(o)
	if len(d.Failures) != 1 || !strings.Contains(d.Failures[0].Message, "and 2 more") || strings.Contains(d.Failures[0].Message, `"d"`) {
		t.Errorf("failures %+v", d.Failures)
	}
}

func TestMissing(t *testing.T) {
	server := func(secrets []v1alpha1.SecretName, headers ...string) v1alpha1.Server {
		s := v1alpha1.Server{Secrets: secrets}
		for _, h := range headers {
			s.Transport.Headers = append(s.Transport.Headers, v1alpha1.Header{Value: h})
		}
		return s
	}
	names := func(n ...v1alpha1.SecretName) []v1alpha1.SecretName { return n }
	for name, c := range map[string]struct {
		servers []v1alpha1.Server
		stored  stored
		want    []string
	}{
		"nothing is granted":                         {servers: []v1alpha1.Server{server(nil)}},
		"what is stored is not missing":              {servers: []v1alpha1.Server{server(names("A"), "${A}")}, stored: stored{own("A")}},
		"what a header needs is missing":             {servers: []v1alpha1.Server{server(names("A"), "Bearer ${A}")}, want: []string{"A"}},
		"what no header uses is missing":             {servers: []v1alpha1.Server{server(names("A"))}, want: []string{"A"}},
		"what has a default is not missing":          {servers: []v1alpha1.Server{server(names("A"), "${A:-d}")}},
		"a default in one header is not one for all": {servers: []v1alpha1.Server{server(names("A"), "${A:-d}", "${A}")}, want: []string{"A"}},
		"a default of one server is not another's": {
			servers: []v1alpha1.Server{server(names("A"), "${A:-d}"), server(names("A"), "${A}")}, want: []string{"A"},
		},
		"a header that cannot be read uses nothing": {servers: []v1alpha1.Server{server(names("A"), "${A")}, want: []string{"A"}},
		"names come once and in order": {
			servers: []v1alpha1.Server{server(names("B", "A")), server(names("C", "A"))}, stored: stored{own("C")}, want: []string{"A", "B"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, missing(effective.Of(&v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{Servers: c.servers}}), c.stored), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}
