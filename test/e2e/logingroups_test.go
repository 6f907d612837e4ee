// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// sayOf has the identity provider say more of somebody.
func sayOf(t *testing.T, name string, claims map[string]any) {
	t.Helper()
	body := must.Value(json.Marshal(claims))(t)
	c := http.Client{Timeout: callTimeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, identityHosts[identityHost])
		},
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, identityIssuer+"/people?name="+url.QueryEscape(name), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res := must.Value(c.Do(r))(t)
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("the provider answers %d", res.StatusCode)
	}
}

// groupsDecide moves somebody between groups at the provider.
func groupsDecide(t *testing.T) {
	n := newLoginTenant(t, "grouped", "greta")
	group := installed.name("team")
	p := &v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: group},
		Spec: v1alpha1.BridgeProfileSpec{
			Who:     v1alpha1.ProfileSubjects{Namespaces: []string{installed.namespace}, Groups: []v1alpha1.ProfileGroup{{Issuer: identityIssuer, Value: group}}},
			Servers: []v1alpha1.ProfileServer{{Use: v1alpha1.ServerRequired, Server: bridge("", nil, "team").Spec.Servers[0]}},
		},
	}
	must.Succeed(t, installed.client.Create(t.Context(), p))
	t.Cleanup(func() {
		if err := installed.client.Delete(context.WithoutCancel(t.Context()), p); err != nil {
			t.Error(err)
		}
	})
	sayOf(t, "greta", map[string]any{"groups": []string{group, "private"}, "closed": false})
	a := askAs(desk, n.url())
	got := mustLogIn(t, a, "greta")
	awaitTeam := func(token string, want bool) {
		t.Helper()
		began := time.Now()
		wait.NoError(t, wait.Limit, fmt.Sprintf("the group's tools are listed: %v", want), func(ctx context.Context) error {
			list, err := send(ctx, newHTTPClient(false), n.url(), token, modern("tools/list", "", `{}`))
			if err == nil && (list.status != http.StatusOK || strings.Contains(string(list.body), `"team_`) != want) {
				err = fmt.Errorf("status %d: %.300s", list.status, list.body)
			}
			return err
		})
		t.Logf("the group's tools are listed: %v, after %s", want, time.Since(began).Round(10*time.Millisecond))
	}
	awaitTeam(got.Access, true)
	var known v1alpha1.BridgePersonList
	must.Succeed(t, installed.client.List(t.Context(), &known, client.InNamespace(systemNamespace)))
	var kept []string
	for _, one := range known.Items {
		if one.Spec.Issuer == identityIssuer && one.Spec.Subject == "greta" && one.Status.Login != nil {
			kept = append(kept, one.Status.Login.Groups...)
		}
	}
	if diff := cmp.Diff([]string{group}, kept); diff != "" {
		t.Errorf("groups that are kept (-want +got):\n%s", diff)
	}

	sayOf(t, "greta", map[string]any{"groups": []string{"private"}})
	next := askTokens(t, a.refresh(got.Refresh))
	if next.status != http.StatusOK {
		t.Fatalf("refresh: status %d, error %q", next.status, next.Error)
	}
	awaitTeam(next.Access, false)

	// Entra leaves the groups out where there are many: what is known stays as it is.
	sayOf(t, "greta", map[string]any{
		"_claim_names":   map[string]string{"groups": "src1"},
		"_claim_sources": map[string]any{"src1": map[string]string{"endpoint": "https://graph.example.com/getMemberObjects"}},
	})
	mustLogIn(t, a, "greta")
	sayOf(t, "greta", map[string]any{"groups": group})
	last := mustLogIn(t, a, "greta")
	awaitTeam(last.Access, true)
	sayOf(t, "greta", map[string]any{"closed": true})
	if got := askTokens(t, a.refresh(last.Refresh)); got.status != http.StatusBadRequest || got.Error != "invalid_grant" {
		t.Errorf("a refresh with an account that is closed: status %d, error %q", got.status, got.Error)
	}
}
