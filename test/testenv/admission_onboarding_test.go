// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// newcomers is the namespace of the bridges that first logins make, in what the
// chart renders for tests.
const newcomers = "newcomers"

func onboardingPolicies(mode string) string {
	return "../testdata/onboarding/" + mode + "/admission-ingress.yaml"
}

// ingressOf installs the policies of an installation of its own whose logins
// write HostedBridges in this mode, for those who are new in that namespace. What
// it returns is its ingress, held by the policies alone.
func ingressOf(t *testing.T, c client.Client, mode, namespace string) client.Client {
	t.Helper()
	installation := testenv.Namespace(t, c)
	text := must.Value(os.ReadFile(onboardingPolicies(mode)))(t)
	policies := filepath.Join(t.TempDir(), "admission.yaml")
	own := strings.NewReplacer(testenv.System, installation, newcomers, namespace).Replace(string(text))
	must.Succeed(t, os.WriteFile(policies, []byte(own), 0o600))
	testenv.ExpectInstalled(t, c, policies, installation)
	if mode == "auto" {
		t.Cleanup(func() { releaseUserIDs(t, c, installation) })
	}
	config := testenv.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + installation + ":hosted-bridge-ingress", Groups: []string{"system:masters"},
	}
	ingress := must.Value(client.New(config, client.Options{Scheme: c.Scheme()}))(t)
	return client.WithFieldOwner(ingress, v1alpha1.FieldOwnerIngress)
}

// releaseUserIDs ends what an installation that watches all namespaces reserves, for the
// installations of other tests.
func releaseUserIDs(t *testing.T, c client.Client, installation string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	name := "hosted-bridge-onboarding-users." + installation
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must.Succeed(t, c.Delete(ctx, binding))
	wait.Until(t, "the user ids are free", func() bool {
		err := c.Create(ctx, onboarded(installation), client.DryRunAll)
		return err == nil || !strings.Contains(err.Error(), name)
	})
}

func person(name string) v1alpha1.OAuthSubject {
	return v1alpha1.OAuthSubject{Issuer: "https://login.example.com", Subject: name}
}

func TestWhereLoginsBindTheIngressAddsSubjectsAndKeysAlone(t *testing.T) {
	c := testenv.Client(t)
	for _, mode := range []string{"invite", "auto"} {
		t.Run(mode, func(t *testing.T) {
			namespace := testenv.Namespace(t, c)
			ingress := ingressOf(t, c, mode, namespace)
			b := valid(namespace, "alice")
			b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{person("alice"), person("bob")}}
			testenv.ExpectApplied(t, c, b)
			patch := func(change func(*v1alpha1.HostedBridgeSpec)) error {
				changed := b.DeepCopy()
				change(&changed.Spec)
				return ingress.Patch(t.Context(), changed, client.MergeFrom(b), client.DryRunAll)
			}
			wait.Until(t, "the policy holds", func() bool {
				return refused(patch(func(s *v1alpha1.HostedBridgeSpec) { s.Tier = "business" }))
			})
			for what, test := range map[string]struct {
				change  func(*v1alpha1.HostedBridgeSpec)
				refused bool
			}{
				"one more subject": {func(s *v1alpha1.HostedBridgeSpec) { s.OAuth.Subjects = append(s.OAuth.Subjects, person("carol")) }, false},
				"subjects in another order": {func(s *v1alpha1.HostedBridgeSpec) {
					s.OAuth.Subjects = []v1alpha1.OAuthSubject{person("bob"), person("alice")}
				}, false},
				"a key": {func(s *v1alpha1.HostedBridgeSpec) {
					s.APIKeys = append(s.APIKeys, v1alpha1.APIKey{ID: "0123456789Cd", Hash: "user-sha256:" + strings.Repeat("0", 64)})
				}, false},
				"a key of others":  {func(s *v1alpha1.HostedBridgeSpec) { s.APIKeys = nil }, true},
				"one subject less": {func(s *v1alpha1.HostedBridgeSpec) { s.OAuth.Subjects = s.OAuth.Subjects[:1] }, true},
				"another subject":  {func(s *v1alpha1.HostedBridgeSpec) { s.OAuth.Subjects[1] = person("mallory") }, true},
				"another issuer":   {func(s *v1alpha1.HostedBridgeSpec) { s.OAuth.Subjects[1].Issuer = "https://evil.example.com" }, true},
				"no subjects":      {func(s *v1alpha1.HostedBridgeSpec) { s.OAuth.Subjects = nil }, true},
				"no logins":        {func(s *v1alpha1.HostedBridgeSpec) { s.OAuth = nil }, true},
				"a server":         {func(s *v1alpha1.HostedBridgeSpec) { s.Servers = nil }, true},
				"a subject and a state": {func(s *v1alpha1.HostedBridgeSpec) {
					s.OAuth.Subjects, s.DesiredState = append(s.OAuth.Subjects, person("carol")), v1alpha1.StateSuspended
				}, true},
			} {
				if err := patch(test.change); refused(err) != test.refused || !test.refused && err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			before := b.DeepCopy()
			b.Spec.OAuth = nil
			if err := c.Patch(t.Context(), b, client.MergeFrom(before)); err != nil {
				t.Errorf("somebody else takes subjects away: %v", err)
			}
			first := b.DeepCopy()
			first.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{person("alice")}}
			if err := ingress.Patch(t.Context(), first, client.MergeFrom(b)); err != nil {
				t.Errorf("the first subject: %v", err)
			}
		})
	}
}

// TestWithoutOnboardingTheIngressAddsNoSubject holds for what is installed where
// nobody asked for logins.
func TestWithoutOnboardingTheIngressAddsNoSubject(t *testing.T) {
	for mode, compared := range map[string]bool{admission: true, onboardingPolicies("invite"): false, onboardingPolicies("auto"): false} {
		policy := must.Value(os.ReadFile(mode))(t)
		if strings.Contains(string(policy), "object.?spec.?oauth == oldObject.?spec.?oauth") != compared {
			t.Errorf("%s: compared: %v", mode, !compared)
		}
		if strings.Contains(string(policy), "the ingress makes no HostedBridge") != (mode != onboardingPolicies("auto")) {
			t.Errorf("%s: what of CREATE?", mode)
		}
	}
}

// onboarded is a HostedBridge as a first login makes it.
func onboarded(namespace string) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "u-abcdefghij234567", Labels: map[string]string{v1alpha1.LabelOnboarded: "true"},
		},
		Spec: v1alpha1.HostedBridgeSpec{
			Groups: []string{v1alpha1.GroupOnboarded},
			OAuth:  &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{person("alice")}},
		},
	}
}

func TestWhatTheIngressMakesHasNothingOfItsChoice(t *testing.T) {
	c := testenv.Client(t)
	namespace, elsewhere := testenv.Namespace(t, c), testenv.Namespace(t, c)
	ingress := ingressOf(t, c, "auto", namespace)
	create := func(change func(*v1alpha1.HostedBridge)) error {
		b := onboarded(namespace)
		change(b)
		return ingress.Create(t.Context(), b, client.DryRunAll)
	}
	wait.Until(t, "the policy holds", func() bool {
		return refused(create(func(b *v1alpha1.HostedBridge) { b.Spec.Tier = "business" }))
	})
	limits := &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}}
	for what, change := range map[string]func(*v1alpha1.HostedBridge){
		"another namespace":     func(b *v1alpha1.HostedBridge) { b.Namespace = elsewhere },
		"a name of its choice":  func(b *v1alpha1.HostedBridge) { b.Name = "alice" },
		"a name that is longer": func(b *v1alpha1.HostedBridge) { b.Name += "a" },
		"a user of its choice":  func(b *v1alpha1.HostedBridge) { b.Spec.UserID = "alice" },
		"no label":              func(b *v1alpha1.HostedBridge) { b.Labels = nil },
		"another label":         func(b *v1alpha1.HostedBridge) { b.Labels["team"] = "a" },
		"an annotation":         func(b *v1alpha1.HostedBridge) { b.Annotations = map[string]string{"a": "b"} },
		"a finalizer":           func(b *v1alpha1.HostedBridge) { b.Finalizers = []string{"example.com/a"} },
		"an owner": func(b *v1alpha1.HostedBridge) {
			b.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}}
		},
		"another tier":     func(b *v1alpha1.HostedBridge) { b.Spec.Tier = "pro" },
		"another mode":     func(b *v1alpha1.HostedBridge) { b.Spec.Mode = v1alpha1.ModeRouter },
		"names of its own": func(b *v1alpha1.HostedBridge) { b.Spec.ToolPrefix = v1alpha1.ToolPrefixNever },
		"no sleep":         func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateRunning },
		"no awaking":       func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended },
		"a late sleep":     func(b *v1alpha1.HostedBridge) { b.Spec.IdleTimeout = &metav1.Duration{Duration: 8760 * time.Hour} },
		"no subject":       func(b *v1alpha1.HostedBridge) { b.Spec.OAuth = nil },
		"two subjects": func(b *v1alpha1.HostedBridge) {
			b.Spec.OAuth.Subjects = append(b.Spec.OAuth.Subjects, person("mallory"))
		},
		"a key":                    func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = valid("", "").Spec.APIKeys },
		"secrets of the namespace": func(b *v1alpha1.HostedBridge) { b.Spec.SecretRefs = []v1alpha1.SecretRef{{Name: "theirs"}} },
		"resources":                func(b *v1alpha1.HostedBridge) { b.Spec.Resources = limits },
		"a runtime":                func(b *v1alpha1.HostedBridge) { b.Spec.RuntimeClassName = new("runc") },
		"nodes":                    func(b *v1alpha1.HostedBridge) { b.Spec.NodeSelector = map[string]string{"a": "b"} },
		"a toleration":             func(b *v1alpha1.HostedBridge) { b.Spec.Tolerations = []corev1.Toleration{{Key: "a"}} },
		"an affinity":              func(b *v1alpha1.HostedBridge) { b.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}} },
		"a server": func(b *v1alpha1.HostedBridge) {
			b.Spec.Servers = []v1alpha1.Server{{Name: "x", Recipe: &v1alpha1.RecipeReference{Name: "time"}}}
		},
		"no group":      func(b *v1alpha1.HostedBridge) { b.Spec.Groups = nil },
		"another group": func(b *v1alpha1.HostedBridge) { b.Spec.Groups = []string{"administrators"} },
		"a group more":  func(b *v1alpha1.HostedBridge) { b.Spec.Groups = append(b.Spec.Groups, "administrators") },
		"a choice":      func(b *v1alpha1.HostedBridge) { b.Spec.Choices = &v1alpha1.Choices{} },
	} {
		// Of two policies that refuse it, any one is named.
		if err := create(change); !refused(err) && (err == nil || !strings.Contains(err.Error(), "hosted-bridge-onboarding-users")) {
			t.Errorf("%s: %v, want that the policy refuses it", what, err)
		}
	}
	for what, change := range map[string]func(*v1alpha1.HostedBridge){
		"what the ingress makes": func(*v1alpha1.HostedBridge) {},
		"with the defaults said": func(b *v1alpha1.HostedBridge) {
			b.Spec.Mode, b.Spec.ToolPrefix, b.Spec.DesiredState = v1alpha1.ModeDirect, v1alpha1.ToolPrefixAlways, v1alpha1.StateOnDemand
		},
	} {
		if err := create(change); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := c.Create(t.Context(), valid(namespace, "by-hand")); err != nil {
		t.Errorf("what somebody else makes there: %v", err)
	}
}

// TestThePolicyOfOnboardingNamesEveryField finds a field that was added since.
func TestThePolicyOfOnboardingNamesEveryField(t *testing.T) {
	text := must.Value(os.ReadFile(onboardingPolicies("auto")))(t)
	policy := string(text)
	for _, kind := range []struct {
		of     reflect.Type
		prefix string
		// compared are those that the policy says more of, and free those that
		// may be anything.
		compared, free []string
	}{
		{reflect.TypeFor[v1alpha1.HostedBridgeSpec](), "object.spec.", []string{"tier", "mode", "toolPrefix", "desiredState", "idleTimeout", "groups", "oauth"}, nil},
		{reflect.TypeFor[v1alpha1.OAuthAccess](), "object.spec.oauth.", []string{"subjects"}, nil},
		{reflect.TypeFor[v1alpha1.OAuthSubject](), "subject.", nil, []string{"issuer", "subject"}},
	} {
		for field := range kind.of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			said := slices.Contains(kind.compared, name) || slices.Contains(kind.free, name)
			if absent := strings.Contains(policy, "!has("+kind.prefix+name+")"); absent == said {
				t.Errorf("%s.%s: must be absent: %v", kind.of.Name(), name, absent)
			}
		}
	}
}
