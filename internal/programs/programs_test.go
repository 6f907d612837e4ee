// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

func TestChangesNameEachPackageThatDiffersOnce(t *testing.T) {
	p := func(name, version string) bundle.Package { return bundle.Package{Name: name, Version: version} }
	scripts := bundle.Package{Name: "built", Version: "1.0.0", Scripts: true}
	swapped := bundle.Package{Name: "swapped", Version: "1.0.0", Integrity: "sha512-b"}
	got := Compare(
		[]bundle.Package{p("built", "1.0.0"), p("gone", "1.0.0"), p("gone", "2.0.0"), p("same", "1.0.0"), p("several", "1.0.0"), p("several", "2.0.0"), {Name: "swapped", Version: "1.0.0", Integrity: "sha512-a"}},
		[]bundle.Package{scripts, p("new", "1.0.0"), p("same", "1.0.0"), p("several", "2.0.0"), p("several", "3.0.0"), swapped},
	)
	want := Changes{
		Added: []bundle.Package{p("new", "1.0.0")}, Removed: []bundle.Package{p("gone", "1.0.0"), p("gone", "2.0.0")}, Unchanged: 1,
		Changed: []Change{
			{"built", []bundle.Package{p("built", "1.0.0")}, []bundle.Package{scripts}},
			{"several", []bundle.Package{p("several", "1.0.0"), p("several", "2.0.0")}, []bundle.Package{p("several", "2.0.0"), p("several", "3.0.0")}},
			{"swapped", []bundle.Package{{Name: "swapped", Version: "1.0.0", Integrity: "sha512-a"}}, []bundle.Package{swapped}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Compare(nil, nil); got.Unchanged != 0 || len(got.Added)+len(got.Removed)+len(got.Changed) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestThePackageThatIsReadyCounts(t *testing.T) {
	of := v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "notes", Version: "1.0.0"}
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	made := func(hours int, reason, digest string) v1alpha1.ProgramBundle {
		b := v1alpha1.ProgramBundle{Spec: v1alpha1.ProgramBundleSpec{Install: of}}
		b.CreationTimestamp = metav1.NewTime(at.Add(time.Duration(hours) * time.Hour))
		b.Status.Digest, b.Status.Packages = digest, 3
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason, Message: "says " + reason, LastTransitionTime: metav1.NewTime(at)}}
		return b
	}
	ready, failed := made(0, v1alpha1.ReasonReady, "sha256:ab"), made(1, string(bundle.NodeTooOld), "")
	for name, tt := range map[string]struct {
		all  []v1alpha1.ProgramBundle
		want catalog.Program
	}{
		"none":                 {nil, catalog.Program{}},
		"ready":                {[]v1alpha1.ProgramBundle{ready}, catalog.Program{State: "Ready", InstalledAt: &at, Packages: 3, Digest: "sha256:ab"}},
		"a newer one failed":   {[]v1alpha1.ProgramBundle{failed, ready}, catalog.Program{State: "Ready", InstalledAt: &at, Packages: 3, Digest: "sha256:ab"}},
		"failed":               {[]v1alpha1.ProgramBundle{made(0, v1alpha1.ReasonInstalling, ""), failed}, catalog.Program{State: "NodeTooOld", Message: "says NodeTooOld"}},
		"installing":           {[]v1alpha1.ProgramBundle{made(2, v1alpha1.ReasonInstalling, ""), failed}, catalog.Program{State: "Installing"}},
		"not seen by anything": {[]v1alpha1.ProgramBundle{{Spec: v1alpha1.ProgramBundleSpec{Install: of}}}, catalog.Program{State: "Installing"}},
	} {
		tt.want.Package, tt.want.Version = of.Package, of.Version
		if diff := cmp.Diff(&tt.want, InstalledOf(tt.all).ProgramOf(of)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
