// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// manifest is a HostedBridge as somebody would write it, with the lines of its
// spec.
func manifest(name string, spec ...string) string {
	out := "apiVersion: hostedbridge.dev/v1alpha1\nkind: HostedBridge\nmetadata:\n  name: " + name + "\nspec:\n"
	for _, line := range spec {
		out += "  " + line + "\n"
	}
	return out
}

func TestABadManifestIsRefusedWithTheFieldAndTheAcceptedForm(t *testing.T) {
	t.Parallel()
	name := installed.name("mallory")
	tests := []struct {
		name     string
		manifest string
		want     []string
	}{
		{
			"a user id in capitals",
			manifest(name, "userID: Mallory"),
			[]string{"spec.userID", v1alpha1.UserIDForm},
		},
		{
			"a user id with a slash",
			manifest(name, "userID: a/b"),
			[]string{"spec.userID", v1alpha1.UserIDForm},
		},
		{
			"a name that is no user id, and no user id",
			manifest(name+".example", "tier: free"),
			[]string{"spec.userID", v1alpha1.UserIDForm},
		},
		{
			"a server's address that is no URL",
			manifest(name, "servers:", "- name: x", "  transport: {url: everything}"),
			[]string{"spec.servers[0].transport.url", "https://mcp.example.com/mcp"},
		},
		{
			"a key instead of its hash",
			manifest(name, "apiKeys:", "- {id: abcdefgh1234, hash: hb_abcdefgh1234_x}"),
			[]string{"spec.apiKeys[0].hash", "sha256:"},
		},
		{
			"a field that does not exist",
			manifest(name, "teir: free"),
			[]string{"spec.teir"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := installed.runKubectl(t.Context(), tt.manifest, "apply", "--filename=-")
			if err == nil {
				t.Fatalf("kubectl apply takes it: %s", out)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("the message has no %q: %s", want, out)
				}
			}
		})
	}
}

func TestAChangedUserIDIsRefused(t *testing.T) {
	t.Parallel()
	name := installed.name("frank")
	create(t, bridge(name, nil, "everything"))
	out, err := installed.runKubectl(t.Context(), manifest(name, "userID: "+installed.name("grace")),
		"apply", "--server-side", "--force-conflicts", "--filename=-")
	if err == nil || !strings.Contains(out, "spec.userID is immutable") {
		t.Errorf("kubectl apply says %q (%v), want that spec.userID is immutable", out, err)
	}
	// The same user id written out is no change.
	if out, err := installed.runKubectl(t.Context(), manifest(name, "userID: "+name),
		"apply", "--server-side", "--force-conflicts", "--filename=-"); err != nil {
		t.Errorf("kubectl apply refuses the user id in effect: %s", out)
	}
}

func TestAnUnknownTierIsNamedWithTheKnownOnes(t *testing.T) {
	t.Parallel()
	b := bridge(installed.name("heidi"), nil, "everything")
	b.Spec.Tier = "platinum"
	create(t, b)
	message := awaitRefused(t, b.Name, v1alpha1.ReasonUnknownTier)
	for _, want := range []string{"spec.tier", "platinum", "free", "pro", "business"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message has no %q: %s", want, message)
		}
	}
}

func TestTheOldestClaimToAUserIDWins(t *testing.T) {
	t.Parallel()
	ivan := newTenant(t, "ivan", "everything")
	thief := mint(t)
	second := bridge(installed.name("ivan-too"), []credential{thief}, "everything")
	second.Spec.UserID = v1alpha1.UserID(ivan.name)
	second.Spec.APIKeys = []v1alpha1.APIKey{thief.listed(ivan.name)}
	uid := create(t, second)
	message := awaitRefused(t, second.Name, v1alpha1.ReasonUserIDConflict)
	if !strings.Contains(message, "spec.userID") || !strings.Contains(message, ivan.name) {
		t.Errorf("the message names neither spec.userID nor %s: %s", ivan.name, message)
	}
	client := newHTTPClient(false)
	if err := allowed(t.Context(), client, ivan.url(), thief.secret); err == nil {
		t.Error("the younger object's key opens the older one's bridge")
	}
	if err := callTool(t.Context(), client, ivan.url(), ivan.key.secret); err != nil {
		t.Errorf("the older object's bridge: %v", err)
	}
	if err := remains(t.Context(), uid); err != nil {
		t.Errorf("the younger object got something: %v", err)
	}
}

func TestKubectlShowsWhatMatters(t *testing.T) {
	t.Parallel()
	judy := newTenant(t, "judy", "everything")
	must.Succeed(t, callTool(t.Context(), newHTTPClient(false), judy.url(), judy.key.secret))
	header := "NAME USER TIER PROFILE PHASE READY SERVERS TOOLS URL LAST-ACTIVE AGE"
	// The ingress counts the tools by itself, and notes a call, but neither
	// at once.
	wait.NoError(t, wait.Limit, "kubectl get hb shows the bridge whole", func(ctx context.Context) error {
		out, err := installed.runKubectl(ctx, "", "get", "hb", judy.name)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if got := strings.Join(strings.Fields(lines[0]), " "); got != header {
			t.Fatalf("the columns are %q, want %q", got, header)
		}
		row := strings.Fields(lines[1]) // No profile decides over judy.
		if len(row) != len(strings.Fields(header))-1 || row[6] == "0" {
			return fmt.Errorf("a column is empty: %q", lines[1])
		}
		want := []string{judy.name, judy.name, "free", string(v1alpha1.PhaseRunning), "True", "1/1"}
		if diff := cmp.Diff(want, row[:6]); diff != "" {
			return fmt.Errorf("the row differs (-want +got):\n%s", diff)
		}
		if !strings.HasSuffix(row[7], "/u/"+judy.name+"/mcp") {
			return fmt.Errorf("the URL is %s", row[7])
		}
		return nil
	})
	wide := strings.Fields(strings.SplitN(mustKubectl(t, "get", "hostedbridges", judy.name, "--output=wide"), "\n", 2)[0])
	for _, column := range []string{"KEY-VERSION", "POD"} {
		if !slices.Contains(wide, column) {
			t.Errorf("the wide columns are %v, want %s among them", wide, column)
		}
	}
}
