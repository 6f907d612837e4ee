// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package bridgestore

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func permit(*effective.Bridge) error { return nil }

// TestChoicesOutliveTheManifest makes choices with the rights of an ingress, and applies
// the manifest again in each way that there is.
func TestChoicesOutliveTheManifest(t *testing.T) {
	c := testenv.Client(t)
	installed(t, c)
	namespace := testenv.Namespace(t, c)
	manifest := func(tier string) v1alpha1.HostedBridgeSpec {
		return v1alpha1.HostedBridgeSpec{Tier: tier, Choices: &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "fixed", Use: v1alpha1.ChoiceOn}}}}
	}
	applied := func(tier string) {
		t.Helper()
		object := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "alice"}}
		must.Succeed(t, c.Patch(t.Context(), object, apply.Spec(manifest(tier)), client.FieldOwner("gitops"), client.ForceOwnership))
	}
	applied("free")
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "alice"}}
	testenv.ExpectExists(t, c, b)
	bridge := route.Backend{Namespace: namespace, Name: "alice", BridgeUID: b.UID}
	choices := &Choices{Client: asIngress(t)}
	set := func(server string, choice *selfservice.Choice) error {
		_, err := choices.Set(t.Context(), bridge, server, choice, permit)
		return err
	}
	expect := func(what string, want ...v1alpha1.ServerChoice) {
		t.Helper()
		testenv.ExpectExists(t, c, b)
		got := slices.Clone(b.Spec.Choices.Servers)
		slices.SortFunc(got, func(a, b v1alpha1.ServerChoice) int { return len(a.Name) - len(b.Name) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	fixed := v1alpha1.ServerChoice{Name: "fixed", Use: v1alpha1.ChoiceOn}
	on, off := &selfservice.Choice{Use: v1alpha1.ChoiceOn, Deny: []string{"a", "b"}}, &selfservice.Choice{Use: v1alpha1.ChoiceOff}
	for server, choice := range map[string]*selfservice.Choice{"docs": on, "git": off} {
		must.Succeed(t, set(server, choice))
	}
	git, docs := v1alpha1.ServerChoice{Name: "git", Use: v1alpha1.ChoiceOff}, v1alpha1.ServerChoice{Name: "docs", Use: v1alpha1.ChoiceOn, Deny: []string{"a", "b"}}
	expect("two choices", git, docs, fixed)
	applied("pro")
	expect("after the manifest", git, docs, fixed)
	must.Succeed(t, set("docs", &selfservice.Choice{Use: v1alpha1.ChoiceOff, Deny: []string{"b"}}))
	docs = v1alpha1.ServerChoice{Name: "docs", Use: v1alpha1.ChoiceOff, Deny: []string{"b"}}
	expect("another choice", git, docs, fixed)

	var managed *keys.ManagedError
	if err := set("fixed", off); !errors.As(err, &managed) || !slices.Equal(managed.By, []string{"gitops"}) {
		t.Errorf("a choice of the manifest: %v", err)
	}
	if err := set("fixed", nil); !errors.As(err, &managed) {
		t.Errorf("the end of a choice of the manifest: %v", err)
	}
	for range 2 { // The second removes nothing.
		must.Succeed(t, set("docs", nil))
	}
	expect("one choice", git, fixed)
	must.Succeed(t, set("git", nil))
	expect("none", fixed)
	testenv.ExpectExists(t, c, b)
	for _, f := range b.ManagedFields {
		if f.Manager == selfservice.ChoiceManager("git") || f.Manager == selfservice.ChoiceManager("docs") {
			t.Errorf("%s still holds %s", f.Manager, f.FieldsV1)
		}
	}
}

// TestAChoiceIsForOneBridgeAlone has neither a deleted HostedBridge come back, nor another
// one of its name changed.
func TestAChoiceIsForOneBridgeAlone(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "alice"}}
	testenv.ExpectApplied(t, c, b)
	choices := &Choices{Client: c}
	choice := &selfservice.Choice{Use: v1alpha1.ChoiceOn}
	for what, uid := range map[string]types.UID{"another one": "other", "the deleted one": b.UID} {
		if uid == b.UID {
			must.Succeed(t, c.Delete(t.Context(), b.DeepCopy()))
		}
		of := route.Backend{Namespace: b.Namespace, Name: b.Name, BridgeUID: uid}
		if _, err := choices.Set(t.Context(), of, "docs", choice, permit); !errors.Is(err, keys.ErrNoBridge) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refusal := errors.New("no")
	other := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bob"}}
	testenv.ExpectApplied(t, c, other)
	of := route.Backend{Namespace: other.Namespace, Name: other.Name, BridgeUID: other.UID}
	if _, err := choices.Set(t.Context(), of, "docs", choice, func(*effective.Bridge) error { return refusal }); !errors.Is(err, refusal) {
		t.Error(err)
	}
	testenv.ExpectExists(t, c, other)
	if other.Spec.Choices != nil {
		t.Errorf("a refused choice is stored: %+v", other.Spec.Choices)
	}
}
