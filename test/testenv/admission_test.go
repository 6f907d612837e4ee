// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const admission = "../../config/rbac/admission.yaml"

func TestTheIngressMayChangeKeysAndChoicesOfABridgeAlone(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	testenv.ExpectInstalled(t, c, "../../config/rbac/ingress.yaml", namespace)
	testenv.ExpectInstalled(t, c, admission, namespace)
	b := valid(namespace, "alice")
	b.Labels = map[string]string{"team": "a"}
	testenv.ExpectApplied(t, c, b)
	config := testenv.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:hosted-bridge-system:hosted-bridge-ingress",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	ingress := must.Value(client.New(config, client.Options{Scheme: c.Scheme()}))(t)
	ingress = client.WithFieldOwner(ingress, v1alpha1.FieldOwnerIngress)
	patch := func(change func(*v1alpha1.HostedBridge)) error {
		changed := b.DeepCopy()
		change(changed)
		return ingress.Patch(t.Context(), changed, client.MergeFrom(b), client.DryRunAll) // What is written before the policy holds would be no change the next time.
	}
	suspend := func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended }
	// The API server takes a policy up some time after it was made.
	wait.Until(t, "the policy holds", func() bool { return refused(patch(suspend)) })

	changes := map[string]func(*v1alpha1.HostedBridge){
		"a server":     func(b *v1alpha1.HostedBridge) { b.Spec.Servers[0].Transport.URL = "https://mcp.example.org/" },
		"a tier":       func(b *v1alpha1.HostedBridge) { b.Spec.Tier = "business" },
		"its secrets":  func(b *v1alpha1.HostedBridge) { b.Spec.SecretRefs = []v1alpha1.SecretRef{{Name: "theirs"}} },
		"where it is":  func(b *v1alpha1.HostedBridge) { b.Spec.NodeSelector = map[string]string{"a": "b"} },
		"what it runs": func(b *v1alpha1.HostedBridge) { b.Spec.RuntimeClassName = new("other") },
		"a toleration": func(b *v1alpha1.HostedBridge) { b.Spec.Tolerations = []corev1.Toleration{{Key: "a"}} },
		"a label":      func(b *v1alpha1.HostedBridge) { b.Labels = map[string]string{"team": "b"} },
		"an annotation": func(b *v1alpha1.HostedBridge) {
			b.Annotations = map[string]string{"a": "b"}
		},
		"an owner": func(b *v1alpha1.HostedBridge) {
			b.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}}
		},
		"how its tools are listed": func(b *v1alpha1.HostedBridge) { b.Spec.Choices = &v1alpha1.Choices{Mode: v1alpha1.ModeRouter} },
		"how its tools are named": func(b *v1alpha1.HostedBridge) {
			b.Spec.Choices = &v1alpha1.Choices{ToolPrefix: v1alpha1.ToolPrefixNever}
		},
		"when it sleeps": func(b *v1alpha1.HostedBridge) {
			b.Spec.Choices = &v1alpha1.Choices{IdleTimeout: &metav1.Duration{Duration: time.Hour}}
		},
		"who holds its fields": func(b *v1alpha1.HostedBridge) { b.ManagedFields[0].Manager = "gitops" },
	}
	for what, change := range changes {
		if err := patch(change); !refused(err) {
			t.Errorf("%s: %v, want that the policy refuses it", what, err)
		}
	}
	key := v1alpha1.APIKey{ID: "0123456789Cd", Hash: "user-sha256:" + strings.Repeat("0", 64)}
	if err := patch(func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = append(b.Spec.APIKeys, key) }); err != nil {
		t.Errorf("a key: %v", err)
	}
	choice := v1alpha1.ServerChoice{Name: "docs", Use: v1alpha1.ChoiceOn, Deny: []string{"delete"}}
	if err := patch(func(b *v1alpha1.HostedBridge) {
		b.Spec.Choices = &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{choice}}
	}); err != nil {
		t.Errorf("a choice: %v", err)
	}
	other := b.DeepCopy()
	suspend(other)
	if err := c.Patch(t.Context(), other, client.MergeFrom(b)); err != nil {
		t.Errorf("somebody else's change: %v", err)
	}
}

// TestEachInstallationHoldsItsOwnIngress has two in one cluster, whose ServiceAccounts
// have one name.
func TestEachInstallationHoldsItsOwnIngress(t *testing.T) {
	c := testenv.Client(t)
	namespace, second := testenv.Namespace(t, c), testenv.Namespace(t, c)
	testenv.ExpectInstalled(t, c, admission, namespace)
	b := valid(namespace, "alice")
	testenv.ExpectApplied(t, c, b)
	suspend := func(installation string) error {
		config := testenv.Config()
		config.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + installation + ":hosted-bridge-ingress",
			Groups:   []string{"system:masters"}, // Policies alone hold it.
		}
		ingress := must.Value(client.New(config, client.Options{Scheme: c.Scheme()}))(t)
		changed := b.DeepCopy()
		changed.Spec.DesiredState = v1alpha1.StateSuspended
		return ingress.Patch(t.Context(), changed, client.MergeFrom(b), client.DryRunAll)
	}
	by := func(policies string) func(error) bool {
		return func(err error) bool {
			return err != nil && strings.Contains(err.Error(), "hosted-bridge-ingress-keys."+policies+"'")
		}
	}
	wait.Until(t, "the first's policy holds its ingress", func() bool { return by(testenv.System)(suspend(testenv.System)) })
	if err := suspend(second); err != nil {
		t.Errorf("the first's policy holds the second's ingress: %v", err)
	}
	text := must.Value(os.ReadFile(admission))(t)
	theirs := filepath.Join(t.TempDir(), "admission.yaml")
	must.Succeed(t, os.WriteFile(theirs, []byte(strings.ReplaceAll(string(text), testenv.System, second)), 0o600))
	testenv.ExpectInstalled(t, c, theirs, second)
	wait.Until(t, "the second's policy holds its ingress", func() bool { return by(second)(suspend(second)) })
	if err := suspend(testenv.System); !by(testenv.System)(err) {
		t.Errorf("the first's ingress is held by %v", err)
	}
}

func refused(err error) bool {
	return err != nil && strings.Contains(err.Error(), "hosted-bridge-ingress-keys")
}

func accepted() metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: "Accepted", LastTransitionTime: metav1.Now()}
}

// TestTheIngressMayChangeItsOwnPartOfAStatusAlone tries what would give a user's
// bridge a server of somebody else's, and what the other processes write.
func TestTheIngressMayChangeItsOwnPartOfAStatusAlone(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	testenv.ExpectInstalled(t, c, "../../config/rbac/ingress.yaml", namespace)
	testenv.ExpectInstalled(t, c, admission, namespace)
	b := valid(namespace, "alice")
	testenv.ExpectApplied(t, c, b)
	b.Status.Recipes = []v1alpha1.RecipeStatus{{Server: "mine", Recipe: "notes", Reason: v1alpha1.ReasonRecipeInUse, Source: "{}"}}
	must.Succeed(t, c.Status().Update(t.Context(), b))
	config := testenv.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:hosted-bridge-system:hosted-bridge-ingress",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	ingress := must.Value(client.New(config, client.Options{Scheme: c.Scheme()}))(t)
	patch := func(change func(*v1alpha1.HostedBridgeStatus)) error {
		changed := b.DeepCopy()
		change(&changed.Status)
		return ingress.Status().Patch(t.Context(), changed, client.MergeFrom(b), client.DryRunAll)
	}
	refused := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "hosted-bridge-ingress-status")
	}
	another := func(s *v1alpha1.HostedBridgeStatus) {
		s.Recipes[0].Source = `{"transport":"streamable-http","url":"https://evil.example.com"}`
	}
	wait.Until(t, "the policy holds", func() bool { return refused(patch(another)) })
	if err := patch(func(s *v1alpha1.HostedBridgeStatus) { s.Recipes = nil }); !refused(err) {
		t.Errorf("without them: %v", err)
	}
	if err := patch(func(s *v1alpha1.HostedBridgeStatus) {
		s.Recipes = append(s.Recipes, v1alpha1.RecipeStatus{Server: "other", Recipe: "notes", Reason: "InUse", TokenSecret: "TOKEN"})
	}); !refused(err) {
		t.Errorf("one more: %v", err)
	}
	for what, change := range map[string]func(*v1alpha1.HostedBridgeStatus){
		"the version of the master key": func(s *v1alpha1.HostedBridgeStatus) { s.KeyVersion = new(int32(7)) },
		"the state of the secrets":      func(s *v1alpha1.HostedBridgeStatus) { s.Secrets = &v1alpha1.SecretsStatus{Revision: "0011"} },
		"the generation":                func(s *v1alpha1.HostedBridgeStatus) { s.ObservedGeneration = 7 },
		"a condition":                   func(s *v1alpha1.HostedBridgeStatus) { s.Conditions = []metav1.Condition{accepted()} },
		"the phase":                     func(s *v1alpha1.HostedBridgeStatus) { s.Phase = v1alpha1.PhaseRunning },
		"the user":                      func(s *v1alpha1.HostedBridgeStatus) { s.UserID = "bob" },
		"the URL":                       func(s *v1alpha1.HostedBridgeStatus) { s.URL = "https://evil.example.com" },
		"the pod":                       func(s *v1alpha1.HostedBridgeStatus) { s.PodName = "other" },
		"the sleep":                     func(s *v1alpha1.HostedBridgeStatus) { s.IdleSince = new(metav1.Now()) },
	} {
		if err := patch(change); !refused(err) {
			t.Errorf("%s: %v, want that the policy refuses it", what, err)
		}
	}
	if err := patch(func(s *v1alpha1.HostedBridgeStatus) {
		s.Servers, s.Tools, s.Collisions, s.LastActivityTime = "1/1", new(int32(3)), []string{"a"}, new(metav1.Now())
		s.ServerStates = []v1alpha1.ServerState{{Name: "a", State: v1alpha1.ServerHealthy}}
		s.Keys = []v1alpha1.APIKeyStatus{{ID: "0123456789Ab", LastUsedTime: metav1.Now()}}
		s.Visits = &v1alpha1.Visits{Last: v1alpha1.Visit{Time: metav1.Now(), Servers: []v1alpha1.SeenServer{{Name: "a", State: v1alpha1.SeenOn}}}}
	}); err != nil {
		t.Errorf("its own part of the status: %v", err)
	}
}

// TestThePoliciesNameEveryField finds a field that was added to the spec or the
// status since.
func TestThePoliciesNameEveryField(t *testing.T) {
	policy := must.Value(os.ReadFile(admission))(t)
	for _, part := range []struct {
		name string
		of   reflect.Type
		free []string
	}{
		{"spec", reflect.TypeFor[v1alpha1.HostedBridgeSpec](), []string{"apiKeys", "choices"}},
		{"spec.?choices", reflect.TypeFor[v1alpha1.Choices](), []string{"servers"}},
		{"status", reflect.TypeFor[v1alpha1.HostedBridgeStatus](), []string{"servers", "serverStates", "tools", "collisions", "lastActivityTime", "keys", "visits"}},
	} {
		for field := range part.of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			path := ".?" + part.name + ".?" + name
			if has := strings.Contains(string(policy), "object"+path+" == oldObject"+path); has == slices.Contains(part.free, name) {
				t.Errorf("%s.%s: compared: %v", part.name, name, has)
			}
		}
	}
}

// TestTheIngressSaysOfPeopleWhatItMaySay tries to say how far somebody has left, and to
// make a BridgePerson of another form of name.
func TestTheIngressSaysOfPeopleWhatItMaySay(t *testing.T) {
	c := testenv.Client(t)
	testenv.ExpectInstalled(t, c, admission, testenv.Namespace(t, c))
	p := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t, c), Name: "user.alice"}, Spec: v1alpha1.BridgePersonSpec{User: "alice"}}
	testenv.ExpectApplied(t, c, p)
	config := testenv.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:hosted-bridge-system:hosted-bridge-ingress",
		Groups:   []string{"system:masters"}, // The policy alone holds it.
	}
	ingress := must.Value(client.New(config, client.Options{Scheme: c.Scheme()}))(t)
	refused := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "hosted-bridge-ingress-persons")
	}
	status := func(change func(*v1alpha1.BridgePersonStatus)) error {
		changed := p.DeepCopy()
		change(&changed.Status)
		return ingress.Status().Patch(t.Context(), changed, client.MergeFrom(p), client.DryRunAll)
	}
	left := func(s *v1alpha1.BridgePersonStatus) { s.Conditions = []metav1.Condition{accepted()} }
	wait.Until(t, "the policy holds", func() bool { return refused(status(left)) })
	if err := status(func(s *v1alpha1.BridgePersonStatus) {
		s.Bridges = []v1alpha1.PersonBridge{{UID: "u", Namespace: "n", Name: "b"}}
	}); !refused(err) {
		t.Errorf("a bridge: %v", err)
	}
	if err := status(func(s *v1alpha1.BridgePersonStatus) {
		s.Directory = &v1alpha1.PersonDirectoryGroups{Incarnation: 1, Groups: []string{"admins"}}
	}); !refused(err) {
		t.Errorf("a group: %v", err)
	}
	if err := status(func(s *v1alpha1.BridgePersonStatus) {
		s.LoginsEndedTime, s.Audited = new(metav1.Now()), []v1alpha1.AuditedStep{{Step: "LoginsEnded", Time: metav1.Now()}}
		s.Login = &v1alpha1.PersonLogin{Time: metav1.Now()}
	}); err != nil {
		t.Errorf("its own part: %v", err)
	}
	spec := func(change func(*v1alpha1.BridgePerson)) error {
		changed := p.DeepCopy()
		change(changed)
		return ingress.Patch(t.Context(), changed, client.MergeFrom(p), client.DryRunAll)
	}
	if err := spec(func(p *v1alpha1.BridgePerson) { p.Finalizers = []string{"example.com/stay"} }); !refused(err) {
		t.Errorf("a finalizer: %v", err)
	}
	if err := spec(func(p *v1alpha1.BridgePerson) { p.Spec.Access = v1alpha1.AccessSuspended }); err != nil {
		t.Errorf("an access: %v", err)
	}
	of := func(name string, s v1alpha1.BridgePersonSpec) error {
		o := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name}, Spec: s}
		return ingress.Create(t.Context(), o, client.DryRunAll)
	}
	login := v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "b"}
	known := login
	known.Directory = &v1alpha1.PersonDirectory{Incarnation: 1, UserName: "b", Active: true}
	letters := strings.Repeat("a", 26)
	if !refused(of("user.bob", v1alpha1.BridgePersonSpec{User: "carol"})) || !refused(of("somebody", login)) || !refused(of("d-"+letters, login)) || !refused(of("p-"+letters, known)) {
		t.Error("it makes a BridgePerson of any name")
	}
	for name, s := range map[string]v1alpha1.BridgePersonSpec{"user.bob": {User: "bob"}, "p-" + letters: login, "d-" + letters: known} {
		if err := of(name, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheIngressMakesGroupsOfOneFormOfName tries others, to change what holds a group, and to
// change and delete a group of a manifest.
func TestTheIngressMakesGroupsOfOneFormOfName(t *testing.T) {
	c := testenv.Client(t)
	testenv.ExpectInstalled(t, c, admission, testenv.Namespace(t, c))
	config := testenv.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:hosted-bridge-system:hosted-bridge-ingress",
		Groups:   []string{"system:masters"}, // The policy alone holds it.
	}
	ingress := must.Value(client.New(config, client.Options{Scheme: c.Scheme()}))(t)
	refused := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "hosted-bridge-ingress-groups")
	}
	g := &v1alpha1.BridgeGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t, c), Name: "engineering"},
		Spec:       v1alpha1.BridgeGroupSpec{Issuer: "https://a", Value: "eng", DisplayName: "eng"},
	}
	wait.Until(t, "the policy holds", func() bool { return refused(ingress.Create(t.Context(), g.DeepCopy(), client.DryRunAll)) })
	g.Name = "g-" + strings.Repeat("a", 26)
	if err := ingress.Create(t.Context(), g.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("a group: %v", err)
	}
	testenv.ExpectApplied(t, c, g)
	changed := g.DeepCopy()
	changed.Finalizers = []string{"example.com/stay"}
	if err := ingress.Patch(t.Context(), changed, client.MergeFrom(g), client.DryRunAll); !refused(err) {
		t.Errorf("a finalizer: %v", err)
	}
	manifest := &v1alpha1.BridgeGroup{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: "engineering"}, Spec: v1alpha1.BridgeGroupSpec{Issuer: "https://a", Value: "other", DisplayName: "other"}}
	testenv.ExpectApplied(t, c, manifest)
	changed = manifest.DeepCopy()
	changed.Spec.Members = []string{"d-x-1"}
	if err := ingress.Patch(t.Context(), changed, client.MergeFrom(manifest), client.DryRunAll); !refused(err) {
		t.Errorf("a member of a group that a manifest made: %v", err)
	}
	if err := ingress.Delete(t.Context(), manifest, client.DryRunAll); !refused(err) {
		t.Errorf("a deletion of a group that a manifest made: %v", err)
	}
	if err := ingress.Delete(t.Context(), g, client.DryRunAll); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	changed = g.DeepCopy()
	changed.Spec.Members = []string{"d-x-1"}
	if err := ingress.Patch(t.Context(), changed, client.MergeFrom(g), client.DryRunAll); err != nil {
		t.Errorf("a member: %v", err)
	}
}
