// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// account is the keybroker's ServiceAccount as the API server calls it.
const account = "system:serviceaccount:hosted-bridge-system:hosted-bridge-keybroker"

// TestRunWithTheRightsOfTheManifests runs the keybroker as its own
// ServiceAccount with the rights that config/rbac gives it, and no others.
func TestRunWithTheRightsOfTheManifests(t *testing.T) {
	c := testenv.Client(t)
	o := shipped()
	installKeybroker(t, c, o.Namespace)
	o.Listen, o.ProbeListen = "127.0.0.1:0", unusedAddress(t)
	o.Kubeconfig, o.DrainDelay = impersonating(t), 0
	o.Keys.Dir = t.TempDir()
	writeKey(t, o.Keys.Dir, "authority", 9)
	writeKey(t, o.Keys.Dir, "1", 1)

	var logs logtest.Log
	stop := testenv.Run(t, func(ctx context.Context) error { return run(ctx, o, &logs) })

	namespace := testenv.Namespace(t, c)
	canary := "canary-of-" + namespace
	for _, name := range []string{"kept", "once"} {
		testenv.ExpectApplied(t, c, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			StringData: map[string]string{"value": canary},
		})
	}
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace},
		Spec: v1alpha1.HostedBridgeSpec{SecretRefs: []v1alpha1.SecretRef{
			{Name: "kept", Keys: []v1alpha1.SecretRefKey{{Key: "value", As: "KEPT"}}},
			{Name: "once", Keys: []v1alpha1.SecretRefKey{{Key: "value", As: "ONCE"}}, DeleteSource: true},
		}},
	}
	testenv.ExpectApplied(t, c, b)
	wait.Until(t, "both are sealed", func() bool {
		testenv.ExpectExists(t, c, b)
		return b.Status.Secrets != nil && b.Status.Secrets.Count == 2 && len(b.Status.Secrets.Failures) == 0
	})
	wait.Until(t, "the source is deleted", func() bool {
		err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "once"}, &corev1.Secret{})
		return client.IgnoreNotFound(err) == nil && err != nil
	})
	wait.Until(t, "an event is recorded", func() bool {
		var events corev1.EventList
		return c.List(t.Context(), &events, client.InNamespace(namespace)) == nil && len(events.Items) > 0
	})
	writeKey(t, o.Keys.Dir, "2", 2)
	wait.Until(t, "the new version is taken up", func() bool {
		testenv.ExpectExists(t, c, b)
		return b.Status.KeyVersion != nil && *b.Status.KeyVersion == 2
	})
	if ring := loadedRing(t, o.ProbeListen); ring.Current != 2 || len(ring.Versions) != 2 {
		t.Errorf("ring %+v", ring)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: leaseName}}
	testenv.ExpectExists(t, c, lease)
	// What is under way when the process is told to end fails, and may say so.
	running := logs.Bytes()

	stop()
	testenv.ExpectExists(t, c, lease)
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("the lease is still held by %s", holder)
	}
	if bytes.Contains(running, []byte("forbidden")) || bytes.Contains(running, []byte(`"level":"ERROR"`)) {
		t.Errorf("the log has errors:\n%s", running)
	}
	for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
		if bytes.Contains(logs.Bytes(), []byte(form)) {
			t.Error("the log has a secret's value")
		}
	}
}

func TestTheManifestsGiveNoMoreThanIsUsed(t *testing.T) {
	c := testenv.Client(t)
	o := shipped()
	installKeybroker(t, c, o.Namespace)
	for name, r := range map[string]struct {
		authorizationv1.ResourceAttributes
		allowed bool
	}{
		"lists the replicas":                     {authorizationv1.ResourceAttributes{Namespace: o.Namespace, Resource: "pods", Verb: "list"}, true},
		"lists no tenants' pods":                 {authorizationv1.ResourceAttributes{Namespace: "default", Resource: "pods", Verb: "list"}, false},
		"deletes a source":                       {authorizationv1.ResourceAttributes{Namespace: "default", Resource: "secrets", Verb: "delete"}, true},
		"deletes no collection of Secrets":       {authorizationv1.ResourceAttributes{Namespace: "default", Resource: "secrets", Verb: "deletecollection"}, false},
		"replaces no Secret":                     {authorizationv1.ResourceAttributes{Namespace: "default", Resource: "secrets", Verb: "update"}, false},
		"writes no HostedBridge":                 {authorizationv1.ResourceAttributes{Namespace: "default", Group: "hostedbridge.dev", Resource: "hostedbridges", Verb: "patch"}, false},
		"writes no other lease":                  {authorizationv1.ResourceAttributes{Namespace: o.Namespace, Group: "coordination.k8s.io", Resource: "leases", Name: "hosted-bridge-operator", Verb: "update"}, false},
		"writes no lease of another namespace":   {authorizationv1.ResourceAttributes{Namespace: "default", Group: "coordination.k8s.io", Resource: "leases", Name: leaseName, Verb: "update"}, false},
		"writes no ConfigMap but that of the CA": {authorizationv1.ResourceAttributes{Namespace: o.Namespace, Resource: "configmaps", Name: "other", Verb: "patch"}, false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: account, Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: &r.ResourceAttributes,
		}}
		must.Succeed(t, c.Create(t.Context(), review))
		if review.Status.Allowed != r.allowed {
			t.Errorf("%s: allowed %v", name, review.Status.Allowed)
		}
	}
}

// writeKey adds a file to the ring, all at once as the kubelet does.
func writeKey(t *testing.T, dir, name string, first byte) {
	t.Helper()
	key := make([]byte, 32)
	key[0] = first
	aside := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.WriteFile(aside, []byte(base64.StdEncoding.EncodeToString(key)), 0o600))
	must.Succeed(t, os.Rename(aside, filepath.Join(dir, name)))
}

func unusedAddress(t *testing.T) string {
	t.Helper()
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

func loadedRing(t *testing.T, address string) masterkey.Status {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response := must.Value((&http.Client{Transport: transport}).Get("http://" + address + "/ring"))(t)
	defer response.Body.Close()
	var status masterkey.Status
	must.Succeed(t, json.NewDecoder(response.Body).Decode(&status))
	return status
}

// installKeybroker creates what config/rbac has for the keybroker, and the
// ConfigMap of config/keybroker, in namespace.
func installKeybroker(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hosted-bridge-ca"}},
	} {
		if err := c.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	testenv.ExpectInstalled(t, c, "../../config/rbac/keybroker.yaml", namespace)
}

// impersonating writes how to reach the API server as the keybroker's
// ServiceAccount.
func impersonating(t *testing.T) string {
	t.Helper()
	return testenv.KubeconfigOf(t, "hosted-bridge-system", "hosted-bridge-keybroker")
}
