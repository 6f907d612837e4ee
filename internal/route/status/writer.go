// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status writes into a HostedBridge's status what only the ingress
// knows, and asks every bridge that runs for its health. The package is a shell:
// it keeps time, asks bridges, and writes to the API server.
package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// flushEvery is how often pending updates are written: soon enough for a
	// user who waits for the tools of a new bridge to show.
	flushEvery = time.Second
	// flushAtMost is the longest pause while the API server does not answer.
	flushAtMost = 30 * time.Second
	// writers bounds the writes under way. 10,000 bridges that are all in use
	// need 33 a second, and a write takes some 10 ms.
	writers = 4
	// writeTimeout bounds one write.
	writeTimeout = 10 * time.Second
	// lastFlushTimeout bounds the last flush, within a pod's grace period. Some
	// 400 updates are written in each second of it.
	lastFlushTimeout = 5 * time.Second
	// lastFlushTries is how often the last flush writes an update that conflicts
	// with another writer's, and lastFlushPause is the pause between two tries.
	lastFlushTries = 3
	lastFlushPause = 100 * time.Millisecond
)

// errUnreachable says that a write failed because the API server was not
// reached, or cannot serve at present.
var errUnreachable = errors.New("the API server does not answer")

// Writer writes what only the ingress knows into a bridge's status:
// servers, serverStates, tools, collisions and lastActivityTime. It writes merge patches, and not
// applies, because each write is of some of these fields, and an apply drops
// the fields that it does not repeat.
//
// Called and Observe do not write. They add to the one pending update of a
// bridge, so that the memory is bounded by the number of bridges.
type Writer struct {
	bridge ReadBridge
	patch  func(ctx context.Context, bridge *v1alpha1.HostedBridge, patch []byte) error
	log    *slog.Logger
	// reports limits the writes of what bridges report.
	reports *rate.Limiter

	mu      sync.Mutex
	pending map[types.UID]pendingUpdate
	inUse   map[types.UID]*usage
}

// ReadBridge returns the bridge of a backend as the API server last showed it.
type ReadBridge func(context.Context, route.Backend) (*effective.Bridge, error)

// NewWriter returns a writer that writes where the status of bridges differs.
func NewWriter(config *rest.Config, read ReadBridge, log *slog.Logger) (*Writer, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	config = rest.CopyConfig(config)
	// The number of writers limits enough; client-go's own limit of 5 writes a
	// second would be used up by 1,500 bridges.
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	patch := func(ctx context.Context, bridge *v1alpha1.HostedBridge, patch []byte) error {
		target := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: bridge.Namespace, Name: bridge.Name}}
		return c.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldOwnerIngress))
	}
	return newWriter(read, patch, log), nil
}

func newWriter(read ReadBridge, patch func(context.Context, *v1alpha1.HostedBridge, []byte) error, log *slog.Logger) *Writer {
	return &Writer{
		bridge: read, patch: patch, log: log, reports: rate.NewLimiter(reportsPerSecond, reportsAtOnce),
		pending: map[types.UID]pendingUpdate{}, inUse: map[types.UID]*usage{},
	}
}

// Called records that the bridge was called. It never waits.
func (s *Writer) Called(b route.Backend, at time.Time) {
	s.add(pendingUpdate{backend: b, calledAt: at})
}

// Observe records what a bridge reports. A bridge that is busy is in use. It
// never waits.
func (s *Writer) Observe(_ context.Context, b route.Backend, r health.Report) {
	n := pendingUpdate{backend: b, health: &r}
	if r.Busy > 0 {
		n.calledAt = time.Now()
	}
	s.add(n)
}

// add merges n into the pending update of its bridge.
func (s *Writer) add(n pendingUpdate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(n)
}

// addLocked is add for a caller that holds s.mu.
func (s *Writer) addLocked(n pendingUpdate) {
	s.pending[n.backend.BridgeUID] = s.pending[n.backend.BridgeUID].merge(n)
}

// Run writes until ctx ends, and then all pending updates.
func (s *Writer) Run(ctx context.Context) error {
	pause := flushEvery
	for {
		select {
		case <-ctx.Done():
			s.flushLast(ctx)
			return nil
		case <-time.After(pause):
		}
		err := s.flush(ctx)
		if err == nil || ctx.Err() != nil {
			pause = flushEvery
			continue
		}
		pause = min(2*pause, flushAtMost)
		s.log.WarnContext(ctx, "status is out of date", "bridges", s.pendingCount(), "error", err)
	}
}

// flushLast writes all pending updates, due or not: no other process knows them,
// and a bridge that was used would fall asleep too soon. It ends soon also when
// the API server is away.
func (s *Writer) flushLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushTimeout)
	defer cancel()
	for range lastFlushTries {
		err := s.writeEach(ctx, s.take(time.Now(), true))
		left := s.pendingCount()
		if left == 0 {
			return
		}
		if err != nil {
			s.log.WarnContext(ctx, "status stays out of date", "bridges", left, "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(lastFlushPause):
		}
	}
}

func (s *Writer) pendingCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// flush writes the updates that are due. Its error is an errUnreachable; updates
// that were not written then are pending again.
func (s *Writer) flush(ctx context.Context) error {
	return s.writeEach(ctx, s.take(time.Now(), false))
}

func (s *Writer) writeEach(ctx context.Context, notes []pendingUpdate) error {
	// The first write that does not reach the API server ends the others.
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, n := range notes {
		group.Go(func() error {
			err := s.write(ctx, n)
			switch {
			case err == nil:
			case errors.Is(err, errUnreachable):
				s.restore(n)
				return err
			case apierrors.IsConflict(err):
				s.restore(n)
			default:
				// The fault is in the update, in a webhook, or in the API server's store.
				s.log.WarnContext(ctx, "status not written", "namespace", n.backend.Namespace, "name", n.backend.Name, "error", err)
				if isBroken(err) {
					s.restore(n.afterFailure(time.Now()))
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// take returns the updates to write now: all when last, else those that are
// due. The others stay pending.
func (s *Writer) take(now time.Time, last bool) []pendingUpdate {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addUsesLocked(now)
	notes := make([]pendingUpdate, 0, len(s.pending))
	for uid, n := range s.pending {
		n.last = last
		if last || n.due(now) {
			notes = append(notes, n)
			delete(s.pending, uid)
		}
	}
	return notes
}

// restore makes n pending again, as older than what came since.
func (s *Writer) restore(n pendingUpdate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since, ok := s.pending[n.backend.BridgeUID]; ok {
		n = n.merge(since)
	}
	s.pending[n.backend.BridgeUID] = n
}

// write patches the status where it differs from n.
func (s *Writer) write(ctx context.Context, n pendingUpdate) error {
	if ctx.Err() != nil {
		return errUnreachable
	}
	bridge, err := s.bridge(ctx, n.backend)
	if err != nil {
		return nil // Deleted meanwhile, or another of the same name: nothing is owed to it.
	}
	fields, later := n.changes(bridge, time.Now())
	if later != nil {
		s.restore(*later)
	}
	if keys, changed := n.keysUsed(bridge); changed {
		fields["keys"] = keys
	}
	s.addReport(fields, bridge, n)
	if len(fields) == 0 {
		return nil
	}
	// The version makes the API server refuse the patch for a later bridge of
	// the same name. The UID would not: a status write ignores the metadata.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": bridge.ResourceVersion}, "status": fields,
	})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err = s.patch(ctx, bridge.HostedBridge, patch)
	if isUnreachable(err) {
		return fmt.Errorf("%w: %w", errUnreachable, err)
	}
	return client.IgnoreNotFound(err)
}

// addReport adds to the fields what the bridge reports, or makes it pending again
// if too much was reported lately. A first report tells a user that the bridge is
// there, so it does not wait for its turn. Nor does one that costs no write of its
// own.
func (s *Writer) addReport(fields map[string]any, bridge *effective.Bridge, n pendingUpdate) {
	reported := n.reported(bridge, time.Now())
	switch {
	case len(reported) == 0:
	case len(bridge.Status.ServerStates) == 0 || len(fields) > 0 || s.reports.Allow():
		maps.Copy(fields, reported)
	default:
		s.restore(pendingUpdate{backend: n.backend, health: n.health})
	}
}

// isUnreachable reports whether the API server did not answer, or said that it cannot
// at present, whatever it is asked.
func isUnreachable(err error) bool {
	status := apierrors.APIStatus(nil)
	if err == nil || !errors.As(err, &status) {
		return err != nil
	}
	switch status.Status().Code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isBroken reports whether the API server failed at this write, which may be the
// only one: a webhook may answer none of its kind.
func isBroken(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}
