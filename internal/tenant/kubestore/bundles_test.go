// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/test/logtest"
)

// bundlesOf is an API server with these digests in the statuses of ProgramBundles.
type bundlesOf struct {
	client.Reader
	digests []string
	err     error
}

func (b *bundlesOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, digest := range b.digests {
		o := v1alpha1.ProgramBundle{Status: v1alpha1.ProgramBundleStatus{Digest: digest}}
		list.(*v1alpha1.ProgramBundleList).Items = append(list.(*v1alpha1.ProgramBundleList).Items, o)
	}
	return b.err
}

// bundleStore notes what it is told.
type bundleStore struct{ told [][]bundle.Digest }

func (s *bundleStore) Keep(_ context.Context, digests []bundle.Digest) (bundle.Removed, error) {
	s.told = append(s.told, digests)
	return bundle.Removed{}, nil
}

func TestTheStoreIsToldWhichBundlesAreNeededEachHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		digest := "sha256:" + strings.Repeat("ab", 32)
		from, store, log := &bundlesOf{digests: []string{digest, ""}}, &bundleStore{}, &logtest.Log{}
		b := &Bundles{Client: from, Store: store, Log: slog.New(slog.NewTextHandler(log, nil))}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		time.Sleep(firstKeep + time.Second)
		from.err = errors.New("the API server is away")
		time.Sleep(keepEvery)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([][]bundle.Digest{{bundle.Digest(digest)}}, store.told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if !strings.Contains(log.String(), "the API server is away") {
			t.Errorf("the log lacks why nothing was removed: %s", log)
		}
	})
}
