// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package catalogrecipe_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/catalogrecipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestARecipeSaysWhetherItRunsHere has an operator without an image for npx, which
// starts again with one.
func TestARecipeSaysWhetherItRunsHere(t *testing.T) {
	c, namespace := run(t)
	o := object(namespace, valid("notes"))
	testenv.ExpectApplied(t, c, o)
	if e := expect(t, c, o, v1alpha1.ReasonRecipeValid); e.Here != nil {
		t.Errorf("an operator that does not know says %+v", e.Here)
	}
	judge := func(hosting *resolve.Hosting) catalog.Entry {
		t.Helper()
		r := &catalogrecipe.Reconciler{Client: c, Clock: clocktesting.NewFakePassiveClock(start.Add(time.Hour)), Hosting: hosting}
		must.Value(r.Reconcile(t.Context(), o.DeepCopy()))(t)
		testenv.ExpectExists(t, c, o)
		return must.Value(catalog.EntryOf(o))(t)
	}
	before := judge(&resolve.Hosting{Lacking: []v1alpha1.InstallMethod{v1alpha1.InstallNPX}})
	want := &catalog.Here{Reason: v1alpha1.ReasonRecipeNotHostable,
		Why: "version 1.0.0 of recipe notes has no transport that can be hosted here: transports[0]: the installation has no image in which npx runs programs; an administrator can set bridge.runtimes.node in the values of the chart"}
	if diff := cmp.Diff(want, before.Here); diff != "" {
		t.Error(diff)
	}
	written := o.ResourceVersion
	judge(&resolve.Hosting{Lacking: []v1alpha1.InstallMethod{v1alpha1.InstallNPX}})
	if o.ResourceVersion != written {
		t.Error("the same verdict is written again")
	}
	after := judge(&resolve.Hosting{})
	if diff := cmp.Diff(&catalog.Here{Runs: true}, after.Here); diff != "" {
		t.Error(diff)
	}
	if after.Revision == before.Revision || !after.Matches(before.Revision) {
		t.Errorf("readers do not see the change, or writers do: %s, %s", before.Revision, after.Revision)
	}
}
