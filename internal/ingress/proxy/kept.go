// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/ingress/keptanswers"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// readQuestion notes what x asks whose answer may be kept, and what the bridge is told of that.
func (p *Proxy) readQuestion(x *Request, listens bool) {
	switch {
	case p.Kept == nil || x.SSE || x.Method != http.MethodPost:
	case listens:
		x.Lists = bridgeconfig.ListsAwaited // Its client may have lists that were kept.
	case x.Query == "":
		if x.question = keptanswers.QuestionOf(x.Header, x.Body, x.Messages, time.Now()); x.question != nil {
			x.Lists = bridgeconfig.ListsKept
		}
	}
}

// keptAnswer returns what the bridge of x answered last if its pod cannot be called now, and has
// the bridge woken. It returns nil if x is to wait.
func (p *Proxy) keptAnswer(ctx context.Context, x *Request) *http.Response {
	if x.question == nil || !p.Activator.Absent(x.Principal) && !x.question.NeedsNoBridge() {
		return nil
	}
	b, err := p.Bridge(x.Principal)
	if err != nil || b.State == route.Suspended {
		return nil
	}
	res := p.Kept.Answer(ctx, b, x.question)
	if res != nil {
		p.Activator.WakeBeside(ctx, x.Principal)
	}
	return res
}

// ask delivers x. A bridge whose servers are starting declines a question: then x gets what the bridge
// answered last, or waits for the servers.
func (p *Proxy) ask(ctx context.Context, x *Request) (*http.Response, error) {
	res, err := p.deliver(ctx, x)
	if err != nil || x.question == nil {
		return res, err
	}
	if res.Header.Get(bridgeconfig.HeaderLists) == bridgeconfig.ListsDeclined {
		_ = res.Body.Close()
		if kept := p.Kept.Answer(ctx, x.backend, x.question); kept != nil {
			return kept, nil
		}
		x.Lists = bridgeconfig.ListsAwaited
		if res, err = p.deliver(ctx, x); err != nil {
			return nil, err
		}
	}
	p.Kept.Record(x.backend.BridgeUID, x.question, res)
	return res, nil
}
