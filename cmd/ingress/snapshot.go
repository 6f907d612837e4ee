// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/route/snapshot"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// restoreAfter is how long the API server has to tell of all routes before those
// of the snapshot are served: where it answers, a key that was revoked while
// this process was down never opens anything.
const restoreAfter = time.Second

// snapshotMaxAge is how long ago the API server may have confirmed a snapshot's routes. The
// kept certificate lives six hours; a day leaves it the last word.
const snapshotMaxAge = 24 * time.Hour

// snapshotOptions say where what survives a restart is kept, if anywhere.
type snapshotOptions struct {
	Dir     string
	KeyFile string
}

func (o *snapshotOptions) declare(s *setting.Set) {
	s.String(&o.Dir, "snapshot-dir", "", "directory, on a volume of only this pod, for the snapshot with which it restarts while the API server is unavailable (default: no snapshot)")
	s.String(&o.KeyFile, "snapshot-key-file", "", "file with the key that signs it: 32 bytes in base64")
	s.Check(func() error {
		if o.Dir != "" && o.KeyFile == "" {
			return errors.New("--snapshot-key-file: the value is empty; give it with --snapshot-dir, whose files it signs")
		}
		return nil
	})
}

// open returns the directory, nil where nothing is kept.
func (o *snapshotOptions) open(ctx context.Context, installation string, log *slog.Logger) (*snapshot.Directory, error) {
	if o.Dir == "" {
		return nil, nil
	}
	d, err := snapshot.OpenDirectory(o.Dir, o.KeyFile, installation)
	if errors.Is(err, fs.ErrNotExist) {
		// An installation without the key is to serve nevertheless.
		log.WarnContext(ctx, "nothing is kept for a restart while the API server is away", "error", err)
		return nil, nil
	}
	return d, err
}

// snapshots join the routes of the watcher with those on disk.
type snapshots struct {
	watcher *watch.Watcher
	kept    snapshot.Table
	keeper  *snapshot.Keeper
	log     *slog.Logger
}

// newSnapshots reads what an earlier process has left in d, which may be nil.
func newSnapshots(d *snapshot.Directory, watcher *watch.Watcher, log *slog.Logger) *snapshots {
	s := &snapshots{watcher: watcher, log: log}
	if d == nil {
		return s
	}
	kept, err := d.Routes(time.Now(), snapshotMaxAge)
	if err == nil {
		s.kept = kept
	} else if !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the kept routes are not used", "error", err)
	}
	s.keeper = snapshot.NewKeeper(d, watcher, s.kept, log)
	return s
}

// run restores routes if the API server is away, and keeps them, until ctx ends.
func (s *snapshots) run(ctx context.Context) error {
	if s.keeper == nil {
		return nil
	}
	if s.kept.Routes != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restoreAfter):
		}
		if s.watcher.Restore(s.kept.Routes, s.kept.Confirmed) {
			s.log.WarnContext(ctx, "the API server is away: serving the kept routes", "routes", s.kept.Routes.Len(), "confirmed", s.kept.Confirmed)
		}
	}
	return s.keeper.Run(ctx)
}

// await returns when there are routes, if any are kept: the API server's or the
// kept ones. While the API server is away nobody takes a replica that starts out
// of the service, so that its callers had better wait than be refused.
func (s *snapshots) await(ctx context.Context) {
	for s.kept.Routes != nil {
		changed := s.watcher.Changed()
		if s.watcher.Current() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// registerExpiry registers when this process will no longer be let in by bridges
// and keybroker.
func registerExpiry(metrics prometheus.Registerer, expiry func() time.Time) error {
	return telemetry.Register(metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hostedbridge_ingress_certificate_expiry_timestamp_seconds",
		Help: "When the certificate ends by which bridges and the keybroker recognise this process, in seconds since 1970; 0 while it has none.",
	}, func() float64 {
		if end := expiry(); !end.IsZero() {
			return float64(end.Unix())
		}
		return 0
	}))
}

// registerOutages registers what tells how old routes are, and whether they are
// kept in d, which may be nil.
func registerOutages(metrics prometheus.Registerer, watcher *watch.Watcher, d *snapshot.Directory) error {
	collectors := []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hostedbridge_ingress_routes_age_seconds",
		Help: "Time since the API server last vouched for the routes and keys in use; about 0 while it tells of changes.",
	}, func() float64 { return max(0, time.Since(watcher.Confirmed()).Seconds()) })}
	if d == nil {
		return telemetry.Register(metrics, collectors...)
	}
	for _, kind := range []snapshot.Kind{snapshot.Routes, snapshot.Credentials} {
		write := func(result string, count func(snapshot.Writes) int) prometheus.Collector {
			return prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name:        "hostedbridge_ingress_snapshot_writes_total",
				Help:        "Writes of what a restart needs while the API server is away, by kind (routes, credentials) and result (done, failed).",
				ConstLabels: prometheus.Labels{"kind": string(kind), "result": result},
			}, func() float64 { return float64(count(d.Writes(kind))) })
		}
		collectors = append(collectors,
			write("done", func(w snapshot.Writes) int { return w.Done }),
			write("failed", func(w snapshot.Writes) int { return w.Failed }))
	}
	return telemetry.Register(metrics, collectors...)
}
