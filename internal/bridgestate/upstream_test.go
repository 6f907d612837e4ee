// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestWhatTheBridgeIsToldOfAServer(t *testing.T) {
	lasting := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	memory := &v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "@scope/memory", Version: "1.2.3"}
	fetch := &v1alpha1.Install{Method: v1alpha1.InstallUVX, Package: "fetch", Version: "1.2"}
	over := func(s v1alpha1.Stdio) v1alpha1.Server {
		return v1alpha1.Server{Name: "one", Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &s}}
	}
	runs := func(command ...string) bridgeconfig.Server {
		return bridgeconfig.Server{Name: "one", Transport: bridgeconfig.Stdio, Program: &bridgeconfig.Program{
			Socket: "/var/run/hosted-bridge/stdio/one/shim.sock", Command: command,
		}}
	}
	for name, tt := range map[string]struct {
		server v1alpha1.Server
		want   bridgeconfig.Server
	}{
		"what is the default is not told": {
			v1alpha1.Server{Name: "one", Trust: v1alpha1.TrustTrusted, Transport: v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP, URL: "https://h"}},
			bridgeconfig.Server{Name: "one", URL: "https://h"}},
		"all of a server over HTTP": {
			v1alpha1.Server{
				Name: "one", Description: "d", Secrets: []v1alpha1.SecretName{"B", "A"}, Trust: v1alpha1.TrustSanitize,
				Transport: v1alpha1.Transport{
					Type: v1alpha1.TransportSSE, URL: "https://h", ProtocolVersion: "2024-11-05", DisableListening: true,
					Headers: []v1alpha1.Header{{Name: "X", Value: "v"}},
				},
				Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
					Grant: v1alpha1.OAuthAuthorizationCode, TokenURL: "https://t", ClientID: "me", ClientSecret: "A", TokenSecret: "B",
					Scopes: []string{"s"}, Resource: "https://r",
				}},
				Tools:          &v1alpha1.ToolFilter{Allow: []string{"a"}, Deny: []string{"b"}},
				Timeouts:       &v1alpha1.Timeouts{Connect: lasting(time.Second), Call: lasting(time.Minute), Idle: lasting(time.Hour)},
				Retry:          &v1alpha1.Retry{MaxAttempts: new(int32(3)), Delay: lasting(time.Millisecond)},
				CacheTTL:       lasting(2 * time.Second),
				MaxResultBytes: new(int32(4096)),
			},
			bridgeconfig.Server{
				Name: "one", Description: "d", Transport: bridgeconfig.SSE, URL: "https://h", Secrets: []string{"A", "B"}, Trust: bridgeconfig.Sanitize,
				ProtocolVersion: "2024-11-05", NoListening: true, Headers: []bridgeconfig.Header{{Name: "X", Value: "v"}},
				OAuth: &bridgeconfig.OAuth{
					Grant: bridgeconfig.AuthorizationCode, TokenURL: "https://t", ClientID: "me", ClientSecret: "A", Token: "B",
					Scopes: []string{"s"}, Resource: "https://r",
				},
				Tools:    bridgeconfig.Tools{Allow: []string{"a"}, Deny: []string{"b"}},
				Timeouts: bridgeconfig.Timeouts{Connect: bridgeconfig.Duration(time.Second), Call: bridgeconfig.Duration(time.Minute), Idle: bridgeconfig.Duration(time.Hour)},
				Retry:    bridgeconfig.Retry{MaxAttempts: 3, Delay: bridgeconfig.Duration(time.Millisecond)},
				CacheTTL: bridgeconfig.Duration(2 * time.Second), MaxResultBytes: 4096,
			}},
		"npx":                           {over(v1alpha1.Stdio{Install: memory}), runs("npx", "-y", "@scope/memory@1.2.3")},
		"npx with arguments":            {over(v1alpha1.Stdio{Install: memory, Args: []string{"-a", "b"}}), runs("npx", "-y", "@scope/memory@1.2.3", "-a", "b")},
		"npx in an image":               {over(v1alpha1.Stdio{Install: memory, Image: "node"}), runs("npx", "-y", "@scope/memory@1.2.3")},
		"uvx":                           {over(v1alpha1.Stdio{Install: fetch, Args: []string{"-a"}}), runs("uvx", "fetch@1.2", "-a")},
		"a command in an image":         {over(v1alpha1.Stdio{Image: "i", Command: []string{"node", "x"}, Args: []string{"-a"}}), runs("node", "x", "-a")},
		"a command rather than install": {over(v1alpha1.Stdio{Install: memory, Command: []string{"node"}}), runs("node")},
	} {
		t.Run(name, func(t *testing.T) {
			got := Upstream(tt.server)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again := Upstream(tt.server)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("asked again (-first +second):\n%s", diff)
			}
		})
	}
}

func TestWhatTheBridgeIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		spec   v1alpha1.HostedBridgeSpec
		egress bridgeconfig.Egress
		want   bridgeconfig.Config
	}{
		"defaults": {
			v1alpha1.HostedBridgeSpec{Mode: v1alpha1.ModeDirect, ToolPrefix: v1alpha1.ToolPrefixAlways}, bridgeconfig.Egress{}, bridgeconfig.Config{}},
		"the router": {
			v1alpha1.HostedBridgeSpec{Mode: v1alpha1.ModeRouter}, bridgeconfig.Egress{}, bridgeconfig.Config{Mode: bridgeconfig.Router}},
		"names with a prefix where there must be one": {
			v1alpha1.HostedBridgeSpec{ToolPrefix: v1alpha1.ToolPrefixAuto}, bridgeconfig.Egress{}, bridgeconfig.Config{ToolPrefix: bridgeconfig.PrefixAuto}},
		"a server whose recipe cannot be used": {
			v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{Name: "notes", Recipe: &v1alpha1.RecipeReference{Name: "notes"}}}}, bridgeconfig.Egress{}, bridgeconfig.Config{LeftOut: 1}},
		"names of another length": {
			v1alpha1.HostedBridgeSpec{ToolNameLength: new(int32(50))}, bridgeconfig.Egress{}, bridgeconfig.Config{ToolNameLength: 50}},
		"no tool of the bridge itself": {
			v1alpha1.HostedBridgeSpec{StatusTool: v1alpha1.StatusToolNever}, bridgeconfig.Egress{}, bridgeconfig.Config{StatusTool: bridgeconfig.StatusNever}},
		"names without a prefix, and the cluster's addresses": {
			v1alpha1.HostedBridgeSpec{ToolPrefix: v1alpha1.ToolPrefixNever}, bridgeconfig.Egress{Allow: []string{"10.96.0.0/16"}, Deny: []string{"10.96.0.1/32"}},
			bridgeconfig.Config{ToolPrefix: bridgeconfig.PrefixNever, Egress: bridgeconfig.Egress{Allow: []string{"10.96.0.0/16"}, Deny: []string{"10.96.0.1/32"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := bridge("tenants", "alice", time.Hour)
			tt.spec.UserID = "alice"
			b.Spec, b.Status.UserID = tt.spec, "alice"
			tt.want.UserID, tt.want.BridgeUID = "alice", string(b.UID)
			if tt.want.ToolNameLength == 0 {
				tt.want.ToolNameLength = bridgeconfig.DefaultToolNameLength
			}
			if diff := cmp.Diff(tt.want, Configuration(effective.Of(b), tt.egress, "")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestABridgeIsToldWhereItsUserConnectsAnAccount(t *testing.T) {
	login := v1alpha1.OAuth{Grant: v1alpha1.OAuthAuthorizationCode, TokenURL: "https://t", ClientID: "me", TokenSecret: "A"}
	with := func(change func(*v1alpha1.OAuth)) *v1alpha1.Auth {
		o := login
		change(&o)
		return &v1alpha1.Auth{OAuth: &o}
	}
	page := func(o *v1alpha1.OAuth) { o.AuthorizationURL = "https://login.example.com/authorize" }
	at := func(page string) *v1alpha1.Auth { return with(func(o *v1alpha1.OAuth) { o.AuthorizationURL = page }) }
	ungranted := with(func(o *v1alpha1.OAuth) { page(o); o.TokenSecret = "B" })
	for name, tt := range map[string]struct {
		auth     *v1alpha1.Auth
		loginURL string
		want     string
	}{
		"not of one that may not use its login":      {ungranted, "https://bridges.example.com", ""},
		"not where no browser may be sent":           {at("javascript:alert(1)//h"), "https://bridges.example.com", ""},
		"not at a page with a fragment":              {at("https://login.example.com/#a"), "https://bridges.example.com", ""},
		"where both are known":                       {with(page), "https://bridges.example.com", "https://bridges.example.com/oauth/connect/alice/one"},
		"not where the installation lets nobody in":  {with(page), "", ""},
		"not where nobody knows where the login is":  {with(func(*v1alpha1.OAuth) {}), "https://bridges.example.com", ""},
		"not of a server that is a client by itself": {with(func(o *v1alpha1.OAuth) { page(o); o.Grant = v1alpha1.OAuthClientCredentials }), "https://bridges.example.com", ""},
		"not of a server without a login":            {nil, "https://bridges.example.com", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := bridge("tenants", "alice", time.Hour)
			b.Spec.UserID = "alice"
			b.Spec.Servers = []v1alpha1.Server{{
				Name: "one", Auth: tt.auth, Secrets: []v1alpha1.SecretName{"A"}, Transport: v1alpha1.Transport{URL: "https://h"},
			}}
			got := Configuration(effective.Of(b), bridgeconfig.Egress{}, tt.loginURL).Servers[0]
			if got.ConnectURL != tt.want {
				t.Errorf("connectURL = %q, want %q", got.ConnectURL, tt.want)
			}
			if got.OAuth != nil && got.OAuth.AuthorizationURL != "" {
				t.Error("the login would be another one when its page moves")
			}
		})
	}
}

func TestWhichPodsAreToldOfANewConfiguration(t *testing.T) {
	told, untold, ending := Pod{Name: "a", Told: "new"}, Pod{Name: "b", Told: "old"}, Pod{Name: "c", Deleting: true}
	all := observed(withPods(told, untold, ending, Pod{Name: "d"}))
	rolling := workload(func(w *Workload) { w.Generation++ })
	early, late := Pod{Name: "e", Created: now}, Pod{Name: "l", Created: now.Add(time.Second)}
	made := func(at time.Time) Outcome {
		return Outcome{Workload: &rolled, ConfigMap: ConfigMap{Made: at, Written: now}}
	}
	atFirst := func(o *Observed) { o.Bridge.Generation = 1 }
	recipes := func(o *Observed) { o.Bridge.Status.Recipes = []v1alpha1.RecipeStatus{{Server: "a"}} }
	for name, tt := range map[string]struct {
		o    Observed
		out  Outcome
		want []string
	}{
		"those that were told of another":                                 {all, Outcome{Workload: &rolled}, []string{"b", "d"}},
		"none that is about to be replaced":                               {all, rolling, nil},
		"none where nothing was applied":                                  {all, Outcome{}, nil},
		"none where applying failed":                                      {all, Outcome{Workload: &rolled, Failed: Finding{Reason: "NotOwned"}}, nil},
		"none that was made after the configuration":                      {observed(withPods(late)), made(now.Add(-time.Hour)), nil},
		"one that was made in the same second":                            {observed(withPods(early, late)), made(now.Add(-time.Hour)), []string{"e"}},
		"none whose configuration has never changed":                      {observed(withPods(early, late), atFirst), made(now), nil},
		"one whose spec has changed in the second in which it was made":   {observed(withPods(early)), made(now), []string{"e"}},
		"one whose recipe may have changed in that second":                {observed(withPods(early), atFirst, recipes), made(now), []string{"e"}},
		"one that was told of another, and has started with a former one": {observed(withPods(untold)), made(now.Add(-time.Hour)), []string{"b"}},
		"none that is to end":                                             {observed(withPods(untold), withState(v1alpha1.StateSuspended)), Outcome{Workload: &rolled}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, pod := range Decide(tt.o, now).Untold(tt.o, tt.out, "new") {
				got = append(got, pod.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
