// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keptanswers

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot"
)

const (
	// maxSealed is how large an answer may be that is kept, in bytes, when it is packed: what the
	// store takes.
	maxSealed = 512 << 10
	// maxRecording is what all answers that are being recorded may take, in bytes. One bridge may
	// have a quarter.
	maxRecording = 16 << 20
	// maxWaiting is how many recorded answers wait to be kept.
	maxWaiting = 256
	// keepAgain is when an answer is kept again that is as before: the store may have lost it.
	keepAgain = 10 * time.Minute
	// maxKnown bounds the answers of which is known what was kept, of some 150 bytes each.
	maxKnown = 16 << 10
	// sweepEvery is how often the store is told which bridges there are, and confirmedWithin how
	// old the API server's word about them may be.
	sweepEvery      = 5 * time.Minute
	confirmedWithin = time.Minute
)

// Store keeps answers for all replicas.
type Store interface {
	// Get returns an answer, or nil if the store does not have it. It does not take long.
	Get(ctx context.Context, bridge, view string) ([]byte, error)
	Put(ctx context.Context, bridge, view string, sealed []byte) error
	// Keep removes the answers of all bridges but these.
	Keep(ctx context.Context, bridges []string) error
}

// Routes is what is known of bridges.
type Routes interface {
	Current() *route.Table
	// Confirmed is when the API server last vouched for what Current returned before.
	Confirmed() time.Time
}

// Options are the parts of a Keeper. None may be nil.
type Options struct {
	Store   Store
	Box     *snapshot.Box
	Routes  Routes
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Keeper keeps answers. It is safe for concurrent use. A nil Keeper keeps none.
type Keeper struct {
	Options

	metrics  *metrics
	memory   *limits.Memory[types.UID]
	recorded chan recorded
	known    map[string]known // used by Run alone
}

// known is what was kept last of an answer.
type known struct {
	digest [32]byte
	at     time.Time
}

// New returns a keeper, whose Run is to run.
func New(o Options) (*Keeper, error) {
	m, err := newMetrics(o.Metrics)
	return &Keeper{
		Options: o, metrics: m, memory: limits.NewMemory[types.UID](maxRecording, limits.UserShare),
		recorded: make(chan recorded, maxWaiting), known: map[string]known{},
	}, err
}

// Answer returns what a bridge last answered to a question with the configuration that it has now,
// nil if that is not known.
func (k *Keeper) Answer(ctx context.Context, b route.Backend, q *Question) *http.Response {
	if q.method == methods.Initialized {
		return responseOf(http.StatusAccepted, http.Header{}, nil)
	}
	if b.Configuration == "" {
		return nil
	}
	result := resultMissing
	defer func() { k.metrics.given.WithLabelValues(result).Inc() }()
	for _, view := range []string{q.shared, q.own} {
		if view == "" {
			continue
		}
		sealed, err := k.Store.Get(ctx, string(b.BridgeUID), view)
		if err != nil {
			result = resultFailed
			return nil
		}
		if res := k.open(sealed, b, view, q); res != nil {
			result = resultGiven
			return res
		}
	}
	return nil
}

// open returns a kept answer, nil if it is of another configuration.
func (k *Keeper) open(sealed []byte, b route.Backend, view string, q *Question) *http.Response {
	packed, err := k.Box.Open(sealed, words(b.BridgeUID, b.Configuration, view))
	if err != nil {
		return nil
	}
	a, err := unpack(packed)
	if err != nil {
		return nil
	}
	return a.response(q, time.Now())
}

// words are what an answer is kept with: nothing else opens it.
func words(bridge types.UID, configuration, view string) string {
	return strings.Join([]string{string(bridge), configuration, view}, "\n")
}

// Run keeps what is recorded, and has the store remove what belongs to no bridge, until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-k.recorded:
			k.metrics.kept.WithLabelValues(k.keep(ctx, r)).Inc()
			r.memory.Release()
		case <-sweep.C:
			k.sweep(ctx)
		}
	}
}

// sweep tells the store which bridges there are. A table that nobody vouches for may lack some.
func (k *Keeper) sweep(ctx context.Context) {
	confirmed, table := k.Routes.Confirmed(), k.Routes.Current()
	if table == nil || time.Since(confirmed) > confirmedWithin {
		return
	}
	bridges := make([]string, 0, table.Len())
	for b := range table.Backends {
		bridges = append(bridges, string(b.BridgeUID))
	}
	if err := k.Store.Keep(ctx, bridges); err != nil && ctx.Err() == nil {
		k.Log.WarnContext(ctx, "kept answers of deleted bridges were not removed", "error", err)
	}
}
