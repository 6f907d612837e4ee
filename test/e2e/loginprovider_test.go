// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// The identity provider is where hack/test/login.sh has told the installation
// that it is, in a namespace of that script: nobody knew the name of the run's.
const (
	identityName      = "identity"
	identityNamespace = "hosted-bridge-e2e"
	identityPort      = 8443
	identityHost      = identityName + "." + identityNamespace + ".svc:8443"
	identityIssuer    = "https://" + identityHost
	// identityClient is what the installation is called there.
	identityClient = "hosted-bridge"

	// The GitHub is in the same pod.
	gitHubName   = "github"
	gitHubPath   = "/github"
	gitHubIssuer = identityIssuer + gitHubPath
	gitHubClient = "hosted-bridge-github"
)

// document is a client's metadata document, which lies at the provider.
type document struct {
	ClientID     string   `json:"client_id"`
	Name         string   `json:"client_name"`
	RedirectURIs []string `json:"redirect_uris"`
	AuthMethod   string   `json:"token_endpoint_auth_method"`
	GrantTypes   []string `json:"grant_types"`
}

// The documents of a client on the person's machine, and of one that says to be
// another.
var (
	desktop = newDocument("desktop", "Desktop of the tests")
	forged  = newDocument("forged", "Forged client")
)

func newDocument(name, title string) document {
	return document{
		ClientID: identityIssuer + "/clients/" + name + ".json", Name: title,
		RedirectURIs: []string{"http://127.0.0.1/callback"}, AuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"},
	}
}

// place is where people log in: a provider's name, as the page of choices has it.
type place string

const (
	atIdentity place = "Identity provider"
	atGitHub   place = "GitHub"
)

// link is what one presses on that page.
func (p place) link() string { return "Log in with " + string(p) }

// gitHubNumber is that of the account of somebody's name, as clients/github.mjs
// makes it up.
func gitHubNumber(name string) string {
	hash := sha256.Sum256([]byte(name))
	return strconv.FormatUint(binary.BigEndian.Uint64(hash[:8])>>16+1, 10)
}

// startIdentityProvider runs the provider in the cluster until the test ends,
// and returns where a browser on this machine finds it.
func startIdentityProvider(t *testing.T) (hosts map[string]string) {
	t.Helper()
	folder := os.Getenv("HB_LOGIN")
	if folder == "" {
		t.Fatal("HB_LOGIN is not set to the folder that hack/test/login.sh has written: run these tests by make test-e2e")
	}
	read := func(name string) []byte {
		return must.Value(os.ReadFile(filepath.Join(folder, name)))(t)
	}
	meta := metav1.ObjectMeta{Namespace: identityNamespace, Name: identityName}
	objects := []client.Object{
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{
			"tls.crt": read("tls.crt"), "tls.key": read("tls.key"),
			"client-secret": read("client-secret"), "github-secret": read("github-secret"),
		}},
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{
			"identity.cjs": identityProgram(t), "settings.json": identitySettings(t),
		}},
		identityDeployment(meta),
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Selector: identityLabels, Ports: []corev1.ServicePort{{Port: identityPort}},
		}},
	}
	remove := func(ctx context.Context) (err error) {
		for _, object := range objects {
			err = errors.Join(err, client.IgnoreNotFound(installed.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationForeground))))
		}
		return err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
		defer cancel()
		if err := remove(ctx); err != nil {
			t.Errorf("remove the provider: %v", err)
		}
	})
	// What a run that was cut off has left has other settings.
	if err := remove(t.Context()); err != nil {
		t.Fatalf("remove a former provider: %v", err)
	}
	for _, object := range objects {
		wait.NoError(t, wait.Limit, fmt.Sprintf("there is a %T of this run", object), func(ctx context.Context) error {
			return installed.client.Create(ctx, object)
		})
	}
	mustKubectl(t, "rollout", "status", "--namespace="+identityNamespace, "deployment/"+identityName, "--timeout=90s")
	return map[string]string{identityHost: forwardedTo(t, identityNamespace, "service/"+identityName, identityPort)}
}

// identityProgram returns the provider in one file, as it fits into a ConfigMap.
// What it keeps has the names of its classes.
func identityProgram(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), nodeProgram(t), module(t, "esbuild/bin/esbuild"), "clients/identity.mjs",
		"--bundle", "--minify", "--keep-names", "--platform=node", "--format=cjs", "--log-level=error")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("bundle the provider: %v: %s", err, exit.Stderr)
	}
	return string(out)
}

func identitySettings(t *testing.T) string {
	t.Helper()
	documents := map[string]document{}
	for _, d := range []document{desktop, forged} {
		path := strings.TrimPrefix(d.ClientID, identityIssuer)
		if d.ClientID == forged.ClientID {
			d.ClientID = desktop.ClientID
		}
		documents[path] = d
	}
	settings, err := json.Marshal(map[string]any{
		"issuer": identityIssuer, "port": identityPort,
		"tls":       map[string]string{"cert": "/secret/tls.crt", "key": "/secret/tls.key"},
		"client":    clientOf(identityClient, "client-secret", identityName),
		"gitHub":    map[string]any{"path": gitHubPath, "client": clientOf(gitHubClient, "github-secret", gitHubName)},
		"documents": documents,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(settings)
}

// clientOf is the installation at one of its providers.
func clientOf(id, secret, provider string) map[string]string {
	return map[string]string{"id": id, "secretFile": "/secret/" + secret, "redirectURI": installed.url + "/oauth/callback/" + provider}
}

var identityLabels = map[string]string{"app": identityName}

func identityDeployment(meta metav1.ObjectMeta) *appsv1.Deployment {
	source := corev1.LocalObjectReference{Name: identityName}
	pod := corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(1)),
		AutomountServiceAccountToken:  new(false),
		Containers: []corev1.Container{{
			Name: identityName, Image: installed.servers, ImagePullPolicy: corev1.PullIfNotPresent,
			Command: []string{"node", "/program/identity.cjs", "/program/settings.json"},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "program", MountPath: "/program", ReadOnly: true}, {Name: "secret", MountPath: "/secret", ReadOnly: true},
			},
			ReadinessProbe: listensOn(identityPort),
		}},
		Volumes: []corev1.Volume{
			{Name: "program", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: source}}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: identityName}}},
		},
	}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: identityLabels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: identityLabels}, Spec: pod},
	}}
}

// forwardedTo returns an address on the loopback that leads to the port inside
// the cluster until the test ends.
func forwardedTo(t *testing.T, namespace, target string, port int) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := installed.kubectlCommand(ctx, "port-forward", "--namespace="+namespace, target, fmt.Sprintf(":%d", port))
	out := must.Value(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait()
	})
	fields := strings.Fields(line)
	if err != nil || len(fields) < 3 {
		t.Fatalf("forward a port to %s: %q: %v", target, line, err)
	}
	return fields[2]
}
