// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// keyFor waits for the HostedBridge, has an administrator make a key for its user and waits
// until it works.
func (i *installation) keyFor(b *v1alpha1.HostedBridge) string {
	i.t.Helper()
	var made struct{ Key string }
	i.await("the user", func() bool {
		return i.admin("POST", "users/"+string(b.User())+"/keys", `{}`, &made) == http.StatusCreated
	})
	i.await("the key", func() bool { return i.health(b, made.Key) == http.StatusOK })
	return made.Key
}

// activity returns the acts on the bridge that its user sees, the newest first.
func (i *installation) activity(b *v1alpha1.HostedBridge, key string) (acts []string) {
	i.t.Helper()
	var page selfservice.Activity
	if status, answer := i.send("GET", "/u/"+string(b.User())+"/activity", key, ""); status != http.StatusOK {
		i.t.Fatalf("the activity: %d %s", status, answer)
	} else {
		must.Succeed(i.t, json.Unmarshal([]byte(answer), &page))
	}
	for _, e := range page.Entries {
		acts = append(acts, e.Act)
	}
	return acts
}

func TestALaterBridgeOfAUserIDDoesNotSeeTheFormersHistory(t *testing.T) {
	t.Parallel()
	i, _ := startTwo(t)
	former := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: i.namespace}}
	testenv.ExpectApplied(t, i.client, former)
	user := "/u/" + string(former.User())
	key := i.keyFor(former)
	if status, answer := i.send("POST", user+"/keys", key, `{"name":"secret project"}`); status != http.StatusCreated {
		t.Fatalf("a key of their own: %d %s", status, answer)
	}
	i.await("what the former user did", func() bool { return slices.Contains(i.activity(former, key), "user/keys.create") })

	must.Succeed(t, i.client.Delete(t.Context(), former))
	later := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "later-" + i.namespace}, Spec: v1alpha1.HostedBridgeSpec{UserID: former.User()},
	}
	i.await("nobody with the user id", func() bool {
		status, _ := i.send("GET", user+"/health", key, "")
		return status == http.StatusUnauthorized
	})
	testenv.ExpectApplied(t, i.client, later)
	key = i.keyFor(later)
	i.await("what the later user did", func() bool {
		acts := i.activity(later, key)
		if slices.ContainsFunc(acts, func(act string) bool { return strings.HasPrefix(act, "user/") }) {
			t.Fatalf("the later user sees %v", acts)
		}
		return slices.Equal(acts, []string{"admin/keys.create"})
	})
	i.expectActs(later, "admin/keys.create", "user/keys.create", "admin/keys.create")
}
