// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keptanswers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// recorded is an answer that a bridge has given.
type recorded struct {
	bridge   types.UID
	question *Question
	mark     bridgeconfig.KeptMark
	session  string
	raw      []byte
	events   bool
	memory   *limits.Reservation
}

// Record has the answer of a bridge kept when its reader has read it to its end, if the bridge says
// that it may be.
func (k *Keeper) Record(bridge types.UID, q *Question, res *http.Response) {
	if q.method == methods.Initialized || res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "" {
		return
	}
	res.Body = &recording{ReadCloser: res.Body, keeper: k, of: res, recorded: recorded{
		bridge: bridge, question: q, session: res.Header.Get(headerSession), events: bridgeclient.IsEventStream(res.Header),
		memory: k.memory.For(bridge),
	}}
}

// recording is the body of an answer that is read and recorded.
type recording struct {
	io.ReadCloser
	recorded

	keeper *Keeper
	of     *http.Response
	over   bool
}

// Read implements io.Reader.
func (r *recording) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if r.over {
		return n, err
	}
	if len(r.raw)+n > maxResult || r.memory.Reserve(int64(n)) != nil {
		r.drop()
		return n, err
	}
	r.raw = append(r.raw, p[:n]...)
	if errors.Is(err, io.EOF) {
		r.end()
	}
	return n, err
}

// Close implements io.Closer.
func (r *recording) Close() error {
	r.drop()
	return r.ReadCloser.Close()
}

// drop forgets what was recorded.
func (r *recording) drop() {
	if !r.over {
		r.over, r.raw = true, nil
		r.memory.Release()
	}
}

// end hands the answer over to Run, if it may be kept and Run is not behind.
func (r *recording) end() {
	mark, ok := bridgeconfig.ParseKeptMark(r.of.Trailer.Get(bridgeconfig.HeaderLists))
	if !ok {
		r.drop()
		return
	}
	r.mark = mark
	select {
	case r.keeper.recorded <- r.recorded:
		r.over = true
	default:
		r.keeper.metrics.kept.WithLabelValues(resultDropped).Inc()
		r.drop()
	}
}

// keep keeps an answer, and returns what came of it.
func (k *Keeper) keep(ctx context.Context, r recorded) (result string) {
	a, err := parseAnswer(r.raw, r.events)
	if err == nil && r.question.method == methods.Initialize {
		a.Session = r.session
		_, err = token.Claims(r.session) // A bridge does not restore any other session.
	}
	if err != nil {
		return resultDropped
	}
	view := r.view()
	key, now := words(r.bridge, "", view), time.Now()
	digest := token.Digest([]byte(r.mark.Configuration), a.Result)
	if last := k.known[key]; last.digest == digest && now.Sub(last.at) < keepAgain {
		return resultUnchanged
	}
	packed, err := a.pack()
	if err != nil {
		return resultDropped
	}
	sealed := k.Box.Seal(packed, words(r.bridge, r.mark.Configuration, view))
	if len(sealed) > maxSealed {
		return resultDropped
	}
	if err := k.Store.Put(ctx, string(r.bridge), view, sealed); err != nil {
		return resultFailed
	}
	if len(k.known) >= maxKnown {
		clear(k.known)
	}
	k.known[key] = known{digest, now}
	return resultKept
}

// view returns the name under which the answer is kept: that for all clients if there is one, and
// the bridge does not say that the answer is for one of them.
func (r *recorded) view() string {
	if r.question.shared == "" || r.mark.OfClient {
		return r.question.own
	}
	return r.question.shared
}
