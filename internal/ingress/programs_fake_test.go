// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/programs"
)

// fakePrograms are the ProgramBundles of a world, and what its store knows of them.
type fakePrograms struct {
	*world

	mu      sync.Mutex
	all     []v1alpha1.ProgramBundle
	records map[bundle.Digest]bundle.Record
	// deleted are the names and UIDs of those that were deleted, and asked is how many records
	// the store was asked for.
	deleted []string
	asked   int
	// listErr, recordErr and deleteErr are what questions fail with.
	listErr, recordErr, deleteErr error
}

// The programs of a world: two versions of one package, one that failed, and one that is being
// installed.
const (
	oldNotes, newNotes, brokenMail, newSearch = "notes-1-0-0-aaaa", "notes-1-1-0-bbbb", "mail-2-0-0-cccc", "search-1-0-0-dddd"
	notesPackage                              = "@acme/notes"
)

var oldDigest, newDigest = bundle.Digest("sha256:" + strings.Repeat("ab", 32)), bundle.Digest("sha256:" + strings.Repeat("cd", 32))

func newFakePrograms() *fakePrograms {
	f := &fakePrograms{records: map[bundle.Digest]bundle.Record{
		oldDigest: {Digest: oldDigest, Source: bundle.Source{Package: notesPackage, Version: "1.0.0"}, Made: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Lock: `{"lockfileVersion":3}`, Log: "added 3 packages", Packages: []bundle.Package{
			{Name: notesPackage, Version: "1.0.0", License: "MIT"}, {Name: "left-pad", Version: "1.0.0", License: "WTFPL"}, {Name: "zod", Version: "3.0.0", License: "MIT"},
		}},
		newDigest: {Digest: newDigest, Source: bundle.Source{Package: notesPackage, Version: "1.1.0"}, Made: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Lock: `{"lockfileVersion":3}`, Log: "added 3 packages", Packages: []bundle.Package{
			{Name: notesPackage, Version: "1.1.0", License: "MIT"}, {Name: "esbuild", Version: "0.2.0", License: "MIT", Scripts: true}, {Name: "zod", Version: "3.0.0", License: "MIT"},
		}},
	}}
	ready := func(name, version string, digest bundle.Digest) v1alpha1.ProgramBundle {
		b := programBundle(name, notesPackage, version, metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady, Message: "3 packages, 2Mi"})
		b.Status.Digest, b.Status.Bytes, b.Status.Size, b.Status.Packages, b.Status.Image = string(digest), 2<<20, "2Mi", 3, "node:24"
		b.Status.Programs, b.Status.Program, b.Status.Bridges = []v1alpha1.BundledProgram{{Name: "notes", Path: "node_modules/@acme/notes/cli.js"}}, "notes", 1
		return b
	}
	f.all = []v1alpha1.ProgramBundle{
		ready(newNotes, "1.1.0", newDigest), ready(oldNotes, "1.0.0", oldDigest),
		programBundle(brokenMail, "mail", "2.0.0", metav1.Condition{Status: metav1.ConditionFalse, Reason: string(bundle.NodeTooOld), Message: "mail needs Node 99"}),
		programBundle(newSearch, "search", "1.0.0", metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInstalling, Message: "the install waits for others to end"}),
	}
	f.all[0].Status.Scripts = []string{"esbuild@0.2.0"}
	f.all[2].Status.Attempts, f.all[2].Status.RetryTime = 3, &metav1.Time{Time: time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)}
	return f
}

// programBundle returns a ProgramBundle of the UID 1, which is the version that forms of tests name.
func programBundle(name, of, version string, ready metav1.Condition) v1alpha1.ProgramBundle {
	ready.Type = v1alpha1.ConditionReady
	ready.LastTransitionTime = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return v1alpha1.ProgramBundle{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("1"), CreationTimestamp: metav1.NewTime(time.Now())},
		Spec:       v1alpha1.ProgramBundleSpec{Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: of, Version: version}, Architecture: "amd64"},
		Status:     v1alpha1.ProgramBundleStatus{Conditions: []metav1.Condition{ready}},
	}
}

func (f *fakePrograms) api() *management.Programs {
	return management.NewPrograms(management.ProgramOptions{List: f.list, Delete: f.delete, Record: f.record, Bridges: f.bridgesOf})
}

func (f *fakePrograms) list(context.Context) ([]v1alpha1.ProgramBundle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all), f.listErr
}

func (f *fakePrograms) delete(_ context.Context, name, uid string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deleteErr == nil {
		f.deleted = append(f.deleted, name+" "+uid)
	}
	return f.deleteErr
}

func (f *fakePrograms) record(_ context.Context, digest bundle.Digest) (bundle.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	r, known := f.records[digest]
	if f.recordErr == nil && !known {
		return r, programs.ErrGone
	}
	return r, f.recordErr
}

func (f *fakePrograms) bridgesOf(context.Context) ([]*effective.Bridge, error) {
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	var all []*effective.Bridge
	for _, b := range f.world.bridges {
		all = append(all, effective.Of(b))
	}
	return all, nil
}

// edit changes what there is.
func (f *fakePrograms) edit(change func(*fakePrograms)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// runNotes has the user's bridge run a version of the package.
func (w *world) runNotes(user, version string) {
	w.changeBridge(user, func(b *v1alpha1.HostedBridge) {
		b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: "notes", Transport: v1alpha1.Transport{Stdio: &v1alpha1.Stdio{
			Install: &v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: notesPackage, Version: version},
		}}})
	})
}
