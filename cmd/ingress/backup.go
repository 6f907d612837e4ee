// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

const (
	// backupEvery is how often the CronJob is read. Its alert is about hours.
	backupEvery = time.Minute

	backupTimeout = 10 * time.Second
)

// backups are what the CronJob of backups says of itself.
type backups struct {
	cluster client.Client
	cronJob client.ObjectKey
	log     *slog.Logger
	// last is when the last backup succeeded, in seconds since 1970, as far as it was read.
	last atomic.Int64
}

// backupsOf returns what follows the CronJob of the options, nil without one.
func backupsOf(cluster client.Client, o *options, log *slog.Logger) *backups {
	if o.BackupCronJob == "" {
		return nil
	}
	return &backups{cluster: cluster, cronJob: client.ObjectKey{Namespace: o.Namespace, Name: o.BackupCronJob}, log: log}
}

// read returns the state of backups now.
func (b *backups) read(ctx context.Context) admin.Backups {
	if b == nil {
		return admin.Backups{}
	}
	var job batchv1.CronJob
	if err := b.cluster.Get(ctx, b.cronJob, &job); err != nil {
		return admin.Backups{Configured: true, Err: fmt.Errorf("get the CronJob of backups: %w", err)}
	}
	state := admin.Backups{Configured: true, Schedule: job.Spec.Schedule, Suspended: ptr.Deref(job.Spec.Suspend, false), Since: job.CreationTimestamp.Time}
	if at := job.Status.LastSuccessfulTime; at != nil {
		state.Last = at.Time
	}
	return state
}

// run keeps the metric current until ctx ends. A failure is logged when it begins.
func (b *backups) run(ctx context.Context) error {
	if b == nil {
		return nil
	}
	ticker := time.NewTicker(backupEvery)
	defer ticker.Stop()
	for failing := false; ; {
		asking, cancel := context.WithTimeout(ctx, backupTimeout)
		state := b.read(asking)
		cancel()
		switch {
		case state.Err == nil && !state.Last.IsZero():
			b.last.Store(state.Last.Unix())
		case state.Err != nil && !failing && ctx.Err() == nil:
			b.log.WarnContext(ctx, "when the last backup was taken is not known", "error", state.Err)
		}
		failing = state.Err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// register registers the metric. An installation without backups has none.
func (b *backups) register(metrics prometheus.Registerer) error {
	if b == nil {
		return nil
	}
	return telemetry.Register(metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hostedbridge_ingress_backup_last_success_timestamp_seconds",
		Help: "When the last scheduled backup was written and read back, in seconds since 1970; 0 before the first. Absent without scheduled backups.",
	}, func() float64 { return float64(b.last.Load()) }))
}
