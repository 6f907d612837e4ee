// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestAReplicaThatLosesTheLeaseServesOnAndLeadsAgain(t *testing.T) {
	c := testenv.Client(t)
	o := shipped()
	o.Namespace, o.Listen, o.ProbeListen, o.DrainDelay = testenv.Namespace(t, c), "127.0.0.1:0", unusedAddress(t), 0
	o.Keys.Dir = t.TempDir()
	writeKey(t, o.Keys.Dir, "authority", 9)
	writeKey(t, o.Keys.Dir, "1", 1)

	var logs logtest.Log
	stop := serveParts(t, o, slog.New(slog.NewTextHandler(&logs, nil)))
	defer stop()
	namespace := testenv.Namespace(t, c)
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}, StringData: map[string]string{"A": "first"}}
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace},
		Spec:       v1alpha1.HostedBridgeSpec{SecretRefs: []v1alpha1.SecretRef{{Name: "s"}}},
	}
	testenv.ExpectApplied(t, c, source, b)
	revision := func() string {
		testenv.ExpectExists(t, c, b)
		return ptr.Deref(b.Status.Secrets, v1alpha1.SecretsStatus{}).Revision
	}
	wait.Until(t, "the source is sealed", func() bool { return revision() != "" })
	first := revision()

	giveBack := steal(t, c, o.Namespace)
	wait.Until(t, "the lease is lost", func() bool {
		return bytes.Contains(logs.Bytes(), []byte("does not lead any more"))
	})
	source.StringData = map[string]string{"A": "second"}
	testenv.ExpectApplied(t, c, source)
	if ring := loadedRing(t, o.ProbeListen); ring.Current != 1 {
		t.Errorf("ring %+v", ring)
	}
	if revision() != first {
		t.Error("a replica that does not lead has sealed")
	}
	giveBack()

	wait.Until(t, "what changed meanwhile is sealed when it leads again", func() bool { return revision() != first })
	if n := bytes.Count(logs.Bytes(), []byte("this replica leads")); n < 2 {
		t.Errorf("it led %d times", n)
	}
	stop()
	if bytes.Contains(logs.Bytes(), []byte("second")) {
		t.Error("the log has a value")
	}
}

// serveParts runs the process' parts with a lease that is lost sooner.
func serveParts(t *testing.T, o Options, log *slog.Logger) (stop func()) {
	t.Helper()
	master := must.Value(masterkey.Open(t.Context(), o.masterKey(log)))(t)
	p := must.Value(newParts(o, testenv.Config(), master, quota.Defaults(), log))(t)
	p.leader.Duration, p.leader.Renew, p.leader.Retry = 1500*time.Millisecond, time.Second, 100*time.Millisecond
	service := must.Value(p.listen(t.Context(), o))(t)
	ctx, cancel := context.WithCancel(t.Context())
	var group errgroup.Group
	group.Go(func() error { return service.Serve(ctx) })
	group.Go(func() error { return p.leader.Run(ctx) })
	return func() {
		cancel()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// steal makes another replica hold the lease until it is given back by not
// being renewed any more.
func steal(t *testing.T, c client.Client, namespace string) (giveBack func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			lease := &coordinationv1.Lease{}
			err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: leaseName}, lease)
			lease.Spec.HolderIdentity = new("another")
			lease.Spec.RenewTime = new(metav1.NowMicro())
			if err == nil {
				err = c.Update(ctx, lease)
			}
			// That the holder wrote meanwhile is what the next try is for.
			if ctx.Err() == nil && err != nil && !apierrors.IsConflict(err) {
				done <- err
				return
			}
			<-tick.C
		}
		done <- nil
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
