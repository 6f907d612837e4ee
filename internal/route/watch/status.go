// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// activityGrain is how exact lastActivityTime is. Writing each call down
	// would make the API server the slowest part of every call.
	activityGrain = 5 * time.Minute
	// activityFlush is how often the calls since the last flush are looked at.
	activityFlush = 5 * time.Second
	// writeTimeout bounds one write.
	writeTimeout = 10 * time.Second
)

// StatusWriter writes what only the ingress knows into a bridge's status:
// servers, tools and lastActivityTime. It writes merge patches, and not
// applies, because each write is of some of these fields, and an apply drops
// the fields that it does not repeat.
type StatusWriter struct {
	watcher *Watcher
	client  client.Client
	log     *slog.Logger

	mu     sync.Mutex
	called map[types.UID]call
}

type call struct {
	backend route.Backend
	at      time.Time
}

// NewStatusWriter returns a writer that compares with what the watcher has.
func NewStatusWriter(config *rest.Config, w *Watcher, log *slog.Logger) (*StatusWriter, error) {
	c, err := client.New(config, client.Options{Scheme: w.scheme})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	return &StatusWriter{watcher: w, client: c, log: log, called: map[types.UID]call{}}, nil
}

// Called notes that the bridge was called. It never waits.
func (s *StatusWriter) Called(b route.Backend, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.called[b.BridgeUID] = call{b, at}
}

// Observe writes what a health report says, where the status says otherwise.
func (s *StatusWriter) Observe(ctx context.Context, b route.Backend, r health.Report) {
	ready := 0
	for _, server := range r.Servers {
		if server.Status == health.Healthy {
			ready++
		}
	}
	servers, tools := fmt.Sprintf("%d/%d", ready, len(r.Servers)), int32(min(r.Tools, 1<<30)) //nolint:gosec // Bounded.
	s.write(ctx, b, func(have *v1alpha1.HostedBridgeStatus) map[string]any {
		if have.Servers == servers && have.Tools != nil && *have.Tools == tools {
			return nil
		}
		return map[string]any{"servers": servers, "tools": tools}
	})
}

// Run writes the times of calls until ctx ends.
func (s *StatusWriter) Run(ctx context.Context) error {
	ticker := time.NewTicker(activityFlush)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.flush(ctx)
		}
	}
}

func (s *StatusWriter) flush(ctx context.Context) {
	s.mu.Lock()
	calls := s.called
	s.called = make(map[types.UID]call, len(calls))
	s.mu.Unlock()
	for _, c := range calls {
		s.write(ctx, c.backend, func(have *v1alpha1.HostedBridgeStatus) map[string]any {
			if have.LastActivityTime != nil && c.at.Sub(have.LastActivityTime.Time) < activityGrain {
				return nil
			}
			return map[string]any{"lastActivityTime": metav1.NewTime(c.at)}
		})
	}
}

// write patches the fields that change returns. A failure is logged and not
// repeated: the next report or call writes what is true by then.
func (s *StatusWriter) write(ctx context.Context, b route.Backend, change func(*v1alpha1.HostedBridgeStatus) map[string]any) {
	bridge, err := s.watcher.Bridge(ctx, b)
	if err != nil {
		return // Deleted meanwhile, or another of the same name.
	}
	fields := change(&bridge.Status)
	if fields == nil {
		return
	}
	// The UID makes the API server refuse the patch for a later bridge of the
	// same name.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": b.BridgeUID}, "status": fields})
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		target := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
		err = s.client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch),
			client.FieldOwner(v1alpha1.FieldOwnerIngress))
	}
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "status not written", "namespace", b.Namespace, "name", b.Name, "error", err)
	}
}
