// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1/recipefile"
	"github.com/hostedbridge/hostedbridge/internal/tenant/profilediff"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// TestRunWithTheRightsOfTheManifests runs the operator as its own ServiceAccount
// with the rights that config/rbac gives it, and no others.
func TestRunWithTheRightsOfTheManifests(t *testing.T) {
	c := testenv.Client(t)
	var o Options
	o.Declare()
	o.ProbeListen, o.MetricsListen = "127.0.0.1:0", "127.0.0.1:0"
	install(t, c, o.Namespace)
	t.Setenv("KUBECONFIG", testenv.KubeconfigOf(t, o.Namespace, "hosted-bridge-operator"))

	var logs logtest.Log
	stop := testenv.Run(t, func(ctx context.Context) error { return run(ctx, o, slog.New(slog.NewJSONHandler(&logs, nil))) })

	namespace := testenv.Namespace(t, c)
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace},
		Spec: v1alpha1.HostedBridgeSpec{
			SecretRefs: []v1alpha1.SecretRef{{Name: "source"}},
			Servers: []v1alpha1.Server{{
				Name: "github", Secrets: []v1alpha1.SecretName{"TOKEN"},
				Transport: v1alpha1.Transport{
					URL:     "https://mcp.example.com/mcp",
					Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${TOKEN}"}},
				},
			}},
		},
	}
	testenv.ExpectApplied(t, c, b)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace + "-bridge"}}
	wait.Until(t, "the Deployment is made", func() bool { return c.Get(t.Context(), client.ObjectKeyFromObject(d), d) == nil })
	wait.Until(t, "the status is written", func() bool {
		testenv.ExpectExists(t, c, b)
		return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionAccepted)
	})
	// Without a report the reason tells whether the EndpointSlice was read.
	wait.Until(t, "the keybroker is seen", func() bool {
		testenv.ExpectExists(t, c, b)
		sealed := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSecretsSealed)
		return sealed != nil && sealed.Reason == v1alpha1.ReasonSealing
	})
	expectTold(t, c, b, d)
	expectProfiled(t, c, b, o.Namespace)
	expectChecked(t, c, o.Namespace)
	expectNoSecrets(t, namespace, o.Namespace)
	expectWarned(t, c, namespace)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: leaseName}}
	testenv.ExpectExists(t, c, lease)
	// What is under way when the operator is told to end fails, and may say so.
	running := logs.Bytes()

	stop()
	testenv.ExpectExists(t, c, lease)
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the lease is still held by %s", *holder)
	}
	if bytes.Contains(running, []byte("forbidden")) || bytes.Contains(running, []byte(`"level":"ERROR"`)) {
		t.Errorf("the log has errors:\n%s", running)
	}
}

// expectProfiled checks that a BridgeProfile reaches its bridge, and that the command
// which says so before changes nothing.
func expectProfiled(t *testing.T, c client.Client, b *v1alpha1.HostedBridge, namespace string) {
	t.Helper()
	p := &v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "engineering"},
		Spec: v1alpha1.BridgeProfileSpec{
			Who:     v1alpha1.ProfileSubjects{Namespaces: []string{b.Namespace}, Users: []v1alpha1.UserID{b.User()}},
			Tier:    "pro",
			Servers: []v1alpha1.ProfileServer{{Server: v1alpha1.Server{Name: "docs", Transport: v1alpha1.Transport{URL: "https://docs.example.com/mcp"}}}},
		},
	}
	diff := func() (string, error) {
		t.Helper()
		p.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BridgeProfile"} // Reading it clears them.
		text, err := yaml.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var out, problems bytes.Buffer
		err = profilediff.Run(t.Context(), []string{"diff", "--watch-namespaces=" + b.Namespace}, bytes.NewReader(text), &out, &problems)
		return out.String() + problems.String(), err
	}
	testenv.ExpectExists(t, c, b)
	want := fmt.Sprintf("%s/%s (user %s)\n    tier: free -> pro\n    + server docs\n1 of 1 bridges would change\n", b.Namespace, b.Name, b.User())
	if got, err := diff(); !errors.Is(err, profilediff.ErrChanges) || got != want {
		t.Errorf("before it is applied: %v\n%s\nwant\n%s", err, got, want)
	}
	testenv.ExpectApplied(t, c, p)
	wait.Until(t, "the profile reaches the bridge, and both say so", func() bool {
		testenv.ExpectExists(t, c, b)
		testenv.ExpectExists(t, c, p)
		return b.Status.Tier == "pro" && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady) && p.Status.Updated == 1
	})
	if got, err := diff(); err != nil || got != "0 of 1 bridges would change\n" {
		t.Errorf("after it was applied: %v\n%s", err, got)
	}
	p.Namespace = b.Namespace
	if got, err := diff(); err == nil || errors.Is(err, profilediff.ErrChanges) || got != "" {
		t.Errorf("of another namespace: %v\n%s", err, got)
	}
}

// expectChecked checks that the operator says what it finds of a recipe, whose
// signature names a publisher that it has to look for.
func expectChecked(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	recipe := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "notes"}}
	recipe.Spec.Recipe = &v1alpha1.Recipe{Recipe: recipefile.Recipe{
		SchemaVersion: 2, ID: "notes", Name: "Notes", Description: "Keeps notes", Repository: "https://example.com/notes",
		Transports: []recipefile.RecipeTransport{{Type: "streamable-http", URL: "https://example.com/mcp"}},
		Signature:  &recipefile.RecipeSignature{Algorithm: "ed25519", PublisherID: "nobody", Value: "x", SignedFields: []string{"id"}, SignedAt: "2026-01-02T03:04:05Z"},
	}}
	testenv.ExpectApplied(t, c, recipe)
	wait.Until(t, "the recipe is checked", func() bool {
		testenv.ExpectExists(t, c, recipe)
		accepted := meta.FindStatusCondition(recipe.Status.Conditions, v1alpha1.ConditionRecipeAccepted)
		return accepted != nil && accepted.Reason == v1alpha1.ReasonRecipeSignature
	})
}

// expectWarned checks that the operator records an event of a spec that it
// refuses.
func expectWarned(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "refused"},
		Spec:       v1alpha1.HostedBridgeSpec{UserID: v1alpha1.UserID("refused-" + namespace), Tier: "nobodys"},
	}
	testenv.ExpectApplied(t, c, b)
	wait.Until(t, "an event is recorded", func() bool {
		var events corev1.EventList
		return c.List(t.Context(), &events, client.InNamespace(namespace)) == nil && len(events.Items) > 0
	})
}

// expectTold checks that the operator annotates a pod of the bridge's Deployment
// when the bridge is told something else.
func expectTold(t *testing.T, c client.Client, b *v1alpha1.HostedBridge, d *appsv1.Deployment) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy()}
	pod.Namespace, pod.Name = d.Namespace, d.Name+"-1"
	pod.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "bridge", Image: "bridge"}}}
	testenv.ExpectApplied(t, c, pod)
	testenv.ExpectStatusChanged(t, c, d, func() { d.Status.ObservedGeneration = d.Generation })
	testenv.ExpectChanged(t, c, b, func() { b.Spec.Servers[0].Transport.URL += "/other" })
	wait.Until(t, "the pod is told of its configuration", func() bool {
		testenv.ExpectExists(t, c, pod)
		return pod.Annotations[v1alpha1.AnnotationConfigDigest] != ""
	})
}

// expectNoSecrets asks for Secrets as the operator, which is allowed none in any
// of the namespaces.
func expectNoSecrets(t *testing.T, namespaces ...string) {
	t.Helper()
	config := must.Value(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))(t)
	operator := must.Value(client.New(config, client.Options{Scheme: testenv.Scheme()}))(t)
	if err := operator.List(t.Context(), &v1alpha1.HostedBridgeList{}); err != nil {
		t.Errorf("the operator may not do what it must: %v", err)
	}
	for _, namespace := range namespaces {
		for _, name := range []string{"source", "hosted-bridge-master-key"} {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			for verb, err := range map[string]error{
				"get":    operator.Get(t.Context(), client.ObjectKeyFromObject(s), s),
				"list":   operator.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace)),
				"create": operator.Create(t.Context(), s.DeepCopy()),
				"patch":  operator.Patch(t.Context(), s.DeepCopy(), client.RawPatch(types.MergePatchType, []byte("{}"))),
				"delete": operator.Delete(t.Context(), s.DeepCopy()),
			} {
				if !apierrors.IsForbidden(err) {
					t.Errorf("%s Secret %s/%s as the operator: error %v, want Forbidden", verb, namespace, name, err)
				}
			}
		}
	}
}

// install creates what config/rbac has for the operator, and what the keybroker
// publishes, in namespace.
func install(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hosted-bridge-ca"},
			Data:       map[string]string{"ca.crt": "certificate"},
		},
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: "hosted-bridge-keybroker-a",
				Labels: map[string]string{discoveryv1.LabelServiceName: "hosted-bridge-keybroker"},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
		},
	} {
		if err := c.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	testenv.ExpectInstalled(t, c, "../../config/rbac/operator.yaml", namespace)
}
