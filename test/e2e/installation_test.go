// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// systemNamespace is where config/default puts the installation.
	systemNamespace = "hosted-bridge-system"

	// defaultUpstreamImage is the MCP server behind every tenant: the
	// everything server of the MCP Go SDK, one of the installation's images.
	defaultUpstreamImage = "hosted-bridge/everything-server:dev"
	upstreamName         = "everything"
)

// upstreamPorts are where the upstream answers with sessions, as before
// 2026-07-28, and without.
var upstreamPorts = []int32{8080, 8081}

// installation is what the tests are pointed at.
type installation struct {
	// url is the ingress's, without a trailing slash.
	url        string
	kubeconfig string
	kubectl    string
	upstream   string // image.
	guarded    string // image.
	servers    string // image.
	client     client.Client
	// run tells this run's names from any other's.
	run string
	// namespace is this run's own.
	namespace string
}

// fromEnvironment returns the installation that the environment names.
func fromEnvironment() (*installation, error) {
	i := &installation{
		url:        strings.TrimSuffix(os.Getenv("HB_URL"), "/"),
		kubeconfig: os.Getenv("HB_KUBECONFIG"),
		kubectl:    cmp.Or(os.Getenv("KUBECTL"), "kubectl"),
		upstream:   cmp.Or(os.Getenv("HB_UPSTREAM_IMAGE"), defaultUpstreamImage),
		guarded:    cmp.Or(os.Getenv("HB_GUARDED_IMAGE"), defaultGuardedImage),
		servers:    cmp.Or(os.Getenv("HB_SERVERS_IMAGE"), defaultServersImage),
		run:        strings.ToLower(rand.Text()[:8]),
	}
	i.namespace = "e2e-" + i.run
	if u, err := url.Parse(i.url); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("HB_URL is not set to the ingress's http or https URL: run these tests by make test-e2e")
	}
	if i.kubeconfig == "" {
		return nil, errors.New("HB_KUBECONFIG is not set to a kubeconfig file: run these tests by make test-e2e")
	}
	return i, i.connect()
}

// connect makes the client of the kubeconfig.
func (i *installation) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", i.kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	i.client, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

// makeNamespace makes the run's namespace with the upstreams in it, and waits
// until they are available.
func (i *installation) makeNamespace(ctx context.Context) error {
	labels := map[string]string{"app": upstreamName}
	meta := metav1.ObjectMeta{Namespace: i.namespace, Name: upstreamName}
	pod := corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(1)),
		AutomountServiceAccountToken:  new(false),
	}
	service := corev1.ServiceSpec{Selector: labels}
	for n, port := range upstreamPorts {
		name := "port-" + strconv.Itoa(int(port))
		pod.Containers = append(pod.Containers, i.upstreamContainer(name, port, n > 0))
		service.Ports = append(service.Ports, corev1.ServicePort{Name: name, Port: port})
	}
	deployment := appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
	}
	for _, object := range append([]client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.namespace}},
		&appsv1.Deployment{ObjectMeta: meta, Spec: deployment},
		&corev1.Service{ObjectMeta: meta, Spec: service},
	}, i.guardedObjects()...) {
		if err := i.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T: %w", object, err)
		}
	}
	for _, name := range []string{upstreamName, guardedName} {
		out, err := i.runKubectl(ctx, "", "rollout", "status", "deployment/"+name, "--timeout=90s")
		if err != nil {
			return fmt.Errorf("wait for the upstream %s: %w: %s", name, err, out)
		}
	}
	return nil
}

// upstreamContainer is the everything server in one of its two modes.
func (i *installation) upstreamContainer(name string, port int32, stateless bool) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           i.upstream,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Args:            []string{fmt.Sprintf("-http=:%d", port), fmt.Sprintf("-stateless=%t", stateless)},
		ReadinessProbe: &corev1.Probe{
			PeriodSeconds: 1,
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}},
		},
	}
}

func (i *installation) removeNamespace(ctx context.Context) error {
	return client.IgnoreNotFound(i.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.namespace}}))
}

// upstreamURL is where the upstream answers inside the cluster on its n-th
// port, counted round.
func (i *installation) upstreamURL(n int) string {
	return fmt.Sprintf("http://%s.%s.svc:%d/mcp", upstreamName, i.namespace, upstreamPorts[n%len(upstreamPorts)])
}

// name returns a name that no other run has.
func (i *installation) name(short string) string { return short + "-" + i.run }

// runKubectl runs kubectl in the run's namespace and returns what it printed
// on both streams.
func (i *installation) runKubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := i.kubectlCommand(ctx, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (i *installation) kubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"--kubeconfig=" + i.kubeconfig, "--namespace=" + i.namespace}, args...)
	return exec.CommandContext(ctx, i.kubectl, args...)
}

// mustKubectl runs kubectl and fails the test where it fails.
func mustKubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := installed.runKubectl(t.Context(), "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}
