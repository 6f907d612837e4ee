// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestAServerWithAFaultIsOutOfServiceAlone has the configuration take a server
// out of service, and put it back.
func TestAServerWithAFaultIsOutOfServiceAlone(t *testing.T) {
	t.Parallel()
	const says = "the bridge ended while it handled this server"
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			one, two := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN"), newWitness(t, "two", "modern", nil)
			r := newRig(t, fast, one.Server, two.Server)
			r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "good-token"))
			opts, changed := changeCounter()
			client := r.connect(t, clientEra, opts)
			for _, tool := range []string{"one_echo", "two_echo"} {
				must.Succeed(t, called(t, client, tool))
			}
			connected(t, r.bridge)
			connects, others := one.connected(), two.connected()

			r.reconfigure(t, func(c *bridgeconfig.Config) { c.Servers[0].Fault = says })
			next(t, changed, "list change")
			if got := r.bridge.Health().Servers["one"]; got.Status != health.Unhealthy || got.Error != says || got.Tools != 0 {
				t.Errorf("health = %+v, want unhealthy at once: %s", got, says)
			}
			if diff := cmp.Diff([]string{"two_echo", "bridge_status"}, toolNames(t, client)); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if err := called(t, client, "one_echo"); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("error = %v, want one that says why", err)
			}
			// Neither secrets nor calls bring it back.
			r.bridge.UseSecrets(secretsOf("r2", "TOKEN", "other-token"))
			if err := called(t, client, "one_echo"); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("error = %v, want one that says why", err)
			}
			if got := one.connected(); got != connects {
				t.Errorf("%d connections to a server that is out of service", got-connects)
			}
			if err := called(t, client, "two_echo"); err != nil {
				t.Errorf("the other server suffers: %v", err)
			}
			if got := two.connected(); got != others {
				t.Errorf("the other server was connected to %d times more", got-others)
			}

			r.reconfigure(t, func(c *bridgeconfig.Config) { c.Servers[0].Fault = "" })
			wait.Until(t, "both servers' tools", func() bool {
				next(t, changed, "list change")
				return cmp.Equal(toolNames(t, client), []string{"one_echo", "two_echo"})
			})
			if err := called(t, client, "one_echo"); err != nil {
				t.Errorf("back in service: %v", err)
			}
		})
	}
}

// TestAServerWithAFaultIsNotConnectedToAtTheStart is what a new pod does with
// the server that ended the one before.
func TestAServerWithAFaultIsNotConnectedToAtTheStart(t *testing.T) {
	t.Parallel()
	one, two := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN"), newWitness(t, "two", "modern", nil)
	one.Server.Fault = "it ends the bridge"
	r := newRig(t, fast, one.Server, two.Server)
	// Its secrets have not arrived, and nobody waits for them.
	client := r.connect(t, "legacy", nil)
	if diff := cmp.Diff([]string{"two_echo", "bridge_status"}, toolNames(t, client)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if got := r.bridge.Health().Servers["one"]; got.Status != health.Unhealthy || got.Error != "it ends the bridge" {
		t.Errorf("health = %+v, want unhealthy and why", got)
	}
	if err := called(t, client, "one_echo"); err == nil || !strings.Contains(err.Error(), "it ends the bridge") {
		t.Errorf("error = %v, want one that says why, of a tool that this process has never seen", err)
	}
	if got := one.connected(); got != 0 {
		t.Errorf("%d connections to a server that is out of service", got)
	}
}
