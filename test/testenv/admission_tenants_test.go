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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const tenantsAdmission = "../../config/rbac/tenants-admission.yaml"

// Who writes what in a cluster.
const (
	operator          = "system:serviceaccount:hosted-bridge-system:hosted-bridge-operator"
	deployments       = "system:serviceaccount:kube-system:deployment-controller"
	replicaSets       = "system:serviceaccount:kube-system:replicaset-controller"
	another           = "system:serviceaccount:other:hosted-bridge-operator"
	clusterAdmin      = "admin"
	labelComponentKey = "app.kubernetes.io/component"
)

// tenantPolicies is an API server with the policies of tenants' pods, which
// other tests must not meet.
type tenantPolicies struct {
	t         *testing.T
	config    *rest.Config
	namespace string
}

func newTenantPolicies(t *testing.T) *tenantPolicies {
	t.Helper()
	p := testenv.StartControlPlane(t)
	c := p.Client()
	f := &tenantPolicies{t: t, config: p.Config(), namespace: testenv.Namespace(t, c)}
	testenv.ExpectInstalled(t, c, tenantsAdmission, f.namespace)
	for name, refused := range map[string]client.Object{"hosted-bridge-tenants": f.pod(), "hosted-bridge-workloads": f.deployment()} {
		wait.Until(t, name+" holds", func() bool {
			err := f.as(clusterAdmin).Create(t.Context(), refused.DeepCopyObject().(client.Object), client.DryRunAll)
			return err != nil && strings.Contains(err.Error(), name)
		})
	}
	return f
}

// as returns a client of a user whom nothing but policies holds.
func (f *tenantPolicies) as(user string) client.Client {
	f.t.Helper()
	config := rest.CopyConfig(f.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	return must.Value(client.New(config, client.Options{Scheme: testenv.Scheme()}))(f.t)
}

// deployment returns what the operator makes of a bridge with a program.
func (f *tenantPolicies) deployment() *appsv1.Deployment {
	f.t.Helper()
	b := valid(f.namespace, "alice")
	b.UID = "5c1d"
	b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: "memory", Transport: v1alpha1.Transport{
		Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
			Image: "example.com/memory:1", Command: []string{"/memory"}, Storage: &v1alpha1.StdioStorage{Size: "1Gi"},
		},
	}})
	objects, err := bridgeobjects.Objects(effective.Of(b), bridgestate.Plan{Action: bridgestate.Run, Trust: "certificate"}, bridgeobjects.Settings{BridgeImage: "bridge:1", KeybrokerURL: "https://keys:8443"})
	if err != nil {
		f.t.Fatal(err)
	}
	encoded := must.Value(json.Marshal(objects[len(objects)-1]))(f.t)
	var d appsv1.Deployment
	must.Succeed(f.t, json.Unmarshal(encoded, &d))
	return &d
}

func (f *tenantPolicies) replicaSet() *appsv1.ReplicaSet {
	d := f.deployment()
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: d.Name + "-1", Labels: d.Labels},
		Spec:       appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template},
	}
}

func (f *tenantPolicies) pod() *corev1.Pod {
	template := f.deployment().Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = f.namespace, "alice-bridge-1"
	return pod
}

// expectPolicy checks that an answer is the refusal of one of our policies, with
// its message. An empty message is that it is none.
func expectPolicy(t *testing.T, err error, message string) {
	t.Helper()
	switch {
	case message == "" && err != nil:
		t.Errorf("refused: %v", err)
	case message != "" && err == nil:
		t.Errorf("not refused, want %q", message)
	case message != "" && (!apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), message)):
		t.Errorf("refused with %v, want %q", err, message)
	}
}

func TestTenantsPodsAreAsTheOperatorMakesThem(t *testing.T) {
	f := newTenantPolicies(t)
	const (
		root     = "runs as a user who is not root"
		gains    = "is privileged or gains privileges"
		capable  = "drops all capabilities"
		seccomp  = "seccomp profile RuntimeDefault"
		profiles = "neither AppArmor's profile"
		writable = "read-only root filesystem"
		node     = "in no namespace of its node"
		ports    = "no port of its node"
		token    = "no token for the API server"
		volumes  = "no volumes but"
		claims   = "no claims but those of its own bridge's servers"
		mounts   = "no container of a tenant's pod has the claim of another server"
		variable = "comes from a Secret"
	)
	first := func(p *corev1.Pod) *corev1.SecurityContext { return p.Spec.Containers[0].SecurityContext }
	volume := func(s corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "more", VolumeSource: s})
		}
	}
	claim := func(volume, claim string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			for i := range p.Spec.Volumes {
				if p.Spec.Volumes[i].PersistentVolumeClaim != nil {
					p.Spec.Volumes[i].PersistentVolumeClaim.ClaimName = claim
					p.Spec.Volumes[i].Name = volume
				}
			}
			mounts := p.Spec.Containers[1].VolumeMounts
			mounts[len(mounts)-1].Name = volume
		}
	}
	tests := map[string]struct {
		change  func(*corev1.Pod)
		message string
	}{
		"as the operator makes it":               {func(*corev1.Pod) {}, ""},
		"with the shim of its servers' images":   {func(p *corev1.Pod) { p.Spec.InitContainers = nil }, ""},
		"with another user than the operator's":  {func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsUser = ptr.To[int64](1000) }, ""},
		"with a node and a priority":             {func(p *corev1.Pod) { p.Spec.NodeName, p.Spec.Priority = "node", nil }, ""},
		"as root":                                {func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsUser = ptr.To[int64](0) }, root},
		"as whom the image says":                 {func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsNonRoot = nil }, root},
		"without a security context":             {func(p *corev1.Pod) { p.Spec.SecurityContext = nil }, root},
		"a container as root":                    {func(p *corev1.Pod) { first(p).RunAsUser = ptr.To[int64](0) }, root},
		"a container as whom the image says":     {func(p *corev1.Pod) { first(p).RunAsNonRoot = new(false) }, root},
		"an init container as root":              {func(p *corev1.Pod) { p.Spec.InitContainers[0].SecurityContext.RunAsUser = ptr.To[int64](0) }, root},
		"a privileged container":                 {func(p *corev1.Pod) { first(p).Privileged, first(p).AllowPrivilegeEscalation = new(true), nil }, gains},
		"a container that gains privileges":      {func(p *corev1.Pod) { first(p).AllowPrivilegeEscalation = new(true) }, gains},
		"a container that says nothing of that":  {func(p *corev1.Pod) { first(p).AllowPrivilegeEscalation = nil }, gains},
		"a container without a security context": {func(p *corev1.Pod) { p.Spec.Containers[1].SecurityContext = nil }, gains},
		"a container with an unmasked /proc": {func(p *corev1.Pod) {
			p.Spec.HostUsers, first(p).ProcMount = new(false), ptr.To(corev1.UnmaskedProcMount)
		}, gains},
		"a container that drops nothing":     {func(p *corev1.Pod) { first(p).Capabilities = nil }, capable},
		"a container that adds a capability": {func(p *corev1.Pod) { first(p).Capabilities.Add = []corev1.Capability{"NET_RAW"} }, capable},
		"an init container that drops less": {func(p *corev1.Pod) {
			p.Spec.InitContainers[0].SecurityContext.Capabilities.Drop = []corev1.Capability{"NET_RAW"}
		}, capable},
		"unconfined":                {func(p *corev1.Pod) { p.Spec.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined }, seccomp},
		"without a seccomp profile": {func(p *corev1.Pod) { p.Spec.SecurityContext.SeccompProfile = nil }, seccomp},
		"a container that is unconfined": {func(p *corev1.Pod) {
			first(p).SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}, seccomp},
		"without AppArmor": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
		}, profiles},
		"with another SELinux label":             {func(p *corev1.Pod) { p.Spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "spc_t"} }, profiles},
		"a container with another SELinux label": {func(p *corev1.Pod) { first(p).SELinuxOptions = &corev1.SELinuxOptions{Type: "spc_t"} }, profiles},
		"with a kernel parameter": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.ping_group_range", Value: "0 1"}}
		}, profiles},
		"a filesystem to write to":             {func(p *corev1.Pod) { first(p).ReadOnlyRootFilesystem = nil }, writable},
		"an init container's filesystem":       {func(p *corev1.Pod) { p.Spec.InitContainers[0].SecurityContext.ReadOnlyRootFilesystem = new(false) }, writable},
		"the node's network":                   {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, node},
		"the node's processes":                 {func(p *corev1.Pod) { p.Spec.HostPID = true }, node},
		"the node's shared memory":             {func(p *corev1.Pod) { p.Spec.HostIPC = true }, node},
		"a port of the node":                   {func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].HostPort = 8443 }, ports},
		"a token of its own":                   {func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = nil }, token},
		"a token that is asked for":            {func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = new(true) }, token},
		"a projected token for the API server": {func(p *corev1.Pod) { p.Spec.Volumes[0].Projected.Sources[0].ServiceAccountToken.Audience = "" }, token},
		"a projected token for somebody else":  {func(p *corev1.Pod) { p.Spec.Volumes[0].Projected.Sources[0].ServiceAccountToken.Audience = "vault" }, token},
		"a projected Secret": {func(p *corev1.Pod) {
			p.Spec.Volumes[0].Projected.Sources = []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "theirs"}}}}
		}, token},
		"a folder of the node": {volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}), volumes},
		"a Secret":             {volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "theirs"}}), volumes},
		"an image, where no registry has bundles":    {volume(corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "registry.example.com/bundles@sha256:" + strings.Repeat("0", 64)}}), volumes},
		"a volume that stays":                        {volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"}}), claims},
		"another user's claim":                       {claim("data-memory", "memory.bob-bridge"), claims},
		"another server's claim":                     {claim("data-memory", "files.alice-bridge"), claims},
		"a claim whose name ends as the bridge's do": {claim("data-b-bridge-memory", "b-bridge-memory.a-alice-bridge"), claims},
		"its server's claim in the bridge": {func(p *corev1.Pod) {
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "data-memory", MountPath: "/data"})
		}, mounts},
		"a driver's volume":         {volume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "secrets-store.csi.k8s.io"}}), volumes},
		"one more folder in memory": {volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), ""},
		"a variable from a Secret": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "a", LocalObjectReference: corev1.LocalObjectReference{Name: "theirs"}}}}}
		}, variable},
		"all variables of a Secret": {func(p *corev1.Pod) {
			p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "theirs"}}}}
		}, variable},
		"somebody else's pod, which may do so all": {func(p *corev1.Pod) {
			p.Labels[labelComponentKey] = "other"
			p.Spec.HostNetwork, p.Spec.AutomountServiceAccountToken = true, nil
		}, ""},
	}
	controller := f.as(replicaSets)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := f.pod()
			tt.change(pod)
			expectPolicy(t, controller.Create(t.Context(), pod, client.DryRunAll), tt.message)
		})
	}
}

func TestNobodyElseMakesTenantsPods(t *testing.T) {
	f := newTenantPolicies(t)
	const (
		onlyPods      = "only the ReplicaSet controller makes tenants' pods"
		onlyWorkloads = "only the operator makes tenants' Deployments"
	)
	tests := map[string]struct {
		user    string
		object  client.Object
		message string
	}{
		"a pod by the ReplicaSet controller":                    {replicaSets, f.pod(), ""},
		"a pod by an administrator":                             {clusterAdmin, f.pod(), onlyPods},
		"a pod by the operator":                                 {operator, f.pod(), onlyPods},
		"a ReplicaSet by the Deployment controller":             {deployments, f.replicaSet(), ""},
		"a ReplicaSet by an administrator":                      {clusterAdmin, f.replicaSet(), onlyWorkloads},
		"a ReplicaSet by the operator":                          {operator, f.replicaSet(), onlyWorkloads},
		"a Deployment by the operator":                          {operator, f.deployment(), ""},
		"a Deployment by an administrator":                      {clusterAdmin, f.deployment(), onlyWorkloads},
		"a Deployment by the Deployment controller":             {deployments, f.deployment(), onlyWorkloads},
		"a Deployment by another installation's ServiceAccount": {another, f.deployment(), onlyWorkloads},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expectPolicy(t, f.as(tt.user).Create(t.Context(), tt.object, client.DryRunAll), tt.message)
		})
	}
}

func TestWhatRunsForATenantIsNotChanged(t *testing.T) {
	f := newTenantPolicies(t)
	d, pod := f.deployment(), f.pod()
	stranger := f.pod()
	stranger.Name, stranger.Labels = "stranger", map[string]string{"app": "stranger"}
	for user, object := range map[string]client.Object{operator: d, replicaSets: pod, clusterAdmin: stranger} {
		must.Succeed(t, f.as(user).Create(t.Context(), object))
	}
	const changes, labels = "only the operator changes what a tenant's pod runs", "neither gets nor loses the labels"
	admin := f.as(clusterAdmin)
	template := func(change func(*corev1.PodTemplateSpec)) func(client.Client) error {
		return func(c client.Client) error {
			changed := d.DeepCopy()
			change(&changed.Spec.Template)
			return c.Patch(t.Context(), changed, client.MergeFrom(d), client.DryRunAll)
		}
	}
	of := func(p *corev1.Pod, change func(*corev1.Pod)) func(client.Client) error {
		return func(c client.Client) error {
			changed := p.DeepCopy()
			change(changed)
			return c.Patch(t.Context(), changed, client.MergeFrom(p), client.DryRunAll)
		}
	}
	image := func(s *corev1.PodTemplateSpec) { s.Spec.Containers[0].Image = "evil:1" }
	debug := func(s *corev1.SecurityContext) func(client.Client) error {
		return func(c client.Client) error {
			changed := pod.DeepCopy()
			changed.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				Name: "debugger", Image: "busybox", TerminationMessagePolicy: "File", ImagePullPolicy: "Always", SecurityContext: s,
			}}}
			return c.SubResource("ephemeralcontainers").Update(t.Context(), changed, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{"All"}}})
		}
	}
	restricted := &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	tests := map[string]struct {
		by      client.Client
		act     func(client.Client) error
		message string
	}{
		"the operator changes an image":     {f.as(operator), template(image), ""},
		"an administrator changes an image": {admin, template(image), changes},
		"an administrator restarts":         {admin, template(func(s *corev1.PodTemplateSpec) { s.Annotations["kubectl.kubernetes.io/restartedAt"] = "now" }), ""},
		"an administrator adds a volume": {admin, template(func(s *corev1.PodTemplateSpec) {
			s.Spec.Volumes = nil
			s.Spec.Containers[0].VolumeMounts = nil
			s.Spec.Containers = s.Spec.Containers[:1]
			s.Spec.InitContainers = nil
		}), changes},
		"an image is changed in a pod":        {admin, of(pod, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "evil:1" }), "is not changed in its pod"},
		"an init image is changed in a pod":   {admin, of(pod, func(p *corev1.Pod) { p.Spec.InitContainers[0].Image = "evil:1" }), "is not changed in its pod"},
		"a pod is annotated":                  {admin, of(pod, func(p *corev1.Pod) { p.Annotations["a"] = "b" }), ""},
		"a pod leaves the network's rules":    {admin, of(pod, func(p *corev1.Pod) { delete(p.Labels, labelComponentKey) }), labels},
		"a stranger's pod takes the labels":   {admin, of(stranger, func(p *corev1.Pod) { p.Labels = pod.Labels }), labels},
		"a debugger of its own mind":          {admin, debug(nil), "privileges"},
		"a privileged debugger":               {admin, debug(&corev1.SecurityContext{Privileged: new(true)}), "privileges"},
		"a debugger that is restricted":       {admin, debug(restricted), ""},
		"a restricted debugger who may trace": {admin, debug(&corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"SYS_PTRACE"}}}), "drops all capabilities"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expectPolicy(t, tt.act(tt.by), tt.message) })
	}
}
