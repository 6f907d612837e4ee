// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const testAdminKey = "an-admin-key-of-tests"

// startTwo runs two replicas that share an admin key. Each has an audit index
// of its own.
func startTwo(t *testing.T, flags ...string) (first, second *installation) {
	t.Helper()
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "admin-key")
	must.Succeed(t, os.WriteFile(keyFile, []byte(testAdminKey+"\n"), 0o600))
	flags = append(flags, "--admin-key-file="+keyFile, "--audit-file="+filepath.Join(dir, "trail"), "--audit-index=sqlite:"+filepath.Join(dir, "index"))
	first = startAt(t, testenv.Client(t), testenv.Kubeconfig(t), 8443, flags...)
	other := *first
	other.options.Audit.Sink.Path, other.options.Audit.Index = "", "none"
	other.launch()
	t.Cleanup(func() { other.end() })
	first.publishCA()
	first.await("readiness of the first", first.ready)
	other.await("readiness of the second", other.ready)
	return first, &other
}

// admin makes an administrator's request, decodes its answer into v where that
// is not nil, and returns the status.
func (i *installation) admin(method, path, body string, v any) int {
	i.t.Helper()
	status, answer := i.send(method, "/admin/"+path, testAdminKey, body)
	if v != nil && status < 300 {
		if err := json.Unmarshal([]byte(answer), v); err != nil {
			i.t.Fatalf("%s: %v", answer, err)
		}
	}
	return status
}

func TestKeysOfTheAdminSurface(t *testing.T) {
	t.Parallel()
	first, second := startTwo(t)
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: first.namespace, Name: first.namespace},
		Spec: v1alpha1.HostedBridgeSpec{Tier: "pro", APIKeys: []v1alpha1.APIKey{
			{ID: "manifest0000", Hash: "sha256:" + strings.Repeat("0a", 32)},
		}},
	}
	testenv.ExpectApplied(t, first.client, b)
	path := "users/" + string(b.User()) + "/keys"
	var made struct{ Key, ID string }
	first.await("the user", func() bool { return first.admin("GET", path, "", nil) == http.StatusOK })
	if status := first.admin("POST", path, `{"name":"laptop","expires":"12h"}`, &made); status != http.StatusCreated {
		t.Fatalf("status of a new key = %d", status)
	}
	for _, replica := range []*installation{first, second} {
		replica.await("the new key", func() bool { return replica.health(b, made.Key) == http.StatusOK })
	}

	// Each question is an act, of which the audit index is asked for a bounded number
	// below: the status says first that there is an answer.
	first.await("the key's use", func() bool {
		testenv.ExpectExists(t, first.client, b)
		return len(b.Status.Keys) == 1
	})
	var listed struct{ Keys []keys.Info }
	first.await("the key's use in the list", func() bool {
		listed.Keys = nil
		first.admin("GET", path, "", &listed)
		return len(listed.Keys) == 2 && listed.Keys[1].LastUsed != nil
	})
	manifest, laptop := listed.Keys[0], listed.Keys[1]
	if laptop.ID != made.ID || laptop.Name != "laptop" || laptop.CreatedAt == nil || laptop.ExpiresAt == nil || laptop.ManagedBy != nil {
		t.Errorf("the key is listed as %+v", laptop)
	}
	if manifest.ID != "manifest0000" || len(manifest.ManagedBy) != 1 || manifest.LastUsed != nil {
		t.Errorf("the manifest's key is listed as %+v", manifest)
	}
	if status, body := first.send("DELETE", "/admin/"+path+"/manifest0000", testAdminKey, ""); status != http.StatusConflict || !strings.Contains(body, manifest.ManagedBy[0]) {
		t.Errorf("revoking the manifest's key: %d %s", status, body)
	}

	if status := first.admin("DELETE", path+"/"+made.ID, "", nil); status != http.StatusNoContent {
		t.Fatalf("revoking the key: %d", status)
	}
	revoked := time.Now()
	for _, replica := range []*installation{first, second} {
		replica.await("the revoked key", func() bool { return replica.health(b, made.Key) == http.StatusUnauthorized })
	}
	if took := time.Since(revoked); took > 10*time.Second {
		t.Errorf("a revoked key opens for %v", took)
	}
	testenv.ExpectExists(t, first.client, b)
	if len(b.Spec.APIKeys) != 1 || b.Spec.APIKeys[0].ID != "manifest0000" || b.Spec.Tier != "pro" {
		t.Errorf("the spec is %+v", b.Spec)
	}
	// The first one asked whether the user is known.
	first.expectActs(b, "admin/keys.revoke", "admin/keys.list", "admin/keys.create", "admin/keys.list")
}

// health returns the status with which the user's health is answered.
func (i *installation) health(b *v1alpha1.HostedBridge, key string) int {
	status, _ := i.call("GET", "/u/"+string(b.User())+"/health", key)
	return status
}

// expectActs waits for acts on b in the audit index, the newest first, each as
// often as it was done one after the other.
func (i *installation) expectActs(b *v1alpha1.HostedBridge, want ...string) {
	i.t.Helper()
	i.await("the acts in the audit index", func() bool {
		var page struct {
			Entries []struct{ Method, UserID string }
		}
		if status := i.admin("GET", "audit?limit=1000&userId="+string(b.User()), "", &page); status != http.StatusOK {
			return false
		}
		var acts []string
		for _, e := range page.Entries {
			if e.Method != "admin/audit.query" && e.UserID == string(b.User()) {
				acts = append(acts, e.Method)
			}
		}
		return slices.Equal(slices.Compact(acts), want)
	})
}

// ringOf returns a keyring, and a bridge to make keys for.
func ringOf(t *testing.T, c client.Client) (*keys.Cluster, *v1alpha1.HostedBridge, route.Backend) {
	t.Helper()
	ring := keys.NewCluster(c, rand.Reader)
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t, c), Name: "alice"}}
	b.Spec.UserID = v1alpha1.UserID(b.Namespace)
	testenv.ExpectApplied(t, c, b)
	return ring, b, route.Backend{Namespace: b.Namespace, Name: b.Name, BridgeUID: b.UID}
}

// TestAKeyDoesNotBringABridgeBack acts on a HostedBridge that is gone, and on
// one that has another's name.
func TestAKeyDoesNotBringABridgeBack(t *testing.T) {
	t.Parallel()
	c := testenv.Client(t)
	ring, b, of := ringOf(t, c)
	minted := must.Value(ring.Create(t.Context(), of, "", time.Time{}))(t)
	if err := ring.Revoke(t.Context(), of, "nobodys0"); !errors.Is(err, keys.ErrNoKey) {
		t.Errorf("revoking a key that is not there: %v", err)
	}
	must.Succeed(t, c.Delete(t.Context(), b))
	expectNoBridge(t, ring, of, minted.ID)
	testenv.ExpectMissing(t, c, b)
	again := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}, Spec: v1alpha1.HostedBridgeSpec{UserID: b.Spec.UserID}}
	testenv.ExpectApplied(t, c, again)
	expectNoBridge(t, ring, of, minted.ID)
	testenv.ExpectExists(t, c, again)
	if len(again.Spec.APIKeys) != 0 {
		t.Errorf("the new bridge has the keys %+v", again.Spec.APIKeys)
	}
}

func expectNoBridge(t *testing.T, ring *keys.Cluster, of route.Backend, id string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if _, err := ring.Create(ctx, of, "", time.Time{}); !errors.Is(err, keys.ErrNoBridge) {
		t.Errorf("create: %v", err)
	}
	if _, err := ring.List(ctx, of); !errors.Is(err, keys.ErrNoBridge) {
		t.Errorf("list: %v", err)
	}
	if err := ring.Revoke(ctx, of, id); !errors.Is(err, keys.ErrNoBridge) {
		t.Errorf("revoke: %v", err)
	}
}

func TestABridgeTakesSoManyKeysAndNoMore(t *testing.T) {
	t.Parallel()
	ring, _, of := ringOf(t, testenv.Client(t))
	var last *keys.Minted
	var err error
	for range keys.Max {
		if last, err = ring.Create(t.Context(), of, "", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ring.Create(t.Context(), of, "", time.Time{}); !errors.Is(err, keys.ErrTooMany) {
		t.Errorf("one key too many: %v", err)
	}
	if err := ring.Revoke(t.Context(), of, last.ID); err != nil {
		t.Error(err)
	}
	if _, err := ring.Create(t.Context(), of, "", time.Time{}); err != nil {
		t.Errorf("a key in place of another: %v", err)
	}
}
