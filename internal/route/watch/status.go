// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// flushEvery is how often what was noted is looked at: soon enough for
	// somebody who waits for the tools of a new bridge to show.
	flushEvery = time.Second
	// flushAtMost is the longest pause while the API server does not answer.
	flushAtMost = 30 * time.Second
	// writers bounds the writes under way. 10,000 bridges that are all in use
	// need 33 a second, and a write takes some 10 ms.
	writers = 4
	// writeTimeout bounds one write.
	writeTimeout = 10 * time.Second
	// lastWithin is how long the last flush may take, within what a pod is given
	// to end. Some 400 notes are written in each second of it.
	lastWithin = 5 * time.Second
	// lastTries is how often it is tried for those that another writer was
	// quicker than, and lastPause how long between.
	lastTries = 3
	lastPause = 100 * time.Millisecond
)

// errAway is a write that failed for no fault of its own: the API server was
// not reached, or could not.
var errAway = errors.New("the API server does not answer")

// StatusWriter writes what only the ingress knows into a bridge's status:
// servers, tools, collisions and lastActivityTime. It writes merge patches, and not
// applies, because each write is of some of these fields, and an apply drops
// the fields that it does not repeat.
//
// Called and Observe only take note, and the newest note of a bridge replaces
// the one before, so that what waits is bounded by the number of bridges.
type StatusWriter struct {
	bridge func(context.Context, route.Backend) (*v1alpha1.HostedBridge, error)
	patch  func(ctx context.Context, bridge *v1alpha1.HostedBridge, patch []byte) error
	log    *slog.Logger

	mu    sync.Mutex
	notes map[types.UID]note
	uses  map[types.UID]*inUse
}

// NewStatusWriter returns a writer that compares with what the watcher has.
func NewStatusWriter(config *rest.Config, w *Watcher, log *slog.Logger) (*StatusWriter, error) {
	config = rest.CopyConfig(config)
	// The number of writers limits enough; client-go's own limit of 5 writes a
	// second would be used up by 1,500 bridges.
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: w.scheme})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	patch := func(ctx context.Context, bridge *v1alpha1.HostedBridge, patch []byte) error {
		target := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: bridge.Namespace, Name: bridge.Name}}
		return c.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldOwnerIngress))
	}
	return &StatusWriter{bridge: w.Bridge, patch: patch, log: log, notes: map[types.UID]note{}, uses: map[types.UID]*inUse{}}, nil
}

// Called notes that the bridge was called. It never waits.
func (s *StatusWriter) Called(b route.Backend, at time.Time) {
	s.keep(note{backend: b, calledAt: at})
}

// Observe notes what a bridge says of itself. One that is busy is in use. It
// never waits.
func (s *StatusWriter) Observe(_ context.Context, b route.Backend, r health.Report) {
	n := note{backend: b, health: &r}
	if r.Busy > 0 {
		n.calledAt = time.Now()
	}
	s.keep(n)
}

// keep adds n to what is noted of its bridge.
func (s *StatusWriter) keep(n note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepNote(n)
}

// keepNote is keep for who holds s.mu.
func (s *StatusWriter) keepNote(n note) {
	s.notes[n.backend.BridgeUID] = s.notes[n.backend.BridgeUID].then(n)
}

// Run writes until ctx ends, and then all that is noted.
func (s *StatusWriter) Run(ctx context.Context) error {
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
		s.log.WarnContext(ctx, "status is out of date", "bridges", s.waiting(), "error", err)
	}
}

// flushLast writes what is noted, whether it has time or not: nobody else knows
// of it, and a bridge that was used would fall asleep too soon. It is brief,
// also where the API server is away.
func (s *StatusWriter) flushLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWithin)
	defer cancel()
	for range lastTries {
		err := s.writeEach(ctx, s.take(time.Now(), true))
		left := s.waiting()
		if left == 0 {
			return
		}
		if err != nil {
			s.log.WarnContext(ctx, "status stays out of date", "bridges", left, "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(lastPause):
		}
	}
}

func (s *StatusWriter) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.notes)
}

// flush writes what was noted. Its error is an errAway; what was not written
// then is noted again.
func (s *StatusWriter) flush(ctx context.Context) error {
	return s.writeEach(ctx, s.take(time.Now(), false))
}

func (s *StatusWriter) writeEach(ctx context.Context, notes []note) error {
	// The first who finds the API server away ends the others' attempts.
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, n := range notes {
		group.Go(func() error {
			err := s.write(ctx, n)
			switch {
			case err == nil:
			case errors.Is(err, errAway):
				s.restore(n)
				return err
			case apierrors.IsConflict(err):
				s.restore(n)
			default:
				// Its own fault, that of what looks at its writes, or that of the
				// API server's store.
				s.log.WarnContext(ctx, "status not written", "namespace", n.backend.Namespace, "name", n.backend.Name, "error", err)
				if isBroken(err) {
					s.restore(n.failed(time.Now()))
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// take returns what is to be written now, which is everything the last time.
// What has time stays noted.
func (s *StatusWriter) take(now time.Time, last bool) []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteUses(now)
	notes := make([]note, 0, len(s.notes))
	for uid, n := range s.notes {
		n.last = last
		if last || n.due(now) {
			notes = append(notes, n)
			delete(s.notes, uid)
		}
	}
	return notes
}

// restore notes n again, as of before what came since.
func (s *StatusWriter) restore(n note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since, ok := s.notes[n.backend.BridgeUID]; ok {
		n = n.then(since)
	}
	s.notes[n.backend.BridgeUID] = n
}

// write brings the status up to date with n, where it is not.
func (s *StatusWriter) write(ctx context.Context, n note) error {
	if ctx.Err() != nil {
		return errAway
	}
	bridge, err := s.bridge(ctx, n.backend)
	if err != nil {
		return nil // Deleted meanwhile, or another of the same name: nothing is owed to it.
	}
	fields, later := n.changes(&bridge.Status, time.Now())
	if later != nil {
		s.restore(*later)
	}
	if keys, changed := n.keysUsed(bridge); changed {
		fields["keys"] = keys
	}
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
	err = s.patch(ctx, bridge, patch)
	if isAway(err) {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return client.IgnoreNotFound(err)
}

// isAway reports whether the API server did not answer, or said that it cannot
// at present, whatever it is asked.
func isAway(err error) bool {
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
