// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// toolhive is the ServiceAccount of toolhive's operator.
const toolhive = "toolhive-operator"

// peer is toolhive's operator. Beside what is named here the proxy in its pod
// makes a StatefulSet, for which see makeBackends.
func peer() contender {
	return contender{
		name: "toolhive", tenant: schema.GroupVersionResource{Group: "toolhive.stacklok.dev", Version: "v1beta1", Resource: "mcpservers"}, owner: "MCPServer",
		made: []schema.GroupVersionResource{serviceAccounts, roles, roleBindings, configMaps, services, deployments},
		// Two ServiceAccounts, and one of each other kind.
		objects: 7,
		object:  mcpServer,
		ready: func(o *unstructured.Unstructured) bool {
			phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
			return phase == "Ready"
		},
	}
}

// mcpServer is the fetch server of toolhive's examples.
func mcpServer(i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "toolhive.stacklok.dev/v1beta1", "kind": "MCPServer",
		"metadata": map[string]any{"namespace": namespaceOf(i), "name": nameOf(i)},
		"spec": map[string]any{
			"image": "ghcr.io/stackloklabs/gofetch/server", "transport": "streamable-http", "proxyPort": int64(8080), "mcpPort": int64(8080),
			"resources": map[string]any{"requests": map[string]any{"cpu": "50m", "memory": "64Mi"}, "limits": map[string]any{"cpu": "100m", "memory": "128Mi"}},
		},
	}}
}

// makeBackends makes the StatefulSets of the servers from one to another, which
// the proxies would make: no proxy runs in a pod that kwok plays, and without its
// StatefulSet a server is not ready, and its Deployment is rolled to mend that.
// They are there before, have no pods, and are not measured.
func (p *plane) makeBackends(t *testing.T, from, to int) {
	t.Helper()
	p.makeNamespaces(t, from, to, false)
	each(t, from, to, func(i int) error {
		labels := map[string]string{"toolhive": "true", "toolhive-name": nameOf(i)}
		return p.client.Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i), Name: nameOf(i), Labels: labels},
			Spec: appsv1.StatefulSetSpec{
				Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "mcp", Image: "ghcr.io/stackloklabs/gofetch/server"}}},
				},
			},
		})
	})
}

// measurePeer measures toolhive's operator on a control plane of its own, with
// its CRDs and the rights of its chart.
func measurePeer(t *testing.T, p plan, f *Figures) {
	t.Helper()
	last := p.peerSizes[len(p.peerSizes)-1] + p.burst
	plane := startPlane(t, last)
	s := plane.installPeer(t, p.peerBinary)
	f.Empty = s.memory(t)
	from := 0
	for _, size := range p.peerSizes {
		plane.makeBackends(t, from, size)
		f.Provision = append(f.Provision, s.provision(t, from, size, p.rate))
		from = size
	}
	plane.makeBackends(t, from, last)
	f.Burst = s.provision(t, from, last, 0)
	f.Quiet = s.quiet(t, p.peerQuiet)
}

func (p *plane) installPeer(t *testing.T, binary string) *subject {
	t.Helper()
	charts := filepath.Join(os.Getenv("SCALE_PEER_MODULE"), "deploy", "charts")
	if _, err := envtest.InstallCRDs(p.config, envtest.CRDInstallOptions{Paths: []string{filepath.Join(charts, "operator-crds", "files", "crds")}}); err != nil {
		t.Fatal(err)
	}
	testenv.ExpectInstalled(t, p.client, filepath.Join(charts, "operator", "templates", "clusterrole", "role.yaml"), installationNamespace)
	for _, o := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: installationNamespace, Name: toolhive}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: toolhive},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "toolhive-operator-manager-role"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: installationNamespace, Name: toolhive}},
		},
	} {
		must.Succeed(t, p.client.Create(t.Context(), o))
	}
	metrics, probes := world.UnusedAddress(t), world.UnusedAddress(t)
	cmd := exec.Command(binary, "--leader-elect", "--metrics-bind-address="+metrics, "--health-probe-bind-address="+probes)
	// As its chart sets them, but for the limit of 110 MiB that it gives to its
	// collector; and nobody outside is asked for another version.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig(t, userOf(toolhive)), "POD_NAMESPACE="+installationNamespace, "GODEBUG=gctrace=1",
		"GOGC=75", "UNSTRUCTURED_LOGS=false", "TOOLHIVE_USE_CONFIGMAP=true", "ENABLE_EXPERIMENTAL_FEATURES=false", "TOOLHIVE_ENABLE_STORAGE_VERSION_MIGRATOR=true",
		"TOOLHIVE_RUNNER_IMAGE=ghcr.io/stacklok/toolhive/proxyrunner:v0.47.0", "VMCP_IMAGE=ghcr.io/stacklok/toolhive/vmcp:v0.47.0",
		"TOOLHIVE_REGISTRY_API_IMAGE=ghcr.io/stacklok/toolhive/thv-registry-api:v0.1.0", "TOOLHIVE_PROXY_HOST=0.0.0.0", "TOOLHIVE_SKIP_UPDATE_CHECK=true")
	operator := world.Start(t, p.dir, toolhive, cmd)
	operator.Metrics = "http://" + metrics + "/metrics"
	operator.AwaitOK(t, "http://"+probes+"/readyz")
	return &subject{
		plane: p, watch: p.watch(t, peer()), controller: "mcpserver", accounts: []string{toolhive}, slowest: 3 * time.Second,
		operator: func() *world.Process { return operator },
		programs: func() map[string]*world.Process {
			all := p.programs()
			all["operator"] = operator
			return all
		},
	}
}
