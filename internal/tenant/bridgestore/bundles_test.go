// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/test/logtest"
)

// bundlesOf is an API server with these digests in the statuses of ProgramBundles, which is away
// after it has listed them once.
type bundlesOf struct {
	client.Client
	digests []string
	deleted []string
	asked   int
}

func (b *bundlesOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for i, digest := range b.digests {
		o := v1alpha1.ProgramBundle{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(i)}, Status: v1alpha1.ProgramBundleStatus{Digest: digest}}
		list.(*v1alpha1.ProgramBundleList).Items = append(list.(*v1alpha1.ProgramBundleList).Items, o)
	}
	if b.asked++; b.asked > 1 {
		return errors.New("the API server is away")
	}
	return nil
}

func (b *bundlesOf) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	if len(opts) == 1 {
		b.deleted = append(b.deleted, o.GetName())
	}
	return nil
}

// bundleStore has bundles, and notes what it is told.
type bundleStore struct {
	has  []bundle.Kept
	told [][]bundle.Digest
}

func (s *bundleStore) List(context.Context) (bundle.Inventory, error) {
	return bundle.Inventory{Bundles: s.has}, nil
}

func (s *bundleStore) Keep(_ context.Context, digests []bundle.Digest) (bundle.Removed, error) {
	s.told = append(s.told, digests)
	return bundle.Removed{}, nil
}

func TestLostBundlesAreMadeAgainAndOthersKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, lost := "sha256:"+strings.Repeat("ab", 32), "sha256:"+strings.Repeat("cd", 32)
		from, store, log := &bundlesOf{digests: []string{kept, "", lost}}, &bundleStore{has: []bundle.Kept{{Digest: bundle.Digest(kept)}}}, &logtest.Log{}
		b := &Bundles{Client: from, Store: store, Log: slog.New(slog.NewTextHandler(log, nil))}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		time.Sleep(firstCompare + compareEvery + time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([][]bundle.Digest{{bundle.Digest(kept), bundle.Digest(lost)}}, store.told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"2"}, from.deleted); diff != "" {
			t.Errorf("deleted (-want +got):\n%s", diff)
		}
		if !strings.Contains(log.String(), "the API server is away") {
			t.Errorf("the log lacks why nothing was compared: %s", log)
		}
	})
}
