// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// podsPerNode is Kubernetes' own limit of pods on a node.
const podsPerNode = 110

// installationNamespace is where operators and what belongs to them are.
const installationNamespace = "hosted-bridge-system"

// plane is a control plane with nodes that kwok plays.
type plane struct {
	dir, api string
	etcdURL  string
	audit    *audit
	config   *rest.Config
	client   client.Client
	dynamic  dynamic.Interface

	etcd, server, controllers, scheduler, kwok *world.Process
}

// users are who may come, by their tokens, with their groups. A ServiceAccount's
// name and groups give its rights, as RBAC reads nothing else.
func users() map[string]string {
	all := map[string]string{
		"admin": "system:masters", "system:kube-scheduler": "",
		// As the controllers of a cluster run under one account each by flag, and
		// otherwise need all that they have together.
		"system:kube-controller-manager": "system:masters", "kwok": "system:masters",
	}
	for _, account := range []string{"hosted-bridge-operator", "hosted-bridge-keybroker", "hosted-bridge-ingress", "toolhive-operator"} {
		all[userOf(account)] = "system:serviceaccounts,system:serviceaccounts:" + installationNamespace
	}
	return all
}

// userOf returns who a ServiceAccount of the installation is.
func userOf(account string) string {
	return "system:serviceaccount:" + installationNamespace + ":" + account
}

// startPlane starts a control plane that is empty but for the installation's
// namespace and nodes for so many pods.
func startPlane(t *testing.T, pods int) *plane {
	t.Helper()
	p := &plane{dir: world.Folder(t), audit: &audit{counts: map[call]int{}}}
	p.startEtcd(t)
	p.startServer(t)
	p.startControllers(t)
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installationNamespace}}} {
		must.Succeed(t, p.client.Create(t.Context(), o))
	}
	p.startNodes(t, (pods+podsPerNode-1)/podsPerNode+1)
	return p
}

func (p *plane) path(file string) string { return filepath.Join(p.dir, file) }

// asset is a program of Kubernetes, which bin/cluster builds.
func (p *plane) asset(name string, args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), name), args...)
}

func (p *plane) startEtcd(t *testing.T) {
	t.Helper()
	clients, peers := "http://"+world.UnusedAddress(t), "http://"+world.UnusedAddress(t)
	p.etcdURL = clients
	p.etcd = world.Start(t, p.dir, "etcd", p.asset("etcd", "--name=scale", "--data-dir="+p.path("etcd"),
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=scale="+peers,
		// The disk of this machine is not what is measured; and the default of
		// 2 GiB is near for the history of a hundred writes a second.
		"--unsafe-no-fsync", "--quota-backend-bytes=8589934592", "--log-level=error"))
	p.etcd.AwaitOK(t, clients+"/health")
}

// auditPolicy counts the writes of who is measured.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: [%s, %s, %s, %s]
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

func (p *plane) startServer(t *testing.T) {
	t.Helper()
	address := world.UnusedAddress(t)
	host, port, _ := net.SplitHostPort(address)
	p.api = "https://" + address
	p.writeServerFiles(t)
	cmd := p.asset("kube-apiserver", "--etcd-servers="+p.etcdURL, "--bind-address="+host, "--secure-port="+port,
		"--advertise-address="+host, "--endpoint-reconciler-type=none", "--cert-dir="+p.path("certs"), "--token-auth-file="+p.path("tokens"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+p.path("sa.key"),
		"--service-account-signing-key-file="+p.path("sa.key"), "--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC", "--audit-policy-file="+p.path("audit.yaml"), "--audit-log-path=-")
	cmd.Stdout = p.audit
	p.server = world.Start(t, p.dir, "kube-apiserver", cmd)
	p.server.Await(t, "has made its certificate", func() bool {
		_, err := os.Stat(p.path("certs/apiserver.crt"))
		return err == nil
	})
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig(t, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = -1, -1
	p.config = config
	p.server.Await(t, "is ready", func() bool {
		c := must.Value(rest.HTTPClientFor(config))(t)
		res, err := c.Get(p.api + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == 200
	})
	if p.client, err = client.New(config, client.Options{Scheme: testenv.Scheme()}); err != nil {
		t.Fatal(err)
	}
	if p.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
}

func (p *plane) writeServerFiles(t *testing.T) {
	t.Helper()
	key := must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must.Value(x509.MarshalECPrivateKey(key))(t)
	var tokens string
	for user, groups := range users() {
		tokens += fmt.Sprintf("%s,%s,%s,%q\n", tokenOf(user), user, user, groups)
	}
	policy := fmt.Sprintf(auditPolicy, userOf("hosted-bridge-operator"), userOf("hosted-bridge-keybroker"), userOf("hosted-bridge-ingress"), userOf("toolhive-operator"))
	for file, content := range map[string][]byte{
		"sa.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		"tokens": []byte(tokens), "audit.yaml": []byte(policy),
	} {
		must.Succeed(t, os.WriteFile(p.path(file), content, 0o600))
	}
}

// tokenOf is worth something for as long as this control plane is there, on
// loopback.
func tokenOf(user string) string { return "scale-" + user }

// kubeconfig writes how a user comes, and returns the file.
func (p *plane) kubeconfig(t *testing.T, user string) string {
	t.Helper()
	ca := must.Value(os.ReadFile(p.path("certs/apiserver.crt")))(t)
	c := clientcmdapi.NewConfig()
	c.Clusters["scale"] = &clientcmdapi.Cluster{Server: p.api, CertificateAuthorityData: ca}
	c.AuthInfos["scale"] = &clientcmdapi.AuthInfo{Token: tokenOf(user)}
	c.Contexts["scale"] = &clientcmdapi.Context{Cluster: "scale", AuthInfo: "scale"}
	c.CurrentContext = "scale"
	file := must.Value(os.CreateTemp(p.dir, "kubeconfig-"))(t)
	_ = file.Close()
	must.Succeed(t, clientcmd.WriteToFile(*c, file.Name()))
	return file.Name()
}

// startControllers starts what makes pods of Deployments. Their own limits of
// requests, 20 and 50 a second, are those of a small cluster, and would be all
// that is measured.
func (p *plane) startControllers(t *testing.T) {
	t.Helper()
	p.controllers = world.Start(t, p.dir, "kube-controller-manager", p.asset("kube-controller-manager",
		"--kubeconfig="+p.kubeconfig(t, "system:kube-controller-manager"), "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0",
		"--service-account-private-key-file="+p.path("sa.key"), "--kube-api-qps=200", "--kube-api-burst=400",
		"--concurrent-gc-syncs=40"))
	p.scheduler = world.Start(t, p.dir, "kube-scheduler", p.asset("kube-scheduler",
		"--kubeconfig="+p.kubeconfig(t, "system:kube-scheduler"), "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0",
		"--kube-api-qps=200", "--kube-api-burst=400"))
}

// startNodes makes nodes and has kwok play them. Their pods have addresses of
// loopback, at which nobody listens: nothing leaves this machine.
func (p *plane) startNodes(t *testing.T, nodes int) {
	t.Helper()
	args := []string{"--kubeconfig=" + p.kubeconfig(t, "kwok"), "--manage-all-nodes=true",
		// Without a lease that is renewed a node, and with it its pods, is taken for
		// lost after 40 s.
		"--node-lease-duration-seconds=40"}
	for _, stages := range []string{"node/fast", "node/heartbeat-with-lease", "pod/fast"} {
		files, err := filepath.Glob(filepath.Join(os.Getenv("SCALE_KWOK_STAGES"), stages, filepath.Dir(stages)+"-*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no stages %s in SCALE_KWOK_STAGES: %v", stages, err)
		}
		for _, file := range files {
			args = append(args, "--config="+file)
		}
	}
	p.kwok = world.Start(t, p.dir, "kwok", exec.Command(os.Getenv("SCALE_KWOK"), args...))
	for n := range nodes {
		cidr := fmt.Sprintf("127.%d.%d.0/24", 64+n/256, n%256)
		room := corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: *resource.NewQuantity(podsPerNode, resource.DecimalSI),
		}
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%03d", n), Labels: map[string]string{corev1.LabelHostname: fmt.Sprintf("node-%03d", n)}},
			Spec:       corev1.NodeSpec{PodCIDR: cidr, PodCIDRs: []string{cidr}},
			Status:     corev1.NodeStatus{Allocatable: room, Capacity: room},
		}
		must.Succeed(t, p.client.Create(t.Context(), node))
	}
	p.kwok.Await(t, "makes the nodes ready", func() bool {
		var list corev1.NodeList
		must.Succeed(t, p.client.List(t.Context(), &list))
		ready := 0
		for _, n := range list.Items {
			if len(n.Spec.Taints) > 0 {
				continue
			}
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		return ready == nodes
	})
}
