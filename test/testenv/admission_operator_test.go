// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	operatorAdmission = "../../config/rbac/operator-admission.yaml"
	masterKey         = "hosted-bridge-master-key"
)

// newOperatorPolicies adds to the policies of tenants' pods what the operator is
// held by. Nothing else does: everybody here has all rights.
func newOperatorPolicies(t *testing.T) *tenantPolicies {
	t.Helper()
	f := newTenantPolicies(t)
	c := f.as(clusterAdmin)
	testenv.ExpectApplied(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testenv.System}})
	testenv.ExpectInstalled(t, c, operatorAdmission, testenv.System)
	wait.Until(t, "the operator's policy holds", func() bool {
		err := f.as(operator).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "any"}}, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "hosted-bridge-operator.")
	})
	return f
}

// moved returns an object in another namespace.
func moved[T client.Object](o T, namespace string) T {
	o.SetNamespace(namespace)
	return o
}

// with returns an object that was changed.
func with[T client.Object](o T, change func(T)) T {
	change(o)
	return o
}

// owned returns an object with the name and the owner that the operator gives it.
func (f *tenantPolicies) owned(o client.Object) client.Object {
	o.SetNamespace(f.namespace)
	o.SetName(v1alpha1.WorkloadName("alice"))
	o.SetOwnerReferences(f.deployment().OwnerReferences)
	return o
}

func (f *tenantPolicies) policy() *networkingv1.NetworkPolicy {
	f.t.Helper()
	made, err := bridgeobjects.NetworkPolicy(f.namespace, bridgeobjects.Network{Namespace: testenv.System, DNS: bridgeobjects.DNS{Namespace: "kube-system", Port: 53}})
	if err != nil {
		f.t.Fatal(err)
	}
	encoded := must.Value(json.Marshal(made))(f.t)
	var p networkingv1.NetworkPolicy
	must.Succeed(f.t, json.Unmarshal(encoded, &p))
	return &p
}

func (f *tenantPolicies) probes() (open, denied *corev1.Pod) {
	return bridgeobjects.ProbePods(bridgeobjects.Probe{Namespace: testenv.System, Image: "bridge:1", Address: "http://10.0.0.1:8081/healthz"})
}

// stealing is a pod that mounts the master key.
func stealing(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "thief", Image: "thief:1", VolumeMounts: []corev1.VolumeMount{{Name: "key", MountPath: "/key"}}}},
			Volumes:    []corev1.Volume{{Name: "key", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: masterKey}}}},
		},
	}
}

func thief(namespace string, labels map[string]string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "thief"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: stealing(labels)},
	}
}

const (
	ownNamespace  = "in its own namespace the operator writes nothing but"
	onlyProbes    = "makes no pods but those of its probe"
	probeVolumes  = "has no volumes, no token"
	probeProgram  = "has one container, which runs bridge reach"
	probeBounds   = "is restricted, is in no namespace of its node, and ends by itself"
	onlyTenants   = "writes no Deployments but those"
	onlyTheirPods = "changes and deletes no pods but tenants'"
	onlyOwned     = "but those that a HostedBridge controls"
	onlyPolicy    = "writes no NetworkPolicies but"
)

func TestTheOperatorMakesWhatBridgesNeedAndNothingElse(t *testing.T) {
	f := newOperatorPolicies(t)
	open, denied := f.probes()
	strange := map[string]string{"app": "thief"}
	tests := map[string]struct {
		object  client.Object
		message string
	}{
		"a bridge's Deployment":                              {f.deployment(), ""},
		"a bridge's ConfigMap":                               {f.owned(&corev1.ConfigMap{}), ""},
		"a bridge's ServiceAccount":                          {f.owned(&corev1.ServiceAccount{}), ""},
		"the policy of a namespace with tenants":             {f.policy(), ""},
		"the pod of the probe that may connect":              {open, ""},
		"the pod of the probe that may not":                  {denied, ""},
		"a Deployment beside the master key":                 {thief(testenv.System, strange), ownNamespace},
		"a bridge's Deployment beside the master key":        {moved(f.deployment(), testenv.System), ownNamespace},
		"a ConfigMap in its own namespace":                   {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "hosted-bridge-ca"}}, ownNamespace},
		"a bridge's ConfigMap in its own namespace":          {moved(f.owned(&corev1.ConfigMap{}), testenv.System), ownNamespace},
		"a ServiceAccount in its own namespace":              {moved(f.owned(&corev1.ServiceAccount{}), testenv.System), ownNamespace},
		"tenants' policy in its own namespace":               {moved(f.policy(), testenv.System), ownNamespace},
		"a Deployment whose pods are no tenants'":            {thief(f.namespace, strange), onlyTenants},
		"a Deployment whose pods are no tenants', elsewhere": {thief("kube-system", strange), onlyTenants},
		"a Deployment whose pods are half a tenant's": {with(f.deployment(), func(d *appsv1.Deployment) {
			delete(d.Spec.Selector.MatchLabels, labelComponentKey)
			delete(d.Spec.Template.Labels, labelComponentKey)
		}), onlyTenants},
		"a Deployment that says so of itself alone": {with(f.deployment(), func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = strange, strange
		}), onlyTenants},
		"a Deployment of nobody's":          {with(f.deployment(), func(d *appsv1.Deployment) { d.OwnerReferences = nil }), onlyOwned},
		"a ConfigMap of nobody's":           {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "a-bridge"}}, onlyOwned},
		"a ConfigMap that others read":      {with(f.owned(&corev1.ConfigMap{}), func(o client.Object) { o.SetName("aws-auth") }), onlyOwned},
		"a ServiceAccount of nobody's":      {&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "a-bridge"}}, onlyOwned},
		"a ConfigMap of another kind's":     {with(f.owned(&corev1.ConfigMap{}), func(o client.Object) { o.SetOwnerReferences(ofAnotherGroup(o.GetOwnerReferences())) }), onlyOwned},
		"a NetworkPolicy of another name":   {with(f.policy(), func(p *networkingv1.NetworkPolicy) { p.Name = "more" }), onlyPolicy},
		"a NetworkPolicy for everybody":     {with(f.policy(), func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector = metav1.LabelSelector{} }), onlyPolicy},
		"a pod where tenants are":           {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "thief"}, Spec: stealing(nil).Spec}, onlyProbes},
		"the probe's pod where tenants are": {moved(open.DeepCopy(), f.namespace), onlyProbes},
	}
	by := f.as(operator)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expectPolicy(t, by.Create(t.Context(), tt.object, client.DryRunAll), tt.message)
		})
	}
	for name, o := range map[string]client.Object{
		"another's Deployment beside the master key": thief(testenv.System, strange),
		"another's ConfigMap there":                  &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "hosted-bridge-ca"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, user := range []string{clusterAdmin, another} {
				expectPolicy(t, f.as(user).Create(t.Context(), o.DeepCopyObject().(client.Object), client.DryRunAll), "")
			}
		})
	}
}

// ofAnotherGroup returns references to a kind that has our kind's name in another group.
func ofAnotherGroup(refs []metav1.OwnerReference) []metav1.OwnerReference {
	refs[0].APIVersion = "example.com/v1"
	return refs
}

func TestThePodsOfTheProbeAreAsTheOperatorMakesThem(t *testing.T) {
	f := newOperatorPolicies(t)
	first := func(p *corev1.Pod) *corev1.Container { return &p.Spec.Containers[0] }
	secret := func(p *corev1.Pod) { p.Spec.Volumes = stealing(nil).Spec.Volumes }
	tests := map[string]struct {
		change  func(*corev1.Pod)
		message string
	}{
		"as the operator makes it": {func(*corev1.Pod) {}, ""},
		"that goes with another pod": {func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "o", UID: "u"}}
		}, ""},
		"of another name":               {func(p *corev1.Pod) { p.Name = "hosted-bridge-probe-more" }, onlyProbes},
		"with a name that is yet to be": {func(p *corev1.Pod) { p.Name, p.GenerateName = "", "hosted-bridge-probe-open" }, onlyProbes},
		"that says it is a keybroker":   {func(p *corev1.Pod) { p.Labels[labelComponentKey] = "keybroker" }, onlyProbes},
		"that says it is the other one": {func(p *corev1.Pod) { p.Labels[labelComponentKey] = "probe-denied" }, onlyProbes},
		"without labels":                {func(p *corev1.Pod) { p.Labels = nil }, onlyProbes},
		"with one label more":           {func(p *corev1.Pod) { p.Labels["app"] = "database" }, onlyProbes},
		"with the master key":           {secret, probeVolumes},
		"with a folder of the node": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		}, probeVolumes},
		"with a token":                 {func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = new(true) }, probeVolumes},
		"that says nothing of a token": {func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = nil }, probeVolumes},
		"as the keybroker":             {func(p *corev1.Pod) { p.Spec.ServiceAccountName = "hosted-bridge-keybroker" }, probeVolumes},
		"with a container more": {func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b", Image: "b"})
		}, probeProgram},
		"with a container before it": {func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "b", Image: "b"}} }, probeProgram},
		"with a program of its own":  {func(p *corev1.Pod) { first(p).Command = []string{"/bin/sh"} }, probeProgram},
		"with another command":       {func(p *corev1.Pod) { first(p).Args[0] = "pod" }, probeProgram},
		"with a flag more":           {func(p *corev1.Pod) { first(p).Args = append(first(p).Args, "--for=1h") }, probeProgram},
		"without arguments":          {func(p *corev1.Pod) { first(p).Args = nil }, probeProgram},
		"with a hook": {func(p *corev1.Pod) {
			first(p).Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh"}}}}
		}, probeProgram},
		"with the master key in a variable": {func(p *corev1.Pod) {
			first(p).Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "a", LocalObjectReference: corev1.LocalObjectReference{Name: masterKey}}}}}
		}, probeProgram},
		"with all of the master key in variables": {func(p *corev1.Pod) {
			first(p).EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: masterKey}}}}
		}, probeProgram},
		"as root":                      {func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsUser = ptr.To[int64](0) }, probeBounds},
		"as whom the image says":       {func(p *corev1.Pod) { p.Spec.SecurityContext = nil }, probeBounds},
		"whose container is root":      {func(p *corev1.Pod) { first(p).SecurityContext.RunAsUser = ptr.To[int64](0) }, probeBounds},
		"whose container says nothing": {func(p *corev1.Pod) { first(p).SecurityContext = nil }, probeBounds},
		"that is privileged": {func(p *corev1.Pod) {
			first(p).SecurityContext.Privileged, first(p).SecurityContext.AllowPrivilegeEscalation = new(true), nil
		}, probeBounds},
		"with a capability":                 {func(p *corev1.Pod) { first(p).SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"} }, probeBounds},
		"with all capabilities of the node": {func(p *corev1.Pod) { first(p).SecurityContext.Capabilities = nil }, probeBounds},
		"that is unconfined":                {func(p *corev1.Pod) { p.Spec.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined }, probeBounds},
		"with the node's network":           {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, probeBounds},
		"with the node's processes":         {func(p *corev1.Pod) { p.Spec.HostPID = true }, probeBounds},
		"with a port of the node":           {func(p *corev1.Pod) { first(p).Ports = []corev1.ContainerPort{{ContainerPort: 1, HostPort: 1}} }, probeBounds},
		"that writes to its filesystem":     {func(p *corev1.Pod) { first(p).SecurityContext.ReadOnlyRootFilesystem = nil }, probeBounds},
		"that stays":                        {func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = nil }, probeBounds},
		"that stays for long":               {func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](3600) }, probeBounds},
	}
	by := f.as(operator)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod, _ := f.probes()
			tt.change(pod)
			expectPolicy(t, by.Create(t.Context(), pod, client.DryRunAll), tt.message)
		})
	}
}

// TestTheOperatorChangesNothingOfOthers has what is there written by others.
func TestTheOperatorChangesNothingOfOthers(t *testing.T) {
	f := newOperatorPolicies(t)
	admin, by := f.as(clusterAdmin), f.as(operator)
	strange := map[string]string{"app": "other"}
	theirs := with(f.deployment(), func(d *appsv1.Deployment) {
		d.Name, d.OwnerReferences = "theirs-bridge", nil
		d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = strange, strange
	})
	broker := moved(theirs.DeepCopy(), testenv.System)
	pods := map[string]*corev1.Pod{}
	for name, namespace := range map[string]string{"broker": testenv.System, "stranger": f.namespace} {
		pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: strange}, Spec: f.pod().Spec}
	}
	tenant, probe := f.pod(), with(first(f.probes()), func(p *corev1.Pod) { p.Labels = nil })
	shared := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "theirs-bridge"}}
	policy := with(f.policy(), func(p *networkingv1.NetworkPolicy) { p.Name = "theirs" })
	deny := moved(policy.DeepCopy(), testenv.System)
	for _, o := range []client.Object{theirs, broker, pods["broker"], pods["stranger"], shared, policy, deny, probe} {
		must.Succeed(t, admin.Create(t.Context(), o))
	}
	must.Succeed(t, f.as(replicaSets).Create(t.Context(), tenant))
	ours, told, isolation := f.deployment(), f.owned(&corev1.ConfigMap{}), f.policy()
	for _, o := range []client.Object{ours, told, isolation} {
		must.Succeed(t, by.Create(t.Context(), o))
	}
	patch := func(o client.Object, change func(client.Object)) func() error {
		return func() error {
			changed := o.DeepCopyObject().(client.Object)
			change(changed)
			return by.Patch(t.Context(), changed, client.MergeFrom(o), client.DryRunAll)
		}
	}
	annotate := func(o client.Object) func() error {
		return patch(o, func(o client.Object) { o.SetAnnotations(map[string]string{v1alpha1.AnnotationConfigDigest: "1"}) })
	}
	take := func(o client.Object) func() error {
		return patch(o, func(o client.Object) {
			o.SetOwnerReferences(f.deployment().OwnerReferences)
			o.SetLabels(f.deployment().Labels)
		})
	}
	image := func(o client.Object) func() error {
		return patch(o, func(o client.Object) {
			if p, ok := o.(*corev1.Pod); ok {
				p.Spec.Containers[0].Image = "evil:1"
			} else {
				o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = "evil:1"
			}
		})
	}
	remove := func(o client.Object) func() error {
		return func() error { return by.Delete(t.Context(), o.DeepCopyObject().(client.Object), client.DryRunAll) }
	}
	tests := map[string]struct {
		act     func() error
		message string
	}{
		"a bridge's image":                         {image(ours), ""},
		"a bridge's Deployment becomes nobody's":   {patch(ours, func(o client.Object) { o.SetOwnerReferences(nil) }), onlyOwned},
		"a bridge's configuration":                 {annotate(told), ""},
		"a tenant's pod is told":                   {annotate(tenant), ""},
		"a tenant's pod is removed":                {remove(tenant), ""},
		"the policy of tenants":                    {annotate(isolation), ""},
		"the policy of tenants is removed":         {remove(isolation), ""},
		"the policy of tenants selects everybody":  {patch(isolation, func(o client.Object) { o.(*networkingv1.NetworkPolicy).Spec.PodSelector = metav1.LabelSelector{} }), onlyPolicy},
		"the probe's pods are removed":             {remove(probe), ""},
		"the keybroker's image":                    {image(broker), ownNamespace},
		"the image of the keybroker's pod":         {image(pods["broker"]), ownNamespace},
		"the keybroker's pod is removed":           {remove(pods["broker"]), ownNamespace},
		"an annotation in its own namespace":       {annotate(pods["broker"]), ownNamespace},
		"a policy of its own namespace is removed": {remove(deny), ownNamespace},
		"another's Deployment":                     {image(theirs), onlyTenants},
		"another's Deployment is taken":            {take(theirs), onlyTenants},
		"another's Deployment is removed":          {remove(theirs), onlyTenants},
		"the image of another's pod":               {image(pods["stranger"]), onlyTheirPods},
		"another's pod is removed":                 {remove(pods["stranger"]), onlyTheirPods},
		"another's pod is annotated":               {annotate(pods["stranger"]), onlyTheirPods},
		"another's ConfigMap":                      {annotate(shared), onlyOwned},
		"another's ConfigMap is taken":             {take(shared), onlyOwned},
		"another's ConfigMap is removed":           {remove(shared), onlyOwned},
		"another's policy":                         {annotate(policy), onlyPolicy},
		"another's policy is removed":              {remove(policy), onlyPolicy},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expectPolicy(t, tt.act(), tt.message) })
	}
}

func first[T, U any](t T, _ U) T { return t }

// TestWhatTheOperatorAppliesPasses has the operator's own writer apply everything
// of a bridge, twice: a patch that makes and a patch that changes.
func TestWhatTheOperatorAppliesPasses(t *testing.T) {
	f := newOperatorPolicies(t)
	b := valid(f.namespace, "alice")
	testenv.ExpectApplied(t, f.as(clusterAdmin), b)
	by := f.as(operator)
	writer := &apply.Applier{Client: by, Live: by, FieldOwner: v1alpha1.FieldOwnerOperator}
	for _, image := range []string{"bridge:1", "bridge:2"} {
		objects, err := bridgeobjects.Objects(effective.Of(b), bridgestate.Plan{Action: bridgestate.Run, Trust: "certificate"}, bridgeobjects.Settings{BridgeImage: image, KeybrokerURL: "https://keys:8443"})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if _, err := writer.Object(t.Context(), b, o); err != nil {
				t.Errorf("%s: %v", image, err)
			}
		}
		shared, err := bridgeobjects.NetworkPolicy(f.namespace, bridgeobjects.Network{Namespace: testenv.System, DNS: bridgeobjects.DNS{Namespace: "kube-system", Port: 53}})
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Shared(t.Context(), shared); err != nil {
			t.Errorf("%s: %v", image, err)
		}
	}
	var made appsv1.Deployment
	if err := by.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: v1alpha1.WorkloadName("alice")}, &made); err != nil || made.Spec.Template.Spec.Containers[0].Image != "bridge:2" {
		t.Errorf("the Deployment is %v (%v)", made.Spec.Template.Spec.Containers, err)
	}
}
