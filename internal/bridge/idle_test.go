// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// idleTime is after which time the connections of these tests are idle.
const idleTime = time.Minute

// TestAnIdleConnectionEndsAndComesBack has nobody call for longer than the
// configuration allows.
func TestAnIdleConnectionEndsAndComesBack(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, two := newMemoryProgram(t, echoServer("one"), "legacy"), newMemoryProgram(t, echoServer("two"), "modern")
				p.Timeouts.Idle, two.Name = bridgeconfig.Duration(idleTime), "two"
				r := newPipedRig(t, upstream.DefaultTiming, bridgeconfig.Direct, p.Server, two.Server)
				client := r.connectStdio(t, clientEra, nil)
				must.Succeed(t, called(t, client, "one_echo"))
				time.Sleep(idleTime / 2)
				if r.bridge.set.servers()[0].Peek() == nil {
					t.Error("the connection ended too soon")
				}
				program, _ := p.last(t)
				_ = program.Wait()
				synctest.Wait()
				if r.bridge.set.servers()[0].Peek() != nil {
					t.Error("there is a connection")
				}
				if got := r.bridge.Health().Servers["one"]; got.Status != health.Healthy || got.Tools != 1 || got.Failures != 0 {
					t.Errorf("health = %+v, want what it was", got)
				}
				if got := toolNames(t, client); len(got) != 2 {
					t.Errorf("tools = %q, want both servers'", got)
				}
				if got := r.bridge.handshake.instructions(); got != "# one\n\nsay one\n\n# two\n\nsay two" {
					t.Errorf("instructions = %q, want both servers'", got)
				}
				if got := p.started(); got != 1 {
					t.Errorf("a list started the program: it was started %d times", got)
				}
				if err := called(t, client, "one_echo"); err != nil {
					t.Errorf("the next call: %v", err)
				}
				if got := p.started(); got != 2 {
					t.Errorf("after the next call the program was started %d times", got)
				}
			})
		})
	}
}
