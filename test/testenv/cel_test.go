// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// valid returns a HostedBridge that the API server takes.
func valid(namespace, name string) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.HostedBridgeSpec{
			Servers: []v1alpha1.Server{{Name: "one", Transport: v1alpha1.Transport{URL: "https://mcp.example.com/@scope/mcp"}}},
			APIKeys: []v1alpha1.APIKey{{ID: "0123456789Ab", Hash: "sha256:" + strings.Repeat("0a", 32)}},
		},
	}
}

func TestBadManifestsAreRefusedWithTheFieldAndTheAcceptedForm(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	const form = "lower-case letters, digits or hyphens"
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.HostedBridge)
		want   []string
	}{
		{"a user id with an upper-case letter", func(b *v1alpha1.HostedBridge) { b.Spec.UserID = "Alice" }, []string{"spec.userID", form}},
		{"a user id that ends with a hyphen", func(b *v1alpha1.HostedBridge) { b.Spec.UserID = "a-" }, []string{"spec.userID", form}},
		{"a user id that is a path", func(b *v1alpha1.HostedBridge) { b.Spec.UserID = "a/../b" }, []string{"spec.userID", form}},
		{"a user id that is too long", func(b *v1alpha1.HostedBridge) { b.Spec.UserID = v1alpha1.UserID(strings.Repeat("a", 64)) }, []string{"spec.userID", "63"}},
		{"a name with a dot and no user id", func(b *v1alpha1.HostedBridge) { b.Name = "alice.smith" }, []string{"spec.userID", form}},
		{"an unknown mode", func(b *v1alpha1.HostedBridge) { b.Spec.Mode = "Fast" }, []string{"spec.mode", "Direct"}},
		{"an idle time that is no duration", func(b *v1alpha1.HostedBridge) {
			b.Spec.IdleTimeout = &metav1.Duration{Duration: 100 * time.Millisecond}
		}, []string{"spec.idleTimeout", "15m"}},
		{"no idle time", func(b *v1alpha1.HostedBridge) { b.Spec.IdleTimeout = &metav1.Duration{} }, []string{"spec.idleTimeout", "at least 1s"}},
		{"an idle time before it began", func(b *v1alpha1.HostedBridge) { b.Spec.IdleTimeout = &metav1.Duration{Duration: -time.Hour} }, []string{"spec.idleTimeout", "15m"}},
		{"an unknown desired state", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = "Asleep" }, []string{"spec.desiredState", "OnDemand"}},
		{"a server without a scheme", func(b *v1alpha1.HostedBridge) { b.Spec.Servers[0].Transport.URL = "mcp.example.com" }, []string{"spec.servers[0].transport.url", "absolute http or https"}},
		{"a server with a password in its URL", func(b *v1alpha1.HostedBridge) { b.Spec.Servers[0].Transport.URL = "https://me:x@mcp.example.com" }, []string{"spec.servers[0].transport.url", "without credentials"}},
		{"a server over another protocol", func(b *v1alpha1.HostedBridge) { b.Spec.Servers[0].Transport.URL = "file:///etc/passwd" }, []string{"spec.servers[0].transport.url", "absolute http or https"}},
		{"a server with a bad name", func(b *v1alpha1.HostedBridge) { b.Spec.Servers[0].Name = "One" }, []string{"spec.servers[0].name", form}},
		{"two servers of one name", func(b *v1alpha1.HostedBridge) { b.Spec.Servers = append(b.Spec.Servers, b.Spec.Servers[0]) }, []string{"spec.servers[1]", "Duplicate"}},
		{"a key in place of its hash", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys[0].Hash = "hb_0123456789Ab_secret" }, []string{"spec.apiKeys[0].hash", "never the key itself"}},
		{"a key bound to a user in place of its hash", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys[0].Hash = "user-hb_0123456789Ab_secret" }, []string{"spec.apiKeys[0].hash", "never the key itself"}},
		{"a hash bound to something else", func(b *v1alpha1.HostedBridge) {
			b.Spec.APIKeys[0].Hash = "name-sha256:" + strings.Repeat("0a", 32)
		}, []string{"spec.apiKeys[0].hash", "user-sha256:"}},
		{"two keys of one id", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = append(b.Spec.APIKeys, b.Spec.APIKeys[0]) }, []string{"spec.apiKeys[1]", "Duplicate"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := valid(namespace, "refused")
			test.change(b)
			expectRefused(t, c.Create(t.Context(), b), test.want...)
		})
	}
}

// expectRefused checks that the API server refused, and said all of want.
func expectRefused(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("the API server takes it")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the message does not say %q: %v", w, err)
		}
	}
}

func TestAUserIDCannotBeChanged(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	for _, test := range []struct {
		name     string
		from, to v1alpha1.UserID
		refused  bool
	}{
		{"to another", "alice", "bob", true},
		{"from the object's name to another", "", "bob", true},
		{"to the object's name, which it was not", "alice", "", true},
		{"from the object's name to the same, in words", "", "named", false},
		{"from the same, in words, to the object's name", "named", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := valid(namespace, "named")
			b.Spec.UserID = test.from
			testenv.ExpectApplied(t, c, b)
			defer func() {
				if err := c.Delete(t.Context(), b); err != nil {
					t.Error(err)
				}
			}()
			b.Spec.UserID = test.to
			err := c.Update(t.Context(), b)
			if test.refused && (err == nil || !strings.Contains(err.Error(), "spec.userID is immutable")) {
				t.Errorf("error %v, want one that says that spec.userID is immutable", err)
			}
			if !test.refused && err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	c := testenv.Client(t)
	b := valid(testenv.Namespace(t, c), "defaults")
	testenv.ExpectApplied(t, c, b)
	testenv.ExpectExists(t, c, b)
	if b.Spec.Tier != "free" || b.Spec.Mode != v1alpha1.ModeDirect || b.Spec.DesiredState != v1alpha1.StateOnDemand ||
		b.Spec.Servers[0].Transport.Type != v1alpha1.TransportStreamableHTTP {
		t.Errorf("defaults are %+v", b.Spec)
	}
}
