// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/bridgeprofile"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// configured returns what keeps the profile of first logins, of a file with these servers.
func (f *fixture) configured(t *testing.T, servers string) *bridgeprofile.Onboarding {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile.yaml")
	text := "apiVersion: hostedbridge.dev/v1alpha1\nkind: BridgeProfile\nspec:\n  tier: pro\n  who:\n    namespaces: [" + f.namespace +
		"]\n    groups: [{fromNamespace: " + f.namespace + ", value: onboarded}]\n  servers: " + servers + "\n"
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	profile := must.Value(bridgeprofile.ReadOnboardingProfile(file))(t)
	return &bridgeprofile.Onboarding{Client: f.Client, Namespace: f.Settings.Namespace, Profile: profile, Log: slog.New(slog.DiscardHandler)}
}

func TestFirstLoginsFollowTheConfiguration(t *testing.T) {
	f := newFixture(t)
	start := func(o *bridgeprofile.Onboarding) {
		t.Helper()
		must.Succeed(t, o.Start(t.Context()))
	}
	start(f.configured(t, "[{name: docs, transport: {url: 'https://docs.example.com/mcp'}}]"))
	p := &v1alpha1.BridgeProfile{ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: v1alpha1.OnboardingProfile}}
	f.expectStanding(t, p, "0/0 True:Accepted False:Complete True:Complete")
	b := f.bridge("member", func(s *v1alpha1.HostedBridgeSpec) { s.Groups = []string{v1alpha1.GroupOnboarded} })
	testenv.ExpectApplied(t, f.Client, b)
	f.expectConfigured(t, b, "docs.example.com", true)
	if b.Status.Tier != "pro" {
		t.Errorf("tier %s", b.Status.Tier)
	}

	version := p.ResourceVersion
	start(f.configured(t, "[{name: docs, transport: {url: 'https://docs.example.com/mcp'}}]"))
	if testenv.ExpectExists(t, f.Client, p); p.ResourceVersion != version {
		t.Error("the same configuration wrote it again")
	}
	start(f.configured(t, "[{name: wiki, transport: {url: 'https://wiki.example.com/mcp'}}]"))
	f.follow(t, p)
	f.expectConfigured(t, b, "wiki.example.com", true)
	f.expectConfigured(t, b, "docs.example.com", false)

	start(&bridgeprofile.Onboarding{Client: f.Client, Namespace: f.Settings.Namespace})
	testenv.ExpectMissing(t, f.Client, p)
	f.expectConfigured(t, b, "wiki.example.com", false)
}

func TestAProfileOfSomebodyElseStays(t *testing.T) {
	f := newFixture(t)
	p := f.profile(v1alpha1.OnboardingProfile, "docs", "https://docs.example.com/mcp")
	testenv.ExpectApplied(t, f.Client, p)
	var log logtest.Log
	o := f.configured(t, "[]")
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := o.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	wait.Until(t, "the log says why", func() bool { return strings.Contains(log.String(), "give it another name") })
	end()
	running.Wait()
	must.Succeed(t, (&bridgeprofile.Onboarding{Client: f.Client, Namespace: f.Settings.Namespace}).Start(t.Context()))
	if testenv.ExpectExists(t, f.Client, p); len(p.Spec.Servers) != 1 || p.Generation != 1 {
		t.Errorf("the profile was changed: %+v", p.Spec)
	}
}
