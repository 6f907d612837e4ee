// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/load/world"
)

// people is how many there are. Each has a bridge.
const people = 1000

// town is a real API server with bridges, of which none runs, a keybroker, and a
// provider at which everybody can log in.
type town struct {
	*world.World
	provider *provider
}

func newTown(t *testing.T) *town {
	t.Helper()
	w := &town{World: world.New(t, nil, "ingress"), provider: startProvider(t)}
	w.expectBridges(t)
	w.Keybroker.AwaitCalm(t) // It looks at each new bridge.
	return w
}

func userOf(person int) string    { return fmt.Sprintf("user-%d", person) }
func subjectOf(person int) string { return fmt.Sprintf("person-%d", person) }

// bridge is that of a person.
func (w *town) bridge(person int) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: userOf(person)},
		Spec: v1alpha1.HostedBridgeSpec{
			Servers: []v1alpha1.Server{{Name: "one", Transport: v1alpha1.Transport{URL: "https://mcp.example.com/mcp"}}},
			OAuth:   &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: w.provider.issuer, Subject: subjectOf(person)}}},
		},
	}
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
func (w *town) startIngress(t *testing.T, store string) *world.Process {
	t.Helper()
	addr := world.UnusedAddress(t)
	config := w.File(t, "oauth.yaml", fmt.Sprintf(configuration,
		addr, store, w.provider.issuer, providerClient, w.File(t, "client-secret", providerSecret), clientID))
	return w.StartIngress(t, addr, "--catalog-seed=none", "--oauth-config="+config, "--login-requests-per-second=0")
}
