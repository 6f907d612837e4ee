// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// ask makes a request of the user's own API with a key, decodes the answer, and returns it as
// text with its status.
func ask[T any](t *testing.T, n tenant, key, method, path, body string) (status int, v T, text string) {
	t.Helper()
	r := request{method: method, body: body, header: map[string]string{"Content-Type": "application/json"}}
	a, err := send(t.Context(), newHTTPClient(false), n.base()+path, key, r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status < http.StatusMultipleChoices && len(a.body) > 0 {
		if err := json.Unmarshal(a.body, &v); err != nil {
			t.Fatalf("%s %s: %v in %.300q", method, path, err, a.body)
		}
	}
	return a.status, v, string(a.body)
}

// offering makes a profile for all users of a group that it names, with an optional server
// extra and a required one.
func offering(t *testing.T) (group string) {
	t.Helper()
	group = installed.name("choosers")
	p := &v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: group},
		Spec: v1alpha1.BridgeProfileSpec{
			Who:  v1alpha1.ProfileSubjects{Namespaces: []string{installed.namespace}, Groups: []v1alpha1.ProfileGroup{{FromNamespace: installed.namespace, Value: group}}},
			Tier: "pro",
			Servers: []v1alpha1.ProfileServer{
				{Use: v1alpha1.ServerOptional, Server: bridge("", nil, "extra").Spec.Servers[0]},
				{Use: v1alpha1.ServerRequired, Server: bridge("", nil, "team").Spec.Servers[0]},
			},
		},
	}
	must.Succeed(t, installed.client.Create(t.Context(), p))
	t.Cleanup(func() {
		if err := installed.client.Delete(context.WithoutCancel(t.Context()), p); err != nil {
			t.Error(err)
		}
	})
	// A bridge that the operator sees before its profile has one server, whose names stay.
	wait.NoError(t, wait.Limit, "the operator knows the profile", func(ctx context.Context) error {
		err := installed.client.Get(ctx, client.ObjectKeyFromObject(p), p)
		if err == nil && len(p.Status.Conditions) == 0 {
			err = errors.New("its status has no conditions")
		}
		return err
	})
	return group
}

// TestAUserChoosesAServerAndTheirClientHasItsTools chooses an optional server by the API,
// under a client that stays connected, and sees it by the inspector too.
func TestAUserChoosesAServerAndTheirClientHasItsTools(t *testing.T) {
	t.Parallel()
	group := offering(t)
	n := tenant{name: installed.name("chooser"), key: mint(t)}
	b := bridge(n.name, []credential{n.key}, "own")
	b.Spec.Groups = []string{group}
	manifest := b.DeepCopy()
	manifest.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "HostedBridge"}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	session := must.Value(newSDKClient(n, legacyVersion).connect(t.Context()))(t)
	defer session.Close()
	awaitTools(t, session, "own_"+tool, "team_"+tool)

	if _, s, text := ask[selfservice.Server](t, n, n.key.secret, http.MethodGet, "/servers/extra", ""); s.State != selfservice.ServerOff || s.Fix == nil || s.Fix.Code != selfservice.FixTurnOn {
		t.Errorf("before it is chosen: %s", text)
	}
	began := time.Now()
	if status, _, text := ask[selfservice.Server](t, n, n.key.secret, http.MethodPut, "/servers/extra/choice", `{"use":"On"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	awaitTools(t, session, "own_"+tool, "team_"+tool, "extra_"+tool)
	t.Logf("a client has the tools of a chosen server after %s", time.Since(began).Round(10*time.Millisecond))
	if tools, err := inspectorTools(t, "legacy", n.url(), n.key.secret); err != nil || !slices.Contains(tools, "extra_"+tool) {
		t.Errorf("the inspector lists %v, %v", tools, err)
	}
	awaitState(t, n, "extra", "healthy")
	expectSameInKubectl(t, n)
	if _, tools, text := ask[selfservice.Tools](t, n, n.key.secret, http.MethodGet, "/tools", ""); !tools.Known || !slices.ContainsFunc(tools.Tools, func(l selfservice.Tool) bool { return l.Name == "extra_"+tool && l.Server == "extra" }) {
		t.Errorf("the tools are %.500s", text)
	}

	applyAgain(t, manifest)
	if status, _, text := ask[any](t, n, n.key.secret, http.MethodPut, "/servers/team/choice", `{"use":"Off"}`); status != http.StatusConflict || !strings.Contains(text, "choice_not_permitted") {
		t.Errorf("a required server: %d %s", status, text)
	}
	if err := callNamed(t.Context(), n, "extra_"+tool); err != nil {
		t.Errorf("after the manifest is applied again: %v", err)
	}
	if status, _, text := ask[any](t, n, n.key.secret, http.MethodPut, "/servers/extra/choice", `{"use":"Off"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	wait.NoError(t, wait.Limit, "the tools of a server that is off are listed no more", func(ctx context.Context) error {
		list, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		for _, listed := range list.Tools {
			if strings.HasPrefix(listed.Name, "extra_") {
				return fmt.Errorf("%s is listed", listed.Name)
			}
		}
		return nil
	})
	if tools, err := inspectorTools(t, "legacy", n.url(), n.key.secret); err != nil || slices.Contains(tools, "extra_"+tool) {
		t.Errorf("the inspector lists %v, %v", tools, err)
	}
	awaitEvent(t, n, "extra", tool)
}

// TestTheFirstServerKeepsTheNamesOfItsToolsWhenAUserTurnsOnAnother is of the names that prompts and
// allow-lists of clients have.
func TestTheFirstServerKeepsTheNamesOfItsToolsWhenAUserTurnsOnAnother(t *testing.T) {
	t.Parallel()
	n := newTenant(t, "names", "own")
	offerServer(t, n, "extra", v1alpha1.ServerOptional)
	session := must.Value(newSDKClient(n, legacyVersion).connect(t.Context()))(t)
	defer session.Close()
	awaitTools(t, session, tool)
	awaitState(t, n, "extra", "off")
	if _, s, text := ask[selfservice.Server](t, n, n.key.secret, http.MethodGet, "/servers/extra", ""); !strings.Contains(s.ToolNames, "begin with extra_") {
		t.Errorf("before it is turned on: %s", text)
	}
	if status, _, text := ask[selfservice.Server](t, n, n.key.secret, http.MethodPut, "/servers/extra/choice", `{"use":"On"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	awaitTools(t, session, tool, "extra_"+tool)
	for _, name := range []string{tool, "extra_" + tool} {
		if err := callNamed(t.Context(), n, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// applyAgain applies a manifest as its author does, twice.
func applyAgain(t *testing.T, manifest *v1alpha1.HostedBridge) {
	t.Helper()
	text := must.Value(json.Marshal(manifest))(t)
	for range 2 {
		if out, err := installed.runKubectl(t.Context(), string(text), "apply", "--server-side", "--force-conflicts", "--filename=-"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	b, err := getBridge(t.Context(), manifest.Name)
	if err != nil || b.Spec.Choices == nil || len(b.Spec.Choices.Servers) != 1 || b.Spec.Choices.Servers[0].Use != v1alpha1.ChoiceOn {
		t.Errorf("after the manifest the choices are %+v, %v", b.Spec.Choices, err)
	}
}

// awaitState waits until the API says that a server is in this state.
func awaitState(t *testing.T, n tenant, server, state string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "server "+server+" is "+state, func(context.Context) error {
		if _, s, text := ask[selfservice.Server](t, n, n.key.secret, http.MethodGet, "/servers/"+server, ""); string(s.State) != state {
			return fmt.Errorf("it is %s", text)
		}
		return nil
	})
}

// expectSameInKubectl compares the servers that the API shows with those of the status.
func expectSameInKubectl(t *testing.T, n tenant) {
	t.Helper()
	wait.NoError(t, wait.Limit, "kubectl says what the API says", func(ctx context.Context) error {
		_, servers, _ := ask[selfservice.Servers](t, n, n.key.secret, http.MethodGet, "/servers", "")
		b, err := getBridge(ctx, n.name)
		if err != nil {
			return err
		}
		for _, is := range b.Status.ServerStates {
			s, ok := servers.Find(is.Name)
			if !ok || !strings.EqualFold(string(s.State), is.State) || s.Message != is.Message || s.Profile != is.Profile || s.Tools != int(is.Tools) {
				return fmt.Errorf("kubectl says %+v, the API %+v", is, s)
			}
		}
		if has := slices.DeleteFunc(servers.Servers, func(s selfservice.Server) bool { return !s.Has() }); len(has) != len(b.Status.ServerStates) {
			return fmt.Errorf("kubectl has %d servers, the API %d", len(b.Status.ServerStates), len(has))
		}
		return nil
	})
}

// awaitEvent waits until the user's activity and usage have a call of a tool, and the
// choices before it.
func awaitEvent(t *testing.T, n tenant, server, name string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the call is in the user's activity", func(context.Context) error {
		status, activity, text := ask[selfservice.Activity](t, n, n.key.secret, http.MethodGet, "/activity", "")
		called := slices.ContainsFunc(activity.Entries, func(e selfservice.Event) bool {
			// Where the bridge told nothing of the call, it is as the client named it.
			named := e.Server == server && e.Tool == name || e.Tool == server+"_"+name
			return named && e.Status == audit.Success && e.KeyID == n.key.id
		})
		chose := slices.ContainsFunc(activity.Entries, func(e selfservice.Event) bool {
			return e.Act == "user/servers.choose" && e.Target == server+" On"
		})
		if !called || !chose {
			return fmt.Errorf("it is %d %.500s", status, text)
		}
		return nil
	})
	_, usage, text := ask[selfservice.Usage](t, n, n.key.secret, http.MethodGet, "/usage", "")
	if usage.Calls == nil || usage.Calls.Total == 0 || usage.Tier != "pro" || len(usage.Quota) != 4 || usage.Quota[2].Remaining >= usage.Quota[2].Most {
		t.Errorf("the usage is %s", text)
	}
}

// TestUsersManageTheirOwnKeysAndNobodyElses has a user make a key and revoke it, and another
// one try each of their routes.
func TestUsersManageTheirOwnKeysAndNobodyElses(t *testing.T) {
	t.Parallel()
	n, other := newTenant(t, "keymaker", "own"), newTenant(t, "stranger")
	status, made, text := ask[keys.Created](t, n, n.key.secret, http.MethodPost, "/keys", `{"name":"laptop","expires":"1h"}`)
	if status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	wait.NoError(t, wait.Limit, "the new key opens the bridge", func(context.Context) error {
		if status, _, text := ask[any](t, n, made.Key, http.MethodGet, "/servers", ""); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
	_, keys, text := ask[keys.List](t, n, made.Key, http.MethodGet, "/keys", "")
	if len(keys.Keys) != 2 || strings.Contains(text, made.Key) {
		t.Errorf("the keys are %s", text)
	}
	for _, r := range [][2]string{
		{http.MethodGet, "/servers"}, {http.MethodGet, "/servers/own"}, {http.MethodPut, "/servers/own/choice"}, {http.MethodGet, "/tools"}, {http.MethodGet, "/keys"},
		{http.MethodPost, "/keys"}, {http.MethodDelete, "/keys/" + made.ID}, {http.MethodGet, "/connections"}, {http.MethodGet, "/usage"}, {http.MethodGet, "/activity"},
	} {
		nobody := n
		nobody.name = installed.name("nobody")
		status, _, theirs := ask[any](t, n, other.key.secret, r[0], r[1], "")
		_, _, nobodys := ask[any](t, nobody, other.key.secret, r[0], r[1], "")
		if status != http.StatusUnauthorized || theirs != nobodys {
			t.Errorf("%s %s of another user: %d %s, and of nobody: %s", r[0], r[1], status, theirs, nobodys)
		}
	}
	if status, _, text := ask[any](t, n, n.key.secret, http.MethodDelete, "/keys/"+n.key.id, ""); status != http.StatusConflict || !strings.Contains(text, "key_managed") {
		t.Errorf("the key of the manifest: %d %s", status, text)
	}
	if status, _, text := ask[any](t, n, n.key.secret, http.MethodDelete, "/keys/"+made.ID, ""); status != http.StatusNoContent {
		t.Errorf("%d %s", status, text)
	}
	wait.NoError(t, wait.Limit, "the revoked key opens nothing", func(context.Context) error {
		if status, _, _ := ask[any](t, n, made.Key, http.MethodGet, "/servers", ""); status != http.StatusUnauthorized {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})
}
