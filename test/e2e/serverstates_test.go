// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestAServerThatCannotBeUsedIsSeenEverywhere has a bridge with a good server,
// one whose name cannot be resolved and one whose address nobody listens at.
func TestAServerThatCannotBeUsedIsSeenEverywhere(t *testing.T) {
	t.Parallel()
	n := tenant{name: installed.name("faults"), key: mint(t)}
	b := bridge(n.name, []credential{n.key}, "good")
	for name, host := range map[string]string{"nohost": "no-such-server." + installed.namespace + ".svc", "noport": "127.0.0.1:9"} {
		b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{
			Type: v1alpha1.TransportStreamableHTTP, URL: "http://" + host + "/mcp",
		}})
	}
	began := time.Now()
	create(t, b)
	awaitReady(t, n.name)
	wait.NoError(t, wait.Limit, "the status says which servers cannot be used, and why", func(ctx context.Context) error {
		b, err := getBridge(ctx, n.name)
		if err != nil {
			return err
		}
		states := map[string]v1alpha1.ServerState{}
		for _, s := range b.Status.ServerStates {
			states[s.Name] = s
		}
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionServersHealthy)
		switch {
		case states["good"].State != v1alpha1.ServerHealthy || states["good"].Tools == 0,
			states["nohost"].Reason != "NameNotResolved", states["noport"].State != v1alpha1.ServerUnhealthy || states["noport"].Message == "":
			return fmt.Errorf("the states are %+v", states)
		case c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "server nohost: the server's name could not be resolved"):
			return fmt.Errorf("the condition is %+v", c)
		}
		return nil
	})
	t.Logf("seen in the status after %s", time.Since(began).Round(100*time.Millisecond))
	wait.NoError(t, wait.Limit, "an event and the default columns say it", func(ctx context.Context) error {
		events, err := installed.runKubectl(ctx, "", "describe", "hostedbridge", n.name, "--namespace="+installed.namespace)
		if err != nil {
			return fmt.Errorf("%w: %s", err, events)
		}
		columns, err := installed.runKubectl(ctx, "", "get", "hostedbridge", n.name, "--namespace="+installed.namespace)
		if err != nil {
			return fmt.Errorf("%w: %s", err, columns)
		}
		if !strings.Contains(events, "ServersUnhealthy") || !strings.Contains(columns, "1/3") {
			return fmt.Errorf("kubectl says:\n%s\n%s", columns, events)
		}
		return nil
	})
	said := healthOf(t, n)
	if got := said.Servers["nohost"]; got.Reason != health.ReasonNameNotResolved || !strings.Contains(got.Error, "could not be resolved") {
		t.Errorf("/health says %+v", got)
	}
	if err := callNamed(t.Context(), n, "nohost_"+tool); err == nil || !strings.Contains(err.Error(), "could not be resolved") {
		t.Errorf("a call to a server that cannot be used: %v", err)
	}
	if err := callNamed(t.Context(), n, "good_"+tool); err != nil {
		t.Errorf("a call to the good server: %v", err)
	}
}

// healthOf returns what /health says of the tenant's bridge.
func healthOf(t *testing.T, n tenant) health.Report {
	t.Helper()
	var report health.Report
	wait.NoError(t, wait.Limit, "/health answers", func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.base()+"/health", nil)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+n.key.secret)
		resp, err := newHTTPClient(false).Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if err := json.NewDecoder(resp.Body).Decode(&report); err != nil || resp.StatusCode != http.StatusOK {
			return errors.Join(err, fmt.Errorf("status %d", resp.StatusCode))
		}
		return nil
	})
	return report
}
