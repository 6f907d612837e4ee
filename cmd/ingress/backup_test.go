// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !testenv

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// oneCronJob is a cluster with one CronJob.
type oneCronJob struct {
	client.Client

	mu  sync.Mutex
	job batchv1.CronJob
	err error
}

// Get implements client.Client.
func (o *oneCronJob) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if key != client.ObjectKeyFromObject(&o.job) {
		return errors.New("not found")
	}
	o.job.DeepCopyInto(into.(*batchv1.CronJob))
	return o.err
}

func (o *oneCronJob) change(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
}

func TestTheMetricOfBackupsFollowsTheCronJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		created := time.Now()
		cluster := &oneCronJob{job: batchv1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "backup", CreationTimestamp: metav1.NewTime(created)},
			Spec:       batchv1.CronJobSpec{Schedule: "17 3 * * *"},
		}}
		var logs bytes.Buffer
		b := backupsOf(cluster, &options{Namespace: "system", BackupCronJob: "backup"}, slog.New(slog.NewTextHandler(&logs, nil)))
		metrics := prometheus.NewRegistry()
		must.Succeed(t, b.register(metrics))
		ctx, end := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { _ = b.run(ctx) })
		expect := func(want float64) {
			t.Helper()
			time.Sleep(backupEvery + time.Second)
			synctest.Wait()
			families := must.Value(metrics.Gather())(t)
			if got := families[0].Metric[0].Gauge.GetValue(); len(families) != 1 || got != want {
				t.Errorf("the metric is %v, want %v", got, want)
			}
		}
		expect(0)
		last := created.Add(time.Hour).Truncate(time.Second)
		cluster.change(func() { cluster.job.Status.LastSuccessfulTime = new(metav1.NewTime(last)) })
		expect(float64(last.Unix()))
		cluster.change(func() { cluster.err = errors.New("away") })
		expect(float64(last.Unix()))
		expect(float64(last.Unix()))
		if n := strings.Count(logs.String(), "away"); n != 1 {
			t.Errorf("a failure is logged %d times: %s", n, logs.String())
		}
		if got := b.read(t.Context()); !got.Configured || got.Err == nil {
			t.Errorf("it is said to be %+v", got)
		}
		cluster.change(func() { cluster.err = nil; cluster.job.Spec.Suspend = new(true) })
		want := admin.Backups{Configured: true, Schedule: "17 3 * * *", Suspended: true, Since: created, Last: last}
		if diff := cmp.Diff(want, b.read(t.Context()), cmpopts.EquateApproxTime(time.Second)); diff != "" {
			t.Errorf("it is said to be (-want +got):\n%s", diff)
		}
		end()
		group.Wait()
	})
}

func TestWithoutACronJobThereIsNoMetricOfBackups(t *testing.T) {
	b := backupsOf(nil, &options{}, nil)
	metrics := prometheus.NewRegistry()
	must.Succeed(t, errors.Join(b.register(metrics), b.run(t.Context())))
	if found := must.Value(metrics.Gather())(t); len(found) > 0 || b.read(t.Context()).Configured {
		t.Errorf("it has %v", found)
	}
}
