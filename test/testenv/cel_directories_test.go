// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// judged fails the test unless the error says that, or is none where nothing is to be said.
func judged(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

func TestADirectoryIsOfAPersonAtAProvider(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	known := func(change func(*v1alpha1.PersonDirectory)) *v1alpha1.PersonDirectory {
		d := &v1alpha1.PersonDirectory{Incarnation: 1, UserName: "anna", Active: true}
		change(d)
		return d
	}
	same := func(*v1alpha1.PersonDirectory) {}
	for name, test := range map[string]struct {
		spec v1alpha1.BridgePersonSpec
		want string
	}{
		"a person at a provider": {v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "anna", Directory: known(same)}, ""},
		"a user":                 {v1alpha1.BridgePersonSpec{User: "anna", Directory: known(same)}, "with which it may have directory"},
		"nobody":                 {v1alpha1.BridgePersonSpec{Directory: known(same)}, "either user, or issuer and subject"},
		"no incarnation": {v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "anna", Directory: known(func(d *v1alpha1.PersonDirectory) { d.Incarnation = 0 })},
			"spec.directory.incarnation"},
		"no name": {v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "anna", Directory: known(func(d *v1alpha1.PersonDirectory) { d.UserName = "" })},
			"spec.directory.userName"},
		"a long name": {v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "anna", Directory: known(func(d *v1alpha1.PersonDirectory) { d.DisplayName = strings.Repeat("a", 257) })},
			"spec.directory.displayName"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"}, Spec: test.spec}
			judged(t, c.Create(t.Context(), p, client.DryRunAll), test.want)
		})
	}
	with := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "with"}, Spec: v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "anna", Directory: known(same)}}
	without := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "without"}, Spec: v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "anna"}}
	testenv.ExpectApplied(t, c, with, without)
	with.Spec.Directory.Deleted, with.Spec.Directory.Active = true, false
	judged(t, c.Update(t.Context(), with), "")
	with.Spec.Directory = nil
	judged(t, c.Update(t.Context(), with), "stays one")
	without.Spec.Directory = known(same)
	judged(t, c.Update(t.Context(), without), "stays one")
}

func TestAGroupStaysOneOfItsIssuer(t *testing.T) {
	c := testenv.Client(t)
	g := &v1alpha1.BridgeGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t, c), Name: "eng"},
		Spec:       v1alpha1.BridgeGroupSpec{Issuer: "https://a", Value: "eng", DisplayName: "Engineering"},
	}
	testenv.ExpectApplied(t, c, g)
	changed := g.DeepCopy()
	changed.Spec.Value, changed.Spec.DisplayName = "platform", "Platform"
	judged(t, c.Update(t.Context(), changed, client.DryRunAll), "")
	changed.Spec.Issuer = "https://b"
	judged(t, c.Update(t.Context(), changed, client.DryRunAll), "stays one of the same issuer")
	for n, want := range map[int]string{10_000: "", 10_001: "spec.members"} {
		changed = g.DeepCopy()
		for range n {
			changed.Spec.Members = append(changed.Spec.Members, "d-aaaaaaaaaaaaaaaaaaaaaaaaaa-1")
		}
		judged(t, c.Update(t.Context(), changed, client.DryRunAll), want)
	}
}
