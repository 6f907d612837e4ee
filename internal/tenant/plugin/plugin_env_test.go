// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package plugin

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// TestCommandsOnAnAPIServer goes the way of an administrator: a key, a look at what is wrong, a
// bridge that is woken, and a user who leaves.
func TestCommandsOnAnAPIServer(t *testing.T) {
	c := testenv.Client(t)
	namespace, installation := testenv.Namespace(t, c), testenv.Namespace(t, c)
	user := "u-" + namespace[len(namespace)-5:]
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "alice"}, Spec: v1alpha1.HostedBridgeSpec{
		UserID: v1alpha1.UserID(user), Servers: []v1alpha1.Server{{Name: "docs", Transport: v1alpha1.Transport{URL: "https://docs.example.com/mcp"}}},
	}}
	must.Succeed(t, c.Create(t.Context(), b))
	t.Setenv("KUBECONFIG", testenv.Kubeconfig(t))
	do := func(args ...string) (string, string) {
		t.Helper()
		out, problems, err := run(t, "", append(args, "--namespace="+namespace, "--installation="+installation)...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out, problems
	}
	read := func() *v1alpha1.HostedBridge {
		t.Helper()
		must.Succeed(t, c.Get(t.Context(), client.ObjectKeyFromObject(b), b))
		return b
	}

	key, said := do("key", "create", user, "--label=laptop", "--expires=90d")
	key = strings.TrimSuffix(key, "\n")
	made := read().Spec.APIKeys
	if len(made) != 1 || made[0].Hash != apikey.HashFor(user, key).String() || made[0].Name != "laptop" || !made[0].ExpiresAt.Time.Equal(now.Add(90*24*time.Hour)) {
		t.Fatalf("keys %+v of the key %q", made, key)
	}
	if strings.Contains(said, key) || !strings.Contains(said, "kubectl bridge key revoke alice "+made[0].ID) || len(b.Spec.Servers) != 1 {
		t.Errorf("said %q, servers %v", said, b.Spec.Servers)
	}
	for _, args := range [][]string{{"key", "list", "alice"}, {"key", "list", "alice", "-o", "json"}, {"list", "-o", "json"}, {"why", "alice"}} {
		out, said := do(args...)
		if strings.Contains(out+said, key) || args[0] == "key" && !strings.Contains(out, made[0].ID) {
			t.Errorf("%q: %s%s", args, out, said)
		}
	}
	do("key", "create", "alice")
	do("key", "revoke", "alice", made[0].ID)
	if left := read().Spec.APIKeys; len(left) != 1 || left[0].ID == made[0].ID {
		t.Errorf("after the revocation: %+v", left)
	}
	if _, _, err := run(t, "", "key", "revoke", "alice", made[0].ID, "--namespace="+namespace); err == nil || !strings.Contains(err.Error(), "has no key of this id") {
		t.Errorf("a second revocation: %v", err)
	}

	sleep(t, c, b)
	warn(t, c, b, "the node is full")
	if out, _ := do("why", user); !strings.Contains(out, "Accepted: no (unknown tier)") || !strings.Contains(out, "Next") && !strings.Contains(out, "What to do: `spec.tier` names a tier") || !strings.Contains(out, "the node is full") {
		t.Errorf("why says\n%s", out)
	}
	if out, _ := do("wake", "alice"); out != "hostedbridge.hostedbridge.dev/alice woken\n" || !read().Status.LastActivityTime.After(b.Status.IdleSince.Time) {
		t.Errorf("%q, %+v", out, b.Status)
	}
	// The operator takes idleSince back by its own apply: nothing else may hold the field.
	for _, f := range b.ManagedFields {
		if f.Manager == FieldOwner && strings.Contains(string(f.FieldsV1.GetRawBytes()), "idleSince") {
			t.Errorf("%s holds %s", f.Manager, f.FieldsV1.GetRawBytes())
		}
	}
	if out, _ := do("wake", "alice"); !strings.HasSuffix(out, "is waking already\n") {
		t.Errorf("a second time: %q", out)
	}

	do("offboard", user, "--yes")
	person := &v1alpha1.BridgePerson{}
	must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: installation, Name: access.UserName(v1alpha1.UserID(user))}, person))
	if person.Spec.Access != v1alpha1.AccessOffboarded || string(person.Spec.User) != user {
		t.Errorf("the record says %+v", person.Spec)
	}
	do("resume", "alice")
	must.Succeed(t, c.Get(t.Context(), client.ObjectKeyFromObject(person), person))
	if person.Spec.Access != v1alpha1.AccessAllowed {
		t.Errorf("after resume: %+v", person.Spec)
	}
}

// TestRightsAreThoseOfThePerson has somebody look who may view HostedBridges of one namespace.
func TestRightsAreThoseOfThePerson(t *testing.T) {
	c := testenv.Client(t)
	namespace, other := testenv.Namespace(t, c), testenv.Namespace(t, c)
	must.Succeed(t, c.Create(t.Context(), &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "view-" + namespace}}))
	must.Succeed(t, c.Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "view"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"hostedbridges"}, Verbs: []string{"get", "list"},
	}}}))
	must.Succeed(t, c.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "view"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "view"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "vera"}},
	}))
	t.Setenv("KUBECONFIG", testenv.Kubeconfig(t))
	as := func(args ...string) (string, error) {
		out, _, err := run(t, "", append(args, "--as=vera")...)
		return out, err
	}
	if out, err := as("list", "-n", namespace); err != nil || !strings.Contains(out, "view-"+namespace) {
		t.Errorf("list: %v %s", err, out)
	}
	if out, err := as("why", "view-"+namespace, "-n", namespace); err != nil || !strings.Contains(out, "You may not list pods") || !strings.Contains(out, "You may not list events") {
		t.Errorf("why: %v %s", err, out)
	}
	for _, args := range [][]string{
		{"list", "-n", other}, {"list", "-A"}, {"key", "create", "view-" + namespace, "-n", namespace}, {"offboard", "view-" + namespace, "-n", namespace, "--yes"},
	} {
		if out, err := as(args...); err == nil || !strings.Contains(err.Error(), "you may not do this") || !strings.Contains(err.Error(), `User "vera"`) {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
}

// sleep writes a status as the operator does of a bridge that sleeps and has a tier that is none.
func sleep(t *testing.T, c client.Client, b *v1alpha1.HostedBridge) {
	t.Helper()
	b.Status.Phase, b.Status.IdleSince, b.Status.LastActivityTime = v1alpha1.PhaseAsleep, ago(time.Hour), ago(2*time.Hour)
	b.Status.ObservedGeneration = b.Generation
	b.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnknownTier, Message: "spec.tier must be one of: free", LastTransitionTime: *ago(time.Hour),
	}}
	must.Succeed(t, c.Status().Update(t.Context(), b, client.FieldOwner(v1alpha1.FieldOwnerOperator)))
}

// warn makes an event of the bridge's pod, and one of another pod.
func warn(t *testing.T, c client.Client, b *v1alpha1.HostedBridge, message string) {
	t.Helper()
	for i, name := range []string{v1alpha1.WorkloadName(b.Name) + "-1", "other"} {
		must.Succeed(t, c.Create(context.WithoutCancel(t.Context()), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: fmt.Sprint("warning-", i)}, Type: corev1.EventTypeWarning, Reason: "FailedScheduling",
			Message: message, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: b.Namespace, Name: name}, LastTimestamp: *ago(time.Minute),
		}))
	}
}
