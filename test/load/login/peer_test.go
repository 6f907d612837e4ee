// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// peerModule is where the end-to-end tests have the peer.
const peerModule = "../../e2e/node_modules/oidc-provider"

func peerVersion(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(peerModule, "package.json"))
	if err != nil {
		t.Fatalf("npm ci has not run in test/e2e: %v", err)
	}
	var of struct{ Version string }
	must.Succeed(t, json.Unmarshal(content, &of))
	return of.Version
}

// peer starts npm's oidc-provider.
func (w *town) peer(t *testing.T) way {
	t.Helper()
	module := must.Value(filepath.Abs(filepath.Join(peerModule, "lib", "index.js")))(t)
	addr := world.UnusedAddress(t)
	issuer := "http://" + addr
	settings, err := json.Marshal(map[string]string{
		"module": "file://" + module, "issuer": issuer, "addr": addr, "client": clientID, "redirectURI": redirectURI, "resource": issuer + "/mcp",
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "peer.mjs", string(settings))
	cmd.Env = append(os.Environ(), "NODE_ENV=production")
	p := world.Start(t, w.Dir, "oidc-provider", cmd)
	p.Addr = addr
	p.Await(t, "answers", func() bool { return world.OK(issuer + "/.well-known/openid-configuration") })
	return way{program: p, do: &peer{issuer}}
}

// peer is a server whose people log in at itself.
type peer struct{ issuer string }

// login implements doer.
func (s *peer) login(ctx context.Context, person int) (took, error) {
	var t took
	b, r := newBrowser(), newRequest(s.issuer+"/mcp")
	watch := stopwatch(time.Now())
	p, err := b.get(ctx, s.issuer+"/auth?"+r.query("openid mcp:read mcp:call"))
	if err == nil {
		p, err = b.follow(ctx, p)
	}
	if err != nil {
		return t, fmt.Errorf("authorize: %w", err)
	}
	t[authorize] = watch.lap()
	// Who gives a name is logged in, which is what it has for the provider.
	if p, err = b.submit(ctx, p, url.Values{"name": {subjectOf(person)}}); err == nil {
		p, err = b.follow(ctx, p)
	}
	if err != nil {
		return t, fmt.Errorf("callback: %w", err)
	}
	t[callback] = watch.lap()
	if p, err = b.submit(ctx, p, url.Values{"answer": {"allow"}}); err == nil {
		p, err = b.follow(ctx, p)
	}
	if err != nil {
		return t, fmt.Errorf("consent: %w", err)
	}
	code, err := r.code(p, s.issuer)
	if err != nil {
		return t, fmt.Errorf("consent: %w", err)
	}
	t[consent] = watch.lap()
	_, err = r.redeem(ctx, s.issuer+"/token", code, &t)
	return t, err
}
