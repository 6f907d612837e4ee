// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// object is what each test reads of an object, whatever its kind is.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// ofEveryInput calls a test with what is built of each testdata/*.in.yaml.
func ofEveryInput(t *testing.T, test func(t *testing.T, b *v1alpha1.HostedBridge, objects [][]byte)) {
	t.Helper()
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".in.yaml"), func(t *testing.T) {
			b, p := load(t, input)
			built, err := Objects(effective.Of(b), p, settings)
			if err != nil {
				t.Fatal(err)
			}
			objects := make([][]byte, len(built))
			for i, o := range built {
				if objects[i], err = yaml.Marshal(o); err != nil {
					t.Fatal(err)
				}
			}
			test(t, b, objects)
		})
	}
}

func read[T any](t *testing.T, data []byte) (into T) {
	t.Helper()
	must.Succeed(t, yaml.Unmarshal(data, &into))
	return into
}

// deployments returns the Deployments among the objects: one, or none.
func deployments(t *testing.T, objects [][]byte) (found []appsv1.Deployment) {
	t.Helper()
	for _, data := range objects {
		if read[object](t, data).Kind == "Deployment" {
			found = append(found, read[appsv1.Deployment](t, data))
		}
	}
	return found
}

func TestEveryObjectIsTheBridgesAndGoesWithIt(t *testing.T) {
	ofEveryInput(t, func(t *testing.T, b *v1alpha1.HostedBridge, objects [][]byte) {
		for _, data := range objects {
			o := read[object](t, data)
			what := o.Kind + " " + o.Name
			if o.Kind == "PersistentVolumeClaim" {
				expectClaim(t, b, o)
				continue
			}
			if o.Name != v1alpha1.WorkloadName(b.Name) || o.Namespace != b.Namespace {
				t.Errorf("%s is %s/%s", what, o.Namespace, o.Name)
			}
			if want := labels(effective.Of(b)); cmp.Diff(want, o.Labels) != "" {
				t.Errorf("%s has the labels %v, want %v", what, o.Labels, want)
			}
			want := []metav1.OwnerReference{{APIVersion: "hostedbridge.dev/v1alpha1", Kind: "HostedBridge", Name: b.Name, UID: b.UID, Controller: new(true)}}
			if diff := cmp.Diff(want, o.OwnerReferences); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
	})
}

// expectClaim checks that a claim is named and found by its bridge, and that it goes
// with it only if the spec says so.
func expectClaim(t *testing.T, b *v1alpha1.HostedBridge, o object) {
	t.Helper()
	for _, s := range b.Spec.Servers {
		if s.Transport.Stdio == nil || s.Transport.Stdio.Storage == nil || o.Name != s.Name+"."+v1alpha1.WorkloadName(b.Name) {
			continue
		}
		goes := s.Transport.Stdio.Storage.Retention == v1alpha1.StorageDelete
		if metav1.IsControlledBy(&o.ObjectMeta, b) != goes || len(o.OwnerReferences) > 0 != goes {
			t.Errorf("claim %s goes with its bridge: %v", o.Name, o.OwnerReferences)
		}
		if cmp.Diff(labels(effective.Of(b)), o.Labels) != "" || o.Annotations[v1alpha1.AnnotationUserID] != string(b.User()) || o.Namespace != b.Namespace {
			t.Errorf("claim %s/%s has the labels %v and annotations %v", o.Namespace, o.Name, o.Labels, o.Annotations)
		}
		return
	}
	t.Errorf("claim %s is of no server with storage", o.Name)
}

func TestTheDeploymentComesLastAndFindsItsOwnPodsAlone(t *testing.T) {
	ofEveryInput(t, func(t *testing.T, b *v1alpha1.HostedBridge, objects [][]byte) {
		for i, data := range objects {
			if read[object](t, data).Kind == "Deployment" && i != len(objects)-1 {
				t.Errorf("the Deployment is number %d of %d", i, len(objects))
			}
		}
		other := b.DeepCopy()
		other.Name = "another"
		for _, d := range deployments(t, objects) {
			for name, value := range d.Spec.Selector.MatchLabels {
				if d.Spec.Template.Labels[name] != value {
					t.Errorf("the Deployment does not find its own pods by %s", name)
				}
			}
			if cmp.Diff(selector(effective.Of(other)), d.Spec.Selector.MatchLabels) == "" {
				t.Error("the Deployment finds another bridge's pods")
			}
			if got := d.Spec.Template.Annotations[v1alpha1.AnnotationBridgeUID]; got != string(b.UID) {
				t.Errorf("the pod is of %q", got)
			}
			if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || ptr.Deref(d.Spec.Replicas, 2) > 1 {
				t.Error("there may be two pods of one user")
			}
		}
	})
}

func TestEveryPodIsAdmittedByTheRestrictedStandard(t *testing.T) {
	ofEveryInput(t, func(t *testing.T, _ *v1alpha1.HostedBridge, objects [][]byte) {
		for _, d := range deployments(t, objects) {
			expectRestricted(t, d.Spec.Template.Spec)
		}
	})
	open, denied := ProbePods(Probe{Namespace: "system", Image: "bridge", Address: "https://operator"})
	expectRestricted(t, open.Spec)
	expectRestricted(t, denied.Spec)
}

// expectRestricted looks for what the restricted Pod Security Standard forbids, and
// for more ways out of a pod.
func expectRestricted(t *testing.T, s corev1.PodSpec) {
	t.Helper()
	if s.HostNetwork || s.HostPID || s.HostIPC {
		t.Error("the pod is in a namespace of its node")
	}
	if ptr.Deref(s.AutomountServiceAccountToken, true) || ptr.Deref(s.EnableServiceLinks, true) {
		t.Error("the pod is given a token of the API server, or the addresses of Services")
	}
	pod := ptr.Deref(s.SecurityContext, corev1.PodSecurityContext{})
	if !ptr.Deref(pod.RunAsNonRoot, false) || ptr.Deref(pod.RunAsUser, 0) == 0 || ptr.Deref(pod.RunAsGroup, 0) == 0 {
		t.Error("the pod may run as root")
	}
	if pod.SeccompProfile == nil || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Error("the pod may make all system calls")
	}
	for _, c := range append(slices.Clone(s.InitContainers), s.Containers...) {
		own := ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
		if ptr.Deref(own.AllowPrivilegeEscalation, true) || ptr.Deref(own.Privileged, false) || !ptr.Deref(own.ReadOnlyRootFilesystem, false) ||
			own.RunAsUser != nil || own.RunAsNonRoot != nil || own.SeccompProfile != nil {
			t.Errorf("container %s may do more than its pod", c.Name)
		}
		if own.Capabilities == nil || !slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(own.Capabilities.Add) > 0 {
			t.Errorf("container %s has capabilities", c.Name)
		}
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				t.Errorf("container %s has a port of the node", c.Name)
			}
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("container %s may take all of the node's memory, or is given no processor", c.Name)
		}
	}
	expectOwnVolumes(t, s)
}

// expectOwnVolumes looks for volumes that hold what is not the pod's own, or that
// may fill the node's disk.
func expectOwnVolumes(t *testing.T, s corev1.PodSpec) {
	t.Helper()
	there := map[string]bool{}
	for _, v := range s.Volumes {
		there[v.Name] = true
		switch {
		case v.EmptyDir != nil:
			if v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.IsZero() {
				t.Errorf("volume %s has no limit", v.Name)
			}
		case v.Projected != nil:
		case v.PersistentVolumeClaim != nil:
			// The claim is that of the server whose volume it is, and of the same bridge.
			if v.PersistentVolumeClaim.ClaimName != strings.TrimPrefix(v.Name, "data-")+"."+s.ServiceAccountName || ptr.Deref(s.SecurityContext.FSGroup, 0) != user {
				t.Errorf("volume %s is claim %s", v.Name, v.PersistentVolumeClaim.ClaimName)
			}
		default:
			t.Errorf("volume %s is neither empty nor the bridge's configuration or token", v.Name)
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			token, config := source.ServiceAccountToken, source.ConfigMap
			if (token == nil || token.Audience != tokenAudience) && (config == nil || config.Name != s.ServiceAccountName) {
				t.Errorf("volume %s has %+v", v.Name, source)
			}
		}
	}
	for _, c := range append(slices.Clone(s.InitContainers), s.Containers...) {
		for _, m := range c.VolumeMounts {
			if !there[m.Name] {
				t.Errorf("container %s mounts %s, which is not there", c.Name, m.Name)
			}
			if m.Name == bridgeVolumeName && (c.Name != v1alpha1.BridgeContainer || !m.ReadOnly) {
				t.Errorf("container %s has %s, read-only: %t", c.Name, m.Name, m.ReadOnly)
			}
		}
	}
}

func TestAProgramSeesItsOwnVolumesAlone(t *testing.T) {
	ofEveryInput(t, func(t *testing.T, b *v1alpha1.HostedBridge, objects [][]byte) {
		stored := map[string]string{}
		for _, s := range stdioServers(effective.Of(b), settings) {
			if s.Storage != nil {
				stored[s.Name] = s.Storage.MountPath
			}
		}
		for _, d := range deployments(t, objects) {
			for _, c := range d.Spec.Template.Spec.Containers {
				server, ok := StdioServer(c.Name)
				if !ok {
					continue
				}
				var got []string
				for _, m := range c.VolumeMounts {
					got = append(got, fmt.Sprintf("%s at %s, read-only: %t", m.Name, m.MountPath, m.ReadOnly))
				}
				want := []string{
					"shim at /hosted-bridge, read-only: true",
					"stdio-" + server + " at /var/run/hosted-bridge/stdio, read-only: false",
					"tmp-" + server + " at /tmp, read-only: false",
					"files-" + server + " at /hosted-bridge-files, read-only: false",
				}
				if path, ok := stored[server]; ok {
					want = append(want, "data-"+server+" at "+path+", read-only: false")
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.Name, diff)
				}
				if len(c.Env) > 0 || len(c.EnvFrom) > 0 || len(c.Args) > 0 {
					t.Errorf("%s is told something that is in the object", c.Name)
				}
			}
		}
	})
}

// TestNoInitContainerRunsWhereEveryImageHasTheShim tries each input with images that have the shim.
func TestNoInitContainerRunsWhereEveryImageHasTheShim(t *testing.T) {
	copies := func(t *testing.T, input string, images ...string) (copied, own []string) {
		t.Helper()
		b, p := load(t, "testdata/"+input+".in.yaml")
		s := settings
		s.ShimImages = images
		spec := read[corev1.PodSpec](t, must.Value(yaml.Marshal(must.Value(podSpec(effective.Of(b), p, s))(t)))(t))
		for _, c := range spec.Containers {
			mounts := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "shim" })
			switch server, ok := StdioServer(c.Name); {
			case ok && mounts && c.Command[0] == "/hosted-bridge/shim":
				copied = append(copied, server)
			case ok && !mounts && c.Command[0] == "/usr/libexec/hosted-bridge/shim":
				own = append(own, server)
			case ok || mounts:
				t.Errorf("%s runs %q and mounts a copy: %t", c.Name, c.Command, mounts)
			}
		}
		volume := slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == "shim" })
		if needed := len(copied) > 0; volume != needed || len(spec.InitContainers) > 0 != needed {
			t.Errorf("copied for %q, with %d init containers and a volume: %t", copied, len(spec.InitContainers), volume)
		}
		return copied, own
	}
	node, python, mine := settings.RuntimeImageNode, settings.RuntimeImagePython, "registry.example.com/team/node:22"
	for name, tt := range map[string]struct {
		input       string
		images      []string
		copied, own []string
	}{
		"no image has it":                    {"programs", nil, []string{"drive", "fetch", "memory"}, nil},
		"one of three images has it":         {"programs", []string{node, python}, []string{"drive", "memory"}, []string{"fetch"}},
		"an image of a user's own has it":    {"programs", []string{mine, python}, []string{"drive"}, []string{"fetch", "memory"}},
		"the image of the only program does": {"npx", []string{node}, nil, []string{"github"}},
		"that of another runtime does":       {"npx", []string{python}, []string{"github"}, nil},
		"no program is there":                {"minimal", []string{node}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			copied, own := copies(t, tt.input, tt.images...)
			if diff := cmp.Diff([][]string{tt.copied, tt.own}, [][]string{copied, own}); diff != "" {
				t.Errorf("copied and own (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichObjectsAnActionApplies(t *testing.T) {
	b, _ := load(t, "testdata/minimal.in.yaml")
	rejected := bridgestate.Finding{Reason: v1alpha1.ReasonUserIDConflict}
	for name, tt := range map[string]struct {
		p    bridgestate.Plan
		want []string
		pods int32
	}{
		"all with a pod":                            {bridgestate.Plan{Action: bridgestate.Run, Trust: "ca"}, []string{"ServiceAccount", "ConfigMap", "Deployment"}, 1},
		"all without a pod":                         {bridgestate.Plan{Action: bridgestate.Suspend}, []string{"ServiceAccount", "ConfigMap", "Deployment"}, 0},
		"what a pod will need":                      {bridgestate.Plan{Action: bridgestate.Prepare}, []string{"ServiceAccount", "ConfigMap"}, 0},
		"what ends no pod":                          {bridgestate.Plan{Action: bridgestate.Hold, Trust: "ca"}, []string{"ServiceAccount"}, 0},
		"nothing":                                   {bridgestate.Plan{Action: bridgestate.Leave}, nil, 0},
		"nothing of a spec that is rejected":        {bridgestate.Plan{Action: bridgestate.Leave, Rejected: rejected}, nil, 0},
		"the end of the pod of one that is refused": {bridgestate.Plan{Action: bridgestate.Suspend, Rejected: rejected}, []string{"ServiceAccount", "Deployment"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			built := must.Value(Objects(effective.Of(b), tt.p, settings))(t)
			var kinds []string
			for _, o := range built {
				data := must.Value(yaml.Marshal(o))(t)
				kinds = append(kinds, read[object](t, data).Kind)
				if d := read[appsv1.Deployment](t, data); d.Kind == "Deployment" && *d.Spec.Replicas != tt.pods {
					t.Errorf("%d pods, want %d", *d.Spec.Replicas, tt.pods)
				}
			}
			if diff := cmp.Diff(tt.want, kinds); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(b.Spec.Servers) != 1 {
				t.Error("the bridge itself was changed")
			}
		})
	}
}

func TestWhichMethodsLackAnImage(t *testing.T) {
	for name, tt := range map[string]struct {
		node, python string
		want         []v1alpha1.InstallMethod
	}{
		"none with both":   {"n", "p", nil},
		"npx without node": {"", "p", []v1alpha1.InstallMethod{v1alpha1.InstallNPX}},
		"uvx without one":  {"n", "", []v1alpha1.InstallMethod{v1alpha1.InstallUVX}},
		"both":             {"", "", []v1alpha1.InstallMethod{v1alpha1.InstallNPX, v1alpha1.InstallUVX}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Settings{RuntimeImageNode: tt.node, RuntimeImagePython: tt.python}.Lacking()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoseContainerItIs(t *testing.T) {
	for container, want := range map[string]string{"stdio-memory": "memory", "stdio-stdio-a": "stdio-a", "bridge": "", "shim": "", "astdio-b": "", "stdio": ""} {
		got, ok := StdioServer(container)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s is that of %q, %t", container, got, ok)
		}
	}
}

func TestTheRuleForTracesIsToTheEndpointAlone(t *testing.T) {
	for name, tt := range map[string]struct{ endpoint, want string }{
		"an address of IPv4":                    {"http://10.1.2.3:4318", "block 10.1.2.3/32 port 4318"},
		"an address of IPv6":                    {"https://[fd00::1]:4318", "block fd00::1/128 port 4318"},
		"an address of IPv4 written as IPv6":    {"https://[::ffff:10.1.2.3]", "block 10.1.2.3/32 port 443"},
		"without a port, by http":               {"http://10.1.2.3", "block 10.1.2.3/32 port 80"},
		"without a port, by https":              {"https://10.1.2.3/v1/traces", "block 10.1.2.3/32 port 443"},
		"a Service":                             {"http://collector.observability.svc:4318", "pods of observability port 4318"},
		"a Service by its whole name":           {"http://collector.observability.svc.cluster.local:4318", "pods of observability port 4318"},
		"a Service of which nobody says where":  {"http://collector:4318", ""},
		"a Service without svc":                 {"http://collector.observability:4318", ""},
		"a name outside that looks like one":    {"https://svc.example.com", ""},
		"a public name":                         {"https://otlp.example.com", ""},
		"nowhere":                               {"", ""},
		"what is no URL":                        {"://", ""},
		"a host and a port that are no URL":     {"10.1.2.3:4318", ""},
		"a port that is none, by its own words": {"http://10.1.2.3:0", "block 10.1.2.3/32 port 0"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if rule := collector(tt.endpoint); rule != nil {
				peer := rule.To[0]
				if peer.IPBlock != nil {
					got = "block " + *peer.IPBlock.CIDR
				} else {
					got = "pods of " + peer.NamespaceSelector.MatchLabels[namespaceName]
				}
				got += fmt.Sprintf(" port %d", rule.Ports[0].Port.IntVal)
				if len(rule.To) != 1 || len(rule.Ports) != 1 {
					t.Errorf("the rule is to %d peers and %d ports", len(rule.To), len(rule.Ports))
				}
			}
			if got != tt.want {
				t.Errorf("the rule is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPortsAreThoseOfTheURL(t *testing.T) {
	for address, want := range map[string]int32{"http://h": 80, "https://h": 443, "http://h:8080": 8080, "https://h:65535": 65535, "grpc://h": 443} {
		u := must.Value(url.Parse(address))(t)
		if got := portOf(u); got != want {
			t.Errorf("%s: port %d, want %d", address, got, want)
		}
	}
}
