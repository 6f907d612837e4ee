// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

func TestFailuresHaveOneEntryForEachName(t *testing.T) {
	failures := merged([]v1alpha1.SecretFailure{
		{Name: "settings.json", Reason: v1alpha1.ReasonSourceMissing, Message: "one"},
		{Name: "a", Reason: v1alpha1.ReasonSourceInvalid, Message: "two"},
		{Name: "settings.json", Reason: v1alpha1.ReasonSecretsUnreadable, Message: "three"},
	})
	want := []v1alpha1.SecretFailure{
		{Name: "a", Reason: v1alpha1.ReasonSourceInvalid, Message: "two"},
		{Name: "settings.json", Reason: v1alpha1.ReasonSourceMissing, Message: "one; three"},
	}
	if diff := cmp.Diff(want, failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestUnreadableSecretsAreNamedUpToALimit(t *testing.T) {
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprintf("S_%02d", i)
	}
	failures := unreadable(secretstore.Listing{}, names)
	if len(failures) != maxUnreadable || !strings.HasSuffix(failures[maxUnreadable-1].Message, "and 8 more") {
		t.Errorf("%d failures, the last is %+v", len(failures), failures[len(failures)-1])
	}
	if failures := unreadable(secretstore.Listing{}, names[:maxUnreadable]); len(failures) != maxUnreadable || strings.Contains(failures[maxUnreadable-1].Message, "more") {
		t.Errorf("%d failures, the last is %+v", len(failures), failures[len(failures)-1])
	}
}

func TestTheOrderOfAStoredReportIsNoChange(t *testing.T) {
	stored := &v1alpha1.SecretsStatus{Missing: []string{"B", "A"}, Failures: []v1alpha1.SecretFailure{{Name: "y"}, {Name: "x"}}}
	after := &v1alpha1.SecretsStatus{Missing: []string{"A", "B"}, Failures: []v1alpha1.SecretFailure{{Name: "x"}, {Name: "y"}}}
	if !same(stored, after) {
		t.Error("they are not the same")
	}
	if after.Count = 1; same(stored, after) || same(nil, &v1alpha1.SecretsStatus{}) {
		t.Error("they are the same")
	}
}

func TestOld(t *testing.T) {
	key := func(a envelope.Algorithm, version uint32) secretstore.Entry {
		id := envelope.KeyID{Algorithm: a, Version: version}
		return secretstore.Entry{Name: id.String(), Key: id}
	}
	l := secretstore.Listing{Entries: []secretstore.Entry{
		key(envelope.AlgorithmLocal, 1), key(envelope.AlgorithmLocal, 2), key(envelope.AlgorithmLocal, 3), key(envelope.AlgorithmTransit, 9), {Name: "damaged"},
	}}
	var names []string
	for _, e := range old(l, envelope.KeyID{Algorithm: envelope.AlgorithmLocal, Version: 2}) {
		names = append(names, e.Name)
	}
	if diff := cmp.Diff([]string{"local:1", "transit:9", "damaged"}, names, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("old (-want +got):\n%s", diff)
	}
}
