// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package bridgestore

import (
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/programs"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestTheIngressDeletesAProgramBundleAndChangesNone has the rights and policies of an installation.
func TestTheIngressDeletesAProgramBundleAndChangesNone(t *testing.T) {
	c := testenv.Client(t)
	as := installed(t, c).Client
	p := &Programs{Client: as, Namespace: testenv.System}
	b := &v1alpha1.ProgramBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "notes-1-0-0-" + testenv.Namespace(t, c)},
		Spec:       v1alpha1.ProgramBundleSpec{Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "notes", Version: "1.0.0"}, Architecture: "amd64"},
	}
	testenv.ExpectApplied(t, c, b)
	is := func(o v1alpha1.ProgramBundle) bool { return o.Name == b.Name && o.UID == b.UID }
	if all := must.Value(p.List(t.Context()))(t); !slices.ContainsFunc(all, is) {
		t.Errorf("the list lacks it: %v", all)
	}
	if err := p.Delete(t.Context(), b.Name, "0d8bd8f5-0000-0000-0000-000000000000"); !errors.Is(err, programs.ErrGone) {
		t.Errorf("another one of the name: %v", err)
	}
	changed := b.DeepCopy()
	changed.Labels = map[string]string{"a": "b"}
	another := &v1alpha1.ProgramBundle{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name + "-2"}, Spec: b.Spec}
	changed.Status.Bridges = 7
	for what, err := range map[string]error{
		"creates":            as.Create(t.Context(), another, client.DryRunAll),
		"changes":            as.Patch(t.Context(), changed, client.MergeFrom(b), client.DryRunAll),
		"writes a status of": as.Status().Patch(t.Context(), changed, client.MergeFrom(b), client.DryRunAll),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("it %s a ProgramBundle: %v", what, err)
		}
	}
	// What the operator says of it in the meantime keeps nobody from having it made again.
	written := b.DeepCopy()
	written.Status.Bridges = 3
	must.Succeed(t, c.Status().Patch(t.Context(), written, client.MergeFrom(b)))
	must.Succeed(t, p.Delete(t.Context(), b.Name, string(b.UID)))
	if err := p.Delete(t.Context(), b.Name, string(b.UID)); !errors.Is(err, programs.ErrGone) {
		t.Errorf("one that is gone: %v", err)
	}
}
