// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// Beside this TestMain there is no room for that of the scripts, which run
// without the tag.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// applyKey mints a key and does what the printed command does.
func applyKey(t *testing.T, c client.Client, k keys.Command) *keys.Minted {
	t.Helper()
	k.Name = cmp.Or(k.Name, k.User)
	minted := must.Value(k.Mint(rand.Reader, time.Now()))(t)
	patch := must.Value(json.Marshal(minted.Patch))(t)
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}}
	must.Succeed(t, c.Patch(t.Context(), b, client.RawPatch(types.ApplyPatchType, patch), client.FieldOwner(minted.FieldManager)))
	return minted
}

func TestKeysAreAddedOneByOne(t *testing.T) {
	t.Parallel()
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "my-bridge"},
		Spec: v1alpha1.HostedBridgeSpec{
			UserID: "alice", Tier: "pro",
			Servers: []v1alpha1.Server{{Name: "one", Transport: v1alpha1.Transport{URL: "https://mcp.example.com/mcp"}}},
		},
	}
	testenv.ExpectApplied(t, c, b)
	request := keys.Command{User: "alice", Name: "my-bridge", Namespace: namespace, Output: "text"}
	first := applyKey(t, c, request)
	request.Expires = "90d"
	second := applyKey(t, c, request)

	testenv.ExpectExists(t, c, b)
	if len(b.Spec.APIKeys) != 2 || b.Spec.APIKeys[0].ID != first.ID || b.Spec.APIKeys[1].ID != second.ID {
		t.Fatalf("keys are %+v, want %s and %s", b.Spec.APIKeys, first.ID, second.ID)
	}
	if b.Spec.APIKeys[0].Hash != first.Hash || b.Spec.APIKeys[0].ExpiresAt != nil || b.Spec.APIKeys[1].ExpiresAt == nil {
		t.Errorf("keys are %+v", b.Spec.APIKeys)
	}
	if b.Spec.UserID != "alice" || b.Spec.Tier != "pro" || len(b.Spec.Servers) != 1 {
		t.Errorf("the rest of the spec is %+v", b.Spec)
	}

	// And one by one they can be taken away.
	b.Spec.APIKeys = b.Spec.APIKeys[1:]
	testenv.ExpectApplied(t, c, b)
	testenv.ExpectExists(t, c, b)
	if len(b.Spec.APIKeys) != 1 || b.Spec.APIKeys[0].ID != second.ID {
		t.Errorf("keys are %+v, want %s alone", b.Spec.APIKeys, second.ID)
	}
}
