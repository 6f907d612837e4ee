// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	logins "github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// provision sends a request of the directory of the identity provider, and returns the id in
// the answer.
func provision(t *testing.T, status int, method, path, body string) (id string) {
	t.Helper()
	token := must.Value(os.ReadFile(filepath.Join(os.Getenv("HB_LOGIN"), "scim-token")))(t)
	r := must.Value(http.NewRequestWithContext(t.Context(), method, installed.url+"/scim/v2/"+path, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/scim+json")
	res := must.Value(newHTTPClient(false).Do(r))(t)
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		t.Fatalf("%s %s: %d %s, want %d: %v", method, path, res.StatusCode, content, status, err)
	}
	var made struct{ ID string }
	if len(content) > 0 {
		must.Succeed(t, json.Unmarshal(content, &made))
	}
	return made.ID
}

// memberPatch adds and removes members as Microsoft Entra does.
func memberPatch(op, id string) string {
	return fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":%q,"path":"members","value":[{"$ref":null,"value":%q}]}]}`, op, id)
}

// directoriesDecide has a directory provision somebody, move them into a group and out of it,
// and deactivate them.
func directoriesDecide(t *testing.T) {
	n := newLoginTenant(t, "provisioned", "delia")
	forgetPerson(t, access.DirectoryName(logins.KeyOf(identityIssuer, "delia")))
	group := installed.name("squad")
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
	user := provision(t, http.StatusCreated, http.MethodPost, "Users", `{"userName":"`+n.name+`","externalId":"delia","active":true}`)
	squad := provision(t, http.StatusCreated, http.MethodPost, "Groups", `{"displayName":"`+group+`","members":[]}`)
	a := askAs(desk, n.url())
	got := mustLogIn(t, a, "delia")
	awaitTools := func(want bool) {
		t.Helper()
		began := time.Now()
		wait.NoError(t, wait.Limit, fmt.Sprintf("the group's tools are listed: %v", want), func(ctx context.Context) error {
			list, err := send(ctx, newHTTPClient(false), n.url(), got.Access, modern("tools/list", "", `{}`))
			if err == nil && (list.status != http.StatusOK || strings.Contains(string(list.body), `"team_`) != want) {
				err = fmt.Errorf("status %d: %.300s", list.status, list.body)
			}
			return err
		})
		t.Logf("the group's tools are listed: %v, after %s", want, time.Since(began).Round(10*time.Millisecond))
		names, err := inspectorTools(t, "legacy", n.url(), got.Access)
		isTeams := func(name string) bool { return strings.HasPrefix(name, "team_") }
		if err != nil || slices.ContainsFunc(names, isTeams) != want {
			t.Errorf("the inspector lists %q: %v", names, err)
		}
	}
	awaitTools(false)
	provision(t, http.StatusNoContent, http.MethodPatch, "Groups/"+squad, memberPatch("Add", user))
	awaitTools(true)
	provision(t, http.StatusNoContent, http.MethodPatch, "Groups/"+squad, memberPatch("Remove", user))
	awaitTools(false)
	provision(t, http.StatusNoContent, http.MethodDelete, "Groups/"+squad, "")
	other := provision(t, http.StatusCreated, http.MethodPost, "Groups", `{"displayName":"`+group+` of old","members":[{"value":"`+user+`"}]}`)
	provision(t, http.StatusOK, http.MethodPut, "Groups/"+other, `{"displayName":"`+group+`","members":[]}`)
	awaitTools(false)
	provision(t, http.StatusNoContent, http.MethodDelete, "Groups/"+other, "")

	stream := listenFor(t, n.url(), got.Access)
	began := time.Now()
	provision(t, http.StatusOK, http.MethodPatch, "Users/"+user,
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"Replace","path":"active","value":"False"}]}`)
	select {
	case at := <-stream:
		t.Logf("an open stream has ended after %s", at.Sub(began).Round(time.Millisecond))
	case <-time.After(wait.Limit):
		t.Fatal("a stream is still open")
	}
	awaitShut(t, n.url(), got.Access)
	refused(t, newVisitor(t).logsIn(t, askAs(desk, n.url()).url(), "delia"))
	if again := askTokens(t, a.refresh(got.Refresh)); again.Error != "invalid_grant" {
		t.Errorf("the refresh token: status %d, error %q", again.status, again.Error)
	}
	awaitLeft(t, access.DirectoryName(logins.KeyOf(identityIssuer, "delia")))
	provision(t, http.StatusNoContent, http.MethodDelete, "Users/"+user, "")
	provision(t, http.StatusNotFound, http.MethodGet, "Users/"+user, "")
}
