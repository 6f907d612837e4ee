// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// people is how many there are. Each has a bridge.
const people = 1000

// world is a real API server with bridges, of which none runs, a keybroker, and a
// provider at which everybody can log in.
type world struct {
	dir, namespace, kubeconfig, keybroker string
	client                                client.Client
	provider                              *provider
}

func newWorld(t *testing.T) *world {
	t.Helper()
	plane := testenv.StartControlPlane(t)
	c := plane.Client()
	w := &world{dir: t.TempDir(), namespace: testenv.Namespace(t, c), kubeconfig: plane.Kubeconfig(), client: c, provider: startProvider(t)}
	for _, name := range []string{"ingress", "keybroker"} {
		if out, err := exec.CommandContext(interrupted, "go", "build", "-o", filepath.Join(w.dir, name), "../../../cmd/"+name).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", name, err, out)
		}
	}
	broker := w.startKeybroker(t)
	w.expectBridges(t)
	broker.awaitCalm(t) // It looks at each new bridge.
	return w
}

func userOf(person int) string    { return fmt.Sprintf("user-%d", person) }
func subjectOf(person int) string { return fmt.Sprintf("person-%d", person) }

// bridge is that of a person.
func (w *world) bridge(person int) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: userOf(person)},
		Spec: v1alpha1.HostedBridgeSpec{
			Servers: []v1alpha1.Server{{Name: "one", Transport: v1alpha1.Transport{URL: "https://mcp.example.com/mcp"}}},
			OAuth:   &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: w.provider.issuer, Subject: subjectOf(person)}}},
		},
	}
}

// secret writes a file and returns its path.
func (w *world) secret(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const configuration = `publicURL: http://%s
server:
  name: Bridges of the benchmark
  store: %q
  providers:
  - {id: provider, name: Provider, type: oidc, issuer: %q, clientID: %s, clientSecretFile: %q}
  clients:
  - {id: %s, name: Program, redirectURIs: ["http://127.0.0.1/callback"]}
`

// startIngress starts an ingress, and waits until it is ready. All logins come
// from one address, so that the limit of one address is off.
func (w *world) startIngress(t *testing.T, store string) *program {
	t.Helper()
	addr, probes := freeAddr(t), freeAddr(t)
	config := w.secret(t, "oauth.yaml", fmt.Sprintf(configuration,
		addr, store, w.provider.issuer, providerClient, w.secret(t, "client-secret", providerSecret), clientID))
	p := w.start(t, "ingress",
		"--namespace="+w.namespace, "--kubeconfig="+w.kubeconfig, "--listen="+addr, "--probe-listen="+probes,
		"--keybroker-url="+w.keybroker, "--token-file="+w.token(), "--audit-file="+filepath.Join(w.dir, "audit.log"),
		"--catalog-seed=none", "--drain-delay=0s", "--oauth-config="+config, "--login-requests-per-second=0")
	p.addr = addr
	p.await(t, "is ready", func() bool { return isOK("http://" + probes + "/readyz") })
	return p
}

// start starts one of our programs.
func (w *world) start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.dir, name), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig)
	if name == "ingress" { // As config/ingress sets them.
		cmd.Env = append(cmd.Env, "GOGC=400", "GOMEMLIMIT=384MiB")
	}
	return start(t, w.dir, name, cmd)
}

func isOK(url string) bool {
	res, err := asker.Get(url)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
