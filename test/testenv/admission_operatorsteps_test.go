// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	keybroker     = "system:serviceaccount:hosted-bridge-system:hosted-bridge-keybroker"
	staysRetained = "to be retained the operator changes neither the owner, the bridge nor the user"
	deletesNoFile = "deletes no PersistentVolumeClaim that is to be retained"
	onlyLeft      = "deletes no HostedBridge but those"
	theirStatus   = "of a HostedBridge's status the operator may not change"
	theirPersons  = "of a BridgePerson's status the operator may change"
)

// newStatusPolicies waits also for the policies of statuses.
func newStatusPolicies(t *testing.T) *tenantPolicies {
	t.Helper()
	f := newOperatorPolicies(t)
	admin := f.as(clusterAdmin)
	probe := with(onboarded(f.namespace), func(b *v1alpha1.HostedBridge) { b.Name = "probe" })
	person := f.person("probe")
	testenv.ExpectApplied(t, admin, probe, person)
	for what, refused := range map[string]func() error{
		theirStatus: func() error {
			return f.patchStatus(operator, probe, func() { probe.Status.Secrets = &v1alpha1.SecretsStatus{} }, client.DryRunAll)
		},
		theirPersons: func() error {
			return f.patchStatus(operator, person, func() { person.Status.LoginsEndedTime = new(metav1.Now()) }, client.DryRunAll)
		},
	} {
		wait.Until(t, "the policy holds: "+what, func() bool {
			err := refused()
			return err != nil && strings.Contains(err.Error(), what)
		})
	}
	return f
}

func (f *tenantPolicies) person(name string) *v1alpha1.BridgePerson {
	return &v1alpha1.BridgePerson{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "p-" + name},
		Spec:       v1alpha1.BridgePersonSpec{Issuer: "https://login.example.com", Subject: name},
	}
}

// patchStatus has a process write what change does to an object. Options such as a dry run,
// and a refusal, leave the object as it was read.
func (f *tenantPolicies) patchStatus(user string, o client.Object, change func(), options ...client.SubResourcePatchOption) error {
	f.t.Helper()
	before := o.DeepCopyObject().(client.Object)
	change()
	err := f.as(user).Status().Patch(f.t.Context(), o, client.MergeFrom(before), options...)
	testenv.ExpectExists(f.t, f.as(clusterAdmin), o)
	return err
}

// claim returns a claim as the operator makes it.
func (f *tenantPolicies) claim(server string, owners []metav1.OwnerReference) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.namespace, Name: v1alpha1.ClaimName("alice", server), Labels: f.deployment().Labels, OwnerReferences: owners,
			Annotations: map[string]string{v1alpha1.AnnotationUserID: "alice"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// TestNoTwoWritesOfTheOperatorDeleteFilesThatAreRetained tries to make a claim one that the
// operator may delete, and to give it to another user.
func TestNoTwoWritesOfTheOperatorDeleteFilesThatAreRetained(t *testing.T) {
	f := newOperatorPolicies(t)
	by, owners := f.as(operator), f.deployment().OwnerReferences
	retained, scratch := f.claim("memory", nil), f.claim("scratch", owners)
	for _, c := range []client.Object{retained, scratch} {
		expectPolicy(t, by.Create(t.Context(), c), "")
	}
	patch := func(c *corev1.PersistentVolumeClaim, change func(*corev1.PersistentVolumeClaim)) error {
		changed := c.DeepCopy()
		change(changed)
		return by.Patch(t.Context(), changed, client.MergeFrom(c))
	}
	for name, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"its bridge becomes the owner": func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = owners },
		"a bridge that is not there becomes an owner": func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: owners[0].APIVersion, Kind: owners[0].Kind, Name: "nobody", UID: "0"}}
		},
		"another user":   func(c *corev1.PersistentVolumeClaim) { c.Annotations[v1alpha1.AnnotationUserID] = "bob" },
		"nobody":         func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil },
		"another bridge": func(c *corev1.PersistentVolumeClaim) { c.Labels[v1alpha1.LabelInstance] = "bob" },
	} {
		t.Run(name, func(t *testing.T) {
			expectPolicy(t, patch(retained, change), staysRetained)
			expectPolicy(t, by.Delete(t.Context(), retained.DeepCopy()), deletesNoFile)
		})
	}
	t.Run("a claim that goes with its bridge is deleted, or retained from now on", func(t *testing.T) {
		expectPolicy(t, by.Delete(t.Context(), scratch.DeepCopy(), client.DryRunAll), "")
		expectPolicy(t, patch(scratch, func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = nil }), "")
		expectPolicy(t, by.Delete(t.Context(), scratch.DeepCopy()), deletesNoFile)
	})
	t.Run("what the operator applies of a retained claim", func(t *testing.T) {
		expectPolicy(t, patch(retained, func(c *corev1.PersistentVolumeClaim) { c.Annotations["hostedbridge.dev/applied"] = "1" }), "")
	})
	t.Run("somebody else gives it an owner", func(t *testing.T) {
		changed := with(retained.DeepCopy(), func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = owners })
		expectPolicy(t, f.as(another).Patch(t.Context(), changed, client.MergeFrom(retained), client.DryRunAll), "")
	})
}

// TestNoTwoWritesOfTheOperatorDeleteTheBridgeOfAPersonWhoHasNotLeft has the operator say that
// somebody has left, and the keybroker say it afterwards.
func TestNoTwoWritesOfTheOperatorDeleteTheBridgeOfAPersonWhoHasNotLeft(t *testing.T) {
	f := newStatusPolicies(t)
	by, b := f.as(operator), onboarded(f.namespace)
	testenv.ExpectApplied(t, f.as(clusterAdmin), b)
	left := func() {
		b.Status.Access = &v1alpha1.BridgeAccess{State: v1alpha1.AccessOffboarded, Since: metav1.Now()}
	}
	destroyed := func() {
		b.Status.Secrets = &v1alpha1.SecretsStatus{RetainedUntil: new(metav1.Now()), DestroyedTime: new(metav1.Now())}
	}
	expectPolicy(t, by.Delete(t.Context(), b.DeepCopy()), onlyLeft)
	expectPolicy(t, f.patchStatus(operator, b, func() { left(); destroyed() }), theirStatus)
	expectPolicy(t, f.patchStatus(operator, b, left), "")
	expectPolicy(t, by.Delete(t.Context(), b.DeepCopy()), onlyLeft)
	expectPolicy(t, f.patchStatus(operator, b, destroyed), theirStatus)
	expectPolicy(t, by.Delete(t.Context(), b.DeepCopy()), onlyLeft)
	expectPolicy(t, f.patchStatus(keybroker, b, destroyed), "")
	expectPolicy(t, by.Delete(t.Context(), b.DeepCopy()), "")

	manifests := valid(f.namespace, "alice")
	testenv.ExpectApplied(t, f.as(clusterAdmin), manifests)
	// A write of the status with the label of a first login changes the status alone.
	expectPolicy(t, f.patchStatus(operator, manifests, func() {
		manifests.Labels = map[string]string{v1alpha1.LabelOnboarded: "true"}
		manifests.Status.Access = &v1alpha1.BridgeAccess{State: v1alpha1.AccessOffboarded, Since: metav1.Now()}
	}), "")
	b = manifests
	expectPolicy(t, f.patchStatus(keybroker, b, destroyed), "")
	expectPolicy(t, by.Delete(t.Context(), b.DeepCopy()), onlyLeft)
}

// TestTheOperatorSaysOfStatusesWhatIsItsOwn has it say what other processes report and believe.
func TestTheOperatorSaysOfStatusesWhatIsItsOwn(t *testing.T) {
	f := newStatusPolicies(t)
	b, p := onboarded(f.namespace), f.person("alice")
	testenv.ExpectApplied(t, f.as(clusterAdmin), b, p)
	s, now := &b.Status, metav1.Now()
	for name, change := range map[string]func(){
		"until when secrets are kept":    func() { s.Secrets = &v1alpha1.SecretsStatus{RetainedUntil: &now} },
		"the version of the master key":  func() { s.KeyVersion = new(int32(7)) },
		"how many servers can be used":   func() { s.Servers = "1/1" },
		"how its servers are":            func() { s.ServerStates = []v1alpha1.ServerState{{Name: "a", State: v1alpha1.ServerHealthy}} },
		"how many tools there are":       func() { s.Tools = new(int32(3)) },
		"which tools have one name":      func() { s.Collisions = []string{"a"} },
		"when it was last used":          func() { s.LastActivityTime = &now },
		"what its user saw":              func() { s.Visits = &v1alpha1.Visits{Last: v1alpha1.Visit{Time: now}} },
		"when its keys were last used":   func() { s.Keys = []v1alpha1.APIKeyStatus{{ID: "0123456789Ab", LastUsedTime: now}} },
		"its own part and one of others": func() { s.Phase, s.KeyVersion = v1alpha1.PhaseRunning, new(int32(7)) },
	} {
		t.Run(name, func(t *testing.T) { expectPolicy(t, f.patchStatus(operator, b, change), theirStatus) })
	}
	for name, change := range map[string]func(){
		"whose user a person is":      func() { p.Status.Login = &v1alpha1.PersonLogin{Time: now, User: "bob"} },
		"in which groups a person is": func() { p.Status.Login = &v1alpha1.PersonLogin{Time: now, Groups: []string{"payments"}} },
		"since when logins count":     func() { p.Status.LoginsEndedTime = &now },
		"what the audit trail has":    func() { p.Status.Audited = []v1alpha1.AuditedStep{{Step: "left", Time: now}} },
	} {
		t.Run(name, func(t *testing.T) { expectPolicy(t, f.patchStatus(operator, p, change), theirPersons) })
	}
	t.Run("its own part", func(t *testing.T) {
		expectPolicy(t, f.patchStatus(operator, b, func() {
			s.Phase, s.IdleSince, s.UserID, s.Conditions = v1alpha1.PhaseRunning, &now, "alice", []metav1.Condition{accepted()}
		}), "")
		expectPolicy(t, f.patchStatus(operator, p, func() {
			p.Status.ObservedGeneration, p.Status.Conditions = 1, []metav1.Condition{accepted()}
			p.Status.Directory = &v1alpha1.PersonDirectoryGroups{Incarnation: 1, Groups: []string{"payments"}}
			p.Status.Bridges = []v1alpha1.PersonBridge{{UID: "u", Namespace: "n", Name: "b"}}
		}), "")
	})
}

// TestThePoliciesOfTheOperatorNameEveryField finds a field that was added to a status since.
func TestThePoliciesOfTheOperatorNameEveryField(t *testing.T) {
	policy := string(must.Value(os.ReadFile(operatorAdmission))(t))
	for _, part := range []struct {
		of  reflect.Type
		own []string
	}{
		{reflect.TypeFor[v1alpha1.HostedBridgeStatus](), []string{
			"observedGeneration", "conditions", "phase", "userID", "defaultToolNameLength", "unprefixedServer", "tier", "profiles", "effective", "access",
			"url", "podName", "configuration", "recipes", "terminations", "outages", "idleSince",
		}},
		{reflect.TypeFor[v1alpha1.BridgePersonStatus](), []string{"observedGeneration", "directory", "bridges", "conditions"}},
	} {
		for field := range part.of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			compared := strings.Contains(policy, "object.?status.?"+name+" == oldObject.?status.?"+name)
			if compared == slices.Contains(part.own, name) {
				t.Errorf("%s.%s: compared: %v", part.of.Name(), name, compared)
			}
		}
	}
}
