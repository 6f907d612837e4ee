// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// attemptTimeout bounds one attempt. It is shorter than a call because
	// the SDK waits for ever for an answer whose connection has broken.
	attemptTimeout = 10 * time.Second

	// callTimeout bounds a call with all its attempts.
	callTimeout = 30 * time.Second
)

// caller makes one call after the other. Only its own goroutine writes to it,
// until the loop has stopped.
type caller struct {
	name    string
	attempt func(context.Context) error
	// end closes what the attempts have kept open.
	end func()

	calls    int
	lost     int // attempts that ended without an answer, and were tried again.
	slowest  time.Duration
	failures []string
}

// calls is a loop of calls by several callers at once.
type calls struct {
	callers  []*caller
	answered atomic.Int64
	ctx      context.Context
	cancel   context.CancelFunc
	wait     sync.WaitGroup
}

// startCalls begins to call the tenant's tool: over HTTP on a connection that
// is kept and on a new one for each call, and by the SDK's client in both eras.
func startCalls(t *testing.T, n tenant) *calls {
	t.Helper()
	l := &calls{callers: []*caller{
		httpCaller(n, "HTTP on one connection", newHTTPClient(true)),
		httpCaller(n, "HTTP on new connections", newHTTPClient(false)),
		sdkCaller(n, "the SDK's client, legacy", legacyVersion),
		sdkCaller(n, "the SDK's client, modern", modernVersion),
	}}
	l.ctx, l.cancel = context.WithCancel(t.Context())
	for _, c := range l.callers {
		l.wait.Go(func() {
			for l.ctx.Err() == nil {
				c.call(l.ctx, &l.answered)
			}
			c.end()
		})
	}
	t.Cleanup(func() { l.stop() })
	return l
}

// await waits until that many further calls were answered.
func (l *calls) await(t *testing.T, further int64) {
	t.Helper()
	target := l.answered.Load() + further
	wait.NoError(t, callTimeout, fmt.Sprintf("%d calls are answered", further), func(context.Context) error {
		if now := l.answered.Load(); now < target {
			return fmt.Errorf("%d to go", target-now)
		}
		return nil
	})
}

// stop ends the loop and returns what each caller saw.
func (l *calls) stop() []*caller {
	l.cancel()
	l.wait.Wait()
	return l.callers
}

// call makes one call, with as many attempts as it needs. An attempt that gets
// an answer is never repeated.
func (c *caller) call(loop context.Context, answeredCalls *atomic.Int64) {
	start := time.Now()
	for {
		ctx, cancel := context.WithTimeout(loop, attemptTimeout)
		err := c.attempt(ctx)
		cancel()
		if loop.Err() != nil {
			// The end of the loop cut this attempt off.
			return
		}
		if err == nil {
			c.calls++
			c.slowest = max(c.slowest, time.Since(start))
			answeredCalls.Add(1)
			return
		}
		if answered(err) || errors.Is(err, errRefused) || time.Since(start) > callTimeout {
			c.calls++
			c.failures = append(c.failures, fmt.Sprintf("after %s: %v", time.Since(start).Round(time.Millisecond), err))
			return
		}
		c.lost++
		pause(loop, 50*time.Millisecond)
	}
}

// pause keeps an attempt after a refused connection from being a busy loop.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// httpCaller calls over plain HTTP. Any answer but the tool's is a failure.
func httpCaller(n tenant, name string, client *http.Client) *caller {
	return &caller{name: name, end: client.CloseIdleConnections, attempt: func(ctx context.Context) error {
		a, err := send(ctx, client, n.url(), n.key.secret, modernCall)
		if err != nil {
			return err
		}
		if err := a.toolAnswered(); err != nil {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
		return nil
	}}
}

// sdkCaller calls by the SDK's client, on one session for as long as that
// lives.
func sdkCaller(n tenant, name, version string) *caller {
	client := newSDKClient(n, version)
	var session *mcp.ClientSession
	end := func() {
		if session != nil {
			// Where the session's connection has broken, closing says so too.
			_ = session.Close()
			session = nil
		}
	}
	return &caller{name: name, end: end, attempt: func(ctx context.Context) (err error) {
		defer func() {
			if said := client.refused.take(); len(said) > 0 {
				err = errors.Join(err, fmt.Errorf("%w: %v", errRefused, said))
			}
		}()
		if session == nil {
			if session, err = client.connect(ctx); err != nil {
				return err
			}
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
		if err != nil {
			if !answered(err) {
				end()
			}
			return err
		}
		return isToolText(result)
	}}
}
