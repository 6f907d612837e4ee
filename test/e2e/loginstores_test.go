// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestLoginsOutliveTheIngress ends every ingress while people are in the midst of
// what the installation keeps for them, whatever it keeps that in: a file on a
// volume or PostgreSQL. Everything goes on at the next ingress, and what was
// used stays used.
func TestLoginsOutliveTheIngress(t *testing.T) {
	identityHosts = startIdentityProvider(t)
	n, invited := newLoginTenant(t, "outliving", "olga"), newLoginTenant(t, "invited-to")

	t.Run("a client registers, logs in and refreshes", func(t *testing.T) { registersAndRefreshes(t, n) })
	registered, begun := askAs(register(t, "Client from before"), n.url()), askAs(desk, n.url())
	olga := newVisitor(t)
	lets := func(t *testing.T) (code string, got tokens) {
		code = olga.consents(t, registered, "olga").Get("code")
		return code, askTokens(t, registered.redeem(code))
	}
	code, replayed := lets(t)
	_, kept := lets(t)
	olga.logsIn(t, begun.url(), "olga")
	used, unused := newInvitation(t, invited), newInvitation(t, invited)
	if v := newVisitor(t).logsIn(t, used, "first-"+installed.run); v.Status != http.StatusOK {
		t.Fatalf("an invitation: status %d at %s: %s", v.Status, v.path(), v.Text)
	}

	replaceIngresses(t, n, kept.Access)

	t.Run("a refresh token is good", func(t *testing.T) {
		got := askTokens(t, registered.refresh(kept.Refresh))
		if got.status != http.StatusOK || got.Refresh == kept.Refresh {
			t.Fatalf("status %d, error %q, another refresh token: %t", got.status, got.Error, got.Refresh != kept.Refresh)
		}
		if err := mustSend(t, n.url(), got.Access, modernCall).toolAnswered(); err != nil {
			t.Error(err)
		}
	})
	t.Run("a code is used and ends its grant", func(t *testing.T) {
		if again := askTokens(t, registered.redeem(code)); again.status != http.StatusBadRequest || again.Error != "invalid_grant" {
			t.Errorf("twice: status %d, error %q", again.status, again.Error)
		}
		if got := askTokens(t, registered.refresh(replayed.Refresh)); replayed.Refresh == "" || got.Error != "invalid_grant" {
			t.Errorf("the refresh token of the first use: status %d, error %q", got.status, got.Error)
		}
	})
	t.Run("a login goes on where it was", func(t *testing.T) {
		answer := olga.does(t, "press", "Allow").answer(t)
		if got := askTokens(t, begun.redeem(answer.Get("code"))); got.status != http.StatusOK {
			t.Errorf("status %d, error %q", got.status, got.Error)
		}
	})
	t.Run("a client is still registered", func(t *testing.T) {
		if _, got := lets(t); got.status != http.StatusOK || got.Scope != scopes {
			t.Errorf("status %d, error %q, scope %q", got.status, got.Error, got.Scope)
		}
	})
	t.Run("an invitation works once", func(t *testing.T) {
		second, who := newVisitor(t), "second-"+installed.run
		if v := second.logsIn(t, unused, who); v.Status != http.StatusOK || !strings.Contains(v.Text, invited.name) {
			t.Errorf("status %d at %s: %s", v.Status, v.path(), v.Text)
		}
		a := askAs(desk, invited.url())
		got := askTokens(t, a.redeem(second.consents(t, a, who).Get("code")))
		if err := mustSend(t, invited.url(), got.Access, modernCall).toolAnswered(); err != nil {
			t.Errorf("the invited person's call: %v", err)
		}
		for _, over := range []string{used, unused} {
			refused(t, second.does(t, "open", over))
		}
	})
	t.Run("a client registers, logs in and refreshes again", func(t *testing.T) { registersAndRefreshes(t, n) })
}

// registersAndRefreshes has a client that is not ours do all of a login.
func registersAndRefreshes(t *testing.T, n tenant) {
	t.Helper()
	asked := task{Login: &known{}, URL: n.url(), Steps: []string{"list", "call", "refresh"}}
	got, err := outsiders[0].logIn(t, n, asked, "olga")
	if err != nil || got.Call != toolText || got.Refresh != "another" {
		t.Errorf("the call answers %q, and the refresh token is then %s (%v)", got.Call, got.Refresh, err)
	}
}

// newInvitation returns the link by which somebody may use the tenant's bridge.
func newInvitation(t *testing.T, n tenant) string {
	t.Helper()
	var made struct{ URL string }
	admin(t).must(t, http.StatusCreated, http.MethodPost, "/admin/users/"+n.name+"/invitations", "").into(t, &made)
	return made.URL
}

// replaceIngresses ends all of them at once and waits until others answer, and
// nobody else does.
func replaceIngresses(t *testing.T, n tenant, token string) {
	t.Helper()
	const deployment = "hosted-bridge-ingress"
	pods := podsOf(t, deployment)
	remove(t, pods...)
	awaitReplaced(t, deployment, len(pods), pods)
	wait.NoError(t, wait.Limit, "the former ingresses are gone", func(ctx context.Context) error {
		for _, p := range pods {
			err := installed.client.Get(ctx, client.ObjectKeyFromObject(&p), &corev1.Pod{})
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			if err == nil {
				return fmt.Errorf("pod %s is there", p.Name)
			}
		}
		return nil
	})
	wait.NoError(t, wait.Limit, "the next ingresses answer, and take a token from before", func(ctx context.Context) error {
		return atAllReplicas(func(c *http.Client) error { return callTool(ctx, c, n.url(), token) })
	})
}
