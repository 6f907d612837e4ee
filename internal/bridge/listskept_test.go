// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// freshFor is a server of 2026-07-28 whose lists may be kept for some time.
func freshFor(t *testing.T, name string, ttl time.Duration) bridgeconfig.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = int(ttl.Milliseconds()) },
	})
	rawTool(s, "echo", nil)
	return named(newMemoryProgram(t, s, "modern").Server, name)
}

// silent is a server of an earlier version, which says nothing of keeping.
func silent(t *testing.T, name string) bridgeconfig.Server {
	t.Helper()
	return named(newMemoryProgram(t, echoServer(name), "legacy").Server, name)
}

func named(s bridgeconfig.Server, name string) bridgeconfig.Server {
	s.Name = name
	return s
}

// TestAListIsKeptNoLongerThanItIsTrue asks for lists of many servers, some time after the bridge has
// read them.
func TestAListIsKeptNoLongerThanItIsTrue(t *testing.T) {
	t.Parallel()
	const later = 5 * time.Second
	failing := func(t *testing.T) bridgeconfig.Server {
		return named(programOf(t, &slowProgram{fails: errors.New("it fails")}), "failing")
	}
	idle := func(t *testing.T) bridgeconfig.Server {
		s := silent(t, "idle")
		s.Timeouts.Idle = bridgeconfig.Duration(time.Second)
		return s
	}
	for name, tt := range map[string]struct {
		mode    bridgeconfig.Mode
		servers func(t *testing.T) []bridgeconfig.Server
		want    time.Duration
	}{
		"no server": {"", func(*testing.T) []bridgeconfig.Server { return nil }, time.Minute},
		"one that says nothing": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{silent(t, "a")}
		}, time.Minute},
		"one that says an hour": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{freshFor(t, "a", time.Hour)}
		}, time.Hour},
		"one that says not at all": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{freshFor(t, "a", 0)}
		}, 0},
		"one that starts": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{slow(t, "a", time.Hour)}
		}, 0},
		"two that say nothing": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{silent(t, "a"), silent(t, "b")}
		}, time.Minute},
		"two that say nothing, in mode Router": {bridgeconfig.Router, func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{silent(t, "a"), silent(t, "b")}
		}, time.Minute},
		"two, one of which says an hour": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{freshFor(t, "a", time.Hour), silent(t, "b")}
		}, time.Minute},
		"three, the least of which has time left": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{freshFor(t, "a", 20*time.Second), silent(t, "b"), freshFor(t, "c", time.Hour)}
		}, 20*time.Second - later},
		"two, the time of one of which is over": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{freshFor(t, "a", 3*time.Second), silent(t, "b")}
		}, 0},
		"two, one of which says not at all": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{freshFor(t, "a", 0), silent(t, "b")}
		}, 0},
		"two, one of which is starting": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{slow(t, "a", time.Hour), silent(t, "b")}
		}, 0},
		"two, one of which cannot be reached": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{failing(t), silent(t, "b")}
		}, 0},
		"two, one of which is not connected": {"", func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{idle(t), silent(t, "b")}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newBubbleRig(t, bridgeconfig.Config{Mode: tt.mode, Servers: tt.servers(t)})
				time.Sleep(later)
				_, body := r.do(t, "POST", r.url, modernBody(1, methods.ListTools, ""), modernHeader(methods.ListTools, ""))
				var result struct {
					TTLMs *int64 `json:"ttlMs"`
				}
				must.Succeed(t, json.Unmarshal(answerOf(t, body)["result"], &result))
				if result.TTLMs == nil || *result.TTLMs != tt.want.Milliseconds() {
					t.Errorf("the list should be kept for %d ms: %s", tt.want.Milliseconds(), body)
				}
			})
		})
	}
}

// TestNoListIsKeptWhoseServerFailsProbes, although its connection is open.
func TestNoListIsKeptWhoseServerFailsProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := echoServer("a")
		r := newBubbleRig(t, bridgeconfig.Config{Servers: []bridgeconfig.Server{
			named(newMemoryProgram(t, s, "legacy").Server, "a"), silent(t, "b"),
		}})
		client := r.connect(t, "modern", nil)
		if list := must.Value(client.ListTools(t.Context(), nil))(t); list.TTLMs != int(health.Interval.Milliseconds()) {
			t.Errorf("the list is kept for %d ms", list.TTLMs)
		}
		s.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
			return func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errors.New("no list") }
		})
		time.Sleep(health.Interval + time.Second)
		if list := must.Value(client.ListTools(t.Context(), nil))(t); len(list.Tools) != 2 || list.TTLMs != 0 {
			t.Errorf("a list of %d tools is kept for %d ms", len(list.Tools), list.TTLMs)
		}
	})
}
