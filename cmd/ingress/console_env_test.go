// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// consoleVisitor is a person before a browser without scripts.
type consoleVisitor struct {
	t    *testing.T
	base string
	jar  http.CookieJar
}

// send makes a request, follows redirects as a browser does, and returns the page.
func (v *consoleVisitor) send(method, path string, form url.Values) (int, string) {
	v.t.Helper()
	r := must.Value(http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode())))(v.t)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.base)
	} else {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	res := must.Value((&http.Client{Jar: v.jar, Timeout: wait.Limit}).Do(r))(v.t)
	defer res.Body.Close()
	page := must.Value(io.ReadAll(res.Body))(v.t)
	return res.StatusCode, string(page)
}

var hiddenOfForm = regexp.MustCompile(`name="(csrf|visit)" value="([^"]*)"`)

// submit opens a page, sends one of its forms and returns the page after it.
func (v *consoleVisitor) submit(page, action string, fields ...string) (int, string) {
	v.t.Helper()
	_, shown := v.send(http.MethodGet, page, nil)
	form := url.Values{}
	for _, found := range hiddenOfForm.FindAllStringSubmatch(shown, -1) {
		form.Set(found[1], found[2])
	}
	for n := 0; n+1 < len(fields); n += 2 {
		form.Set(fields[n], fields[n+1])
	}
	return v.send(http.MethodPost, action, form)
}

var shownKey = regexp.MustCompile(`<code class="copy">(hb_[^<]+)</code>`)

// TestTheConsoleWritesWhatItsUserMay logs a person in at one replica, and goes on at
// another: makes a key that works, chooses a server that a profile offers, and revokes the
// key of the session.
func TestTheConsoleWritesWhatItsUserMay(t *testing.T) {
	t.Parallel()
	first, second := startTwo(t, "--login-requests-per-second=0")
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: first.namespace, Name: first.namespace}}
	testenv.ExpectApplied(t, first.client, b)
	user := string(b.User())
	key := applyKey(t, first.client, keys.Command{User: user, Name: b.Name, Namespace: b.Namespace, Output: "text"})
	testenv.ExpectStatusChanged(t, first.client, b, func() {
		b.Status.Effective = &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{
			{Name: "docs", Profile: "engineering", Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerOff},
		}}
	})
	works := func(i *installation, key string) func() bool {
		return func() bool {
			status, _ := i.call(http.MethodGet, "/u/"+user+"/health", key)
			return status == http.StatusOK
		}
	}
	first.await("the key", works(first, key.Key))
	second.await("the key at the other replica", works(second, key.Key))
	jar := must.Value(cookiejar.New(nil))(t)
	// Cookies are of a host, whatever its port.
	at, other := &consoleVisitor{t, "http://" + first.public, jar}, &consoleVisitor{t, "http://" + second.public, jar}
	if status, page := at.submit("/login?next=/keys", "/login", "key", key.Key, "next", "/keys"); status != http.StatusOK || !strings.Contains(page, key.ID) {
		t.Fatalf("log in: %d %s", status, page)
	}
	status, page := other.submit("/keys", "/keys", "name", "laptop", "expires", "90d")
	made := shownKey.FindStringSubmatch(page)
	if status != http.StatusOK || made == nil {
		t.Fatalf("make a key: %d %s", status, page)
	}
	first.await("the new key", works(first, made[1]))

	first.await("the server that the profile offers", func() bool {
		_, page := other.send(http.MethodGet, "/catalog", nil)
		return strings.Contains(page, "Turn on docs")
	})
	if status, page := other.submit("/catalog", "/servers/docs/choice", "use", "On", "back", "/catalog"); status != http.StatusOK || !strings.Contains(page, "The server is being turned on.") {
		t.Errorf("choose: %d %s", status, page)
	}
	testenv.ExpectExists(t, first.client, b)
	if c := b.Spec.Choices; c == nil || len(c.Servers) != 1 || c.Servers[0].Name != "docs" || c.Servers[0].Use != v1alpha1.ChoiceOn || len(b.Spec.Servers) != 0 {
		t.Errorf("choices %+v, servers %+v", c, b.Spec.Servers)
	}
	if status, page := at.submit("/keys", "/keys/"+made[1][3:15]+"/revoke"); status != http.StatusOK || !strings.Contains(page, "Key revoked") {
		t.Errorf("revoke: %d %s", status, page)
	}
	first.await("the end of the revoked key", func() bool { return !works(first, made[1])() })
	at.submit("/keys", "/keys/"+key.ID+"/revoke")
	first.await("the end of the session", func() bool {
		_, page := at.send(http.MethodGet, "/keys", nil)
		return strings.Contains(page, "Log in with a key")
	})
	second.await("the end of the session at the other replica", func() bool {
		_, page := other.send(http.MethodGet, "/keys", nil)
		return strings.Contains(page, "Log in with a key")
	})
}

// TestALogoutEndsTheSessionAtEachReplica copies the cookies of a user and of an administrator,
// who log out at one replica, and looks at the other, also after it has started again.
func TestALogoutEndsTheSessionAtEachReplica(t *testing.T) {
	t.Parallel()
	first, second := startTwo(t, "--login-requests-per-second=0")
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: first.namespace, Name: first.namespace}}
	testenv.ExpectApplied(t, first.client, b)
	user := string(b.User())
	key := applyKey(t, first.client, keys.Command{User: user, Name: b.Name, Namespace: b.Namespace, Output: "text"})
	for _, i := range []*installation{first, second} {
		i.await("the key", func() bool {
			status, _ := i.call(http.MethodGet, "/u/"+user+"/health", key.Key)
			return status == http.StatusOK
		})
	}
	owner := &consoleVisitor{t, "http://" + first.public, must.Value(cookiejar.New(nil))(t)}
	if status, page := owner.submit("/login", "/login", "key", key.Key, "next", "/connect"); status != http.StatusOK {
		t.Fatalf("log in: %d %s", status, page)
	}
	administrator := administratorOf(t, first)
	copied := func(of *consoleVisitor) *consoleVisitor {
		jar, at := must.Value(cookiejar.New(nil))(t), must.Value(url.Parse(of.base))(t)
		jar.SetCookies(at, of.jar.Cookies(at))
		return &consoleVisitor{t, "http://" + second.public, jar}
	}
	for what, tt := range map[string]struct {
		of                        *consoleVisitor
		page, logout, shown, said string
	}{
		"a user":           {owner, "/connect", "/logout", "Log out", "You are logged out in all browsers"},
		"an administrator": {administrator, "/console", "/console/logout", "Log out", "You are logged out"},
	} {
		thief := copied(tt.of)
		if status, page := thief.send(http.MethodGet, tt.page, nil); status != http.StatusOK || !strings.Contains(page, tt.shown) {
			t.Fatalf("%s: before the logout: %d %s", what, status, page)
		}
		stolen := copied(thief)
		if status, page := tt.of.submit(tt.page, tt.logout); status != http.StatusOK || !strings.Contains(page, tt.said) {
			t.Fatalf("%s: log out: %d %s", what, status, page)
		}
		second.await("the end of the copied session", func() bool {
			_, page := thief.send(http.MethodGet, tt.page, nil)
			return strings.Contains(page, "Your session ended")
		})
		second.end()
		second.launch()
		second.await("readiness", second.ready)
		stolen.base = "http://" + second.public
		second.await("the ends of sessions after a start", func() bool {
			status, _ := stolen.send(http.MethodGet, tt.page, nil)
			return status != http.StatusServiceUnavailable
		})
		if _, page := stolen.send(http.MethodGet, tt.page, nil); strings.Contains(page, tt.shown) {
			t.Errorf("%s: a replica that has started opens the copied session", what)
		}
	}
}

// TestTheConsoleOfAdministratorsWakesABridge holds that the API server takes what the page
// writes, which the operator then reads.
func TestTheConsoleOfAdministratorsWakesABridge(t *testing.T) {
	t.Parallel()
	i, _ := startTwo(t, "--login-requests-per-second=0")
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: i.namespace}}
	b.Spec.DesiredState = v1alpha1.StateOnDemand
	testenv.ExpectApplied(t, i.client, b)
	testenv.ExpectStatusChanged(t, i.client, b, func() { b.Status.Phase, b.Status.IdleSince = v1alpha1.PhaseAsleep, new(metav1.Now()) })
	at, page := administratorOf(t, i), "/console/people/"+string(b.User())
	i.await("the page of the bridge that sleeps", func() bool {
		_, shown := at.send(http.MethodGet, page, nil)
		return strings.Contains(shown, "Wake the bridge")
	})
	if status, shown := at.submit(page, page+"/wake"); status != http.StatusOK || !strings.Contains(shown, "The bridge wakes.") {
		t.Fatalf("wake: %d %s", status, shown)
	}
	testenv.ExpectExists(t, i.client, b)
	if !effective.Woken(b) {
		t.Errorf("the status is %+v", b.Status)
	}
}

// administratorOf returns somebody who has logged in with the admin key.
func administratorOf(t *testing.T, i *installation) *consoleVisitor {
	t.Helper()
	jar := must.Value(cookiejar.New(nil))(t)
	at := &consoleVisitor{t, "http://" + i.public, jar}
	if status, shown := at.submit("/console/login", "/console/login", "key", testAdminKey, "next", "/console"); status != http.StatusOK {
		t.Fatalf("log in: %d %s", status, shown)
	}
	return at
}

// TestTheConsoleOfAdministratorsCountsReplicas has the Deployments of an installation, of
// which one replica is not ready, and an ingress with the rights that it is shipped with.
func TestTheConsoleOfAdministratorsCountsReplicas(t *testing.T) {
	t.Parallel()
	p, keyFile := testenv.StartControlPlane(t), filepath.Join(t.TempDir(), "admin-key")
	must.Succeed(t, os.WriteFile(keyFile, []byte(testAdminKey), 0o600))
	i := startAt(t, p.Client(), p.InstallNamespaced("../..", "ingress"), 8443, "--namespace="+testenv.System, "--watch-namespaces="+testenv.Tenants,
		"--admin-key-file="+keyFile, "--audit-index=sqlite:"+filepath.Join(t.TempDir(), "index"), "--login-requests-per-second=0")
	i.namespace = testenv.System
	i.publishCA()
	i.await("readiness", i.ready)
	at := administratorOf(t, i)
	if status, page := at.send(http.MethodGet, "/console/health", nil); status != http.StatusOK || !strings.Contains(page, "The replicas cannot be shown now") {
		t.Errorf("without Deployments: %d %s", status, page)
	}
	labels := map[string]string{"app": "hosted-bridge"}
	for process, ready := range map[string]int32{"operator": 2, "keybroker": 1, "ingress": 2} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "hosted-bridge-" + process}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: process, Image: "example.com/" + process}}}},
		}}
		must.Succeed(t, i.client.Create(t.Context(), d))
		d.Status.Replicas, d.Status.ReadyReplicas = 2, ready
		must.Succeed(t, i.client.Status().Update(t.Context(), d))
	}
	status, page := at.send(http.MethodGet, "/console/health", nil)
	if status != http.StatusOK || strings.Count(page, "2 of 2 ready") != 2 || strings.Count(page, "1 of 2 ready") != 1 || !strings.Contains(page, "SQLite, one in each replica") || !strings.Contains(page, "memory of each replica") {
		t.Errorf("%d %s", status, page)
	}
}

// TestTheConsoleOfAdministratorsTriesProfiles has an ingress with the rights that it is shipped
// with. It shows and tries profiles, and may write none, not even for a dry run.
func TestTheConsoleOfAdministratorsTriesProfiles(t *testing.T) {
	t.Parallel()
	p, keyFile := testenv.StartControlPlane(t), filepath.Join(t.TempDir(), "admin-key")
	must.Succeed(t, os.WriteFile(keyFile, []byte(testAdminKey), 0o600))
	kubeconfig := p.InstallNamespaced("../..", "ingress")
	i := startAt(t, p.Client(), kubeconfig, 8443, "--namespace="+testenv.System, "--watch-namespaces="+testenv.Tenants,
		"--admin-key-file="+keyFile, "--login-requests-per-second=0")
	i.namespace = testenv.System
	i.publishCA()
	i.await("readiness", i.ready)
	for _, at := range []string{testenv.Tenants, testenv.Elsewhere} {
		testenv.ExpectApplied(t, i.client, &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: at, Name: "of-" + at}})
	}
	stored := &v1alpha1.BridgeProfile{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "team"}, Spec: v1alpha1.BridgeProfileSpec{
		Who: v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Everyone: true}, Tier: "pro",
	}}
	testenv.ExpectApplied(t, i.client, stored)
	at := administratorOf(t, i)
	if status, page := at.send(http.MethodGet, "/console/profiles", nil); status != http.StatusOK || !strings.Contains(page, "/console/profiles/team") || !strings.Contains(page, "Everyone in all namespaces") {
		t.Errorf("the list: %d %s", status, page)
	}
	const path = "/console/try-profile"
	manifest := "apiVersion: hostedbridge.dev/v1alpha1\nkind: BridgeProfile\nmetadata: {name: team}\nspec:\n  who: {namespaces: ['*'], everyone: true}\n  tier: pro\n"
	status, page := at.submit("/console/profiles/team", path, "profile", manifest)
	if status != http.StatusOK || !strings.Contains(page, "1 person would have tier pro in place of free") || !strings.Contains(page, "of-"+testenv.Tenants) || strings.Contains(page, "of-"+testenv.Elsewhere) {
		t.Errorf("a preview: %d %s", status, page)
	}
	before := stored.ResourceVersion
	if testenv.ExpectExists(t, i.client, stored); stored.ResourceVersion != before {
		t.Errorf("the profile was written: %+v", stored)
	}
	config := must.Value(restConfig(kubeconfig))(t)
	ingress := must.Value(clusterOf(config))(t)
	other := stored.DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Namespace: testenv.System, Name: "other"}
	for what, err := range map[string]error{
		"create, as a dry run": ingress.Create(t.Context(), other, client.DryRunAll), "update": ingress.Update(t.Context(), stored), "delete": ingress.Delete(t.Context(), stored),
		"list elsewhere": ingress.List(t.Context(), &v1alpha1.BridgeProfileList{}, client.InNamespace(testenv.Tenants)),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWithoutTheRightTheConsoleSaysSo takes the Role of the installation's namespace away, as
// where rbac.create is false and somebody's own Role has no right on profiles.
func TestWithoutTheRightTheConsoleSaysSo(t *testing.T) {
	t.Parallel()
	p, keyFile := testenv.StartControlPlane(t), filepath.Join(t.TempDir(), "admin-key")
	must.Succeed(t, os.WriteFile(keyFile, []byte(testAdminKey), 0o600))
	i := startAt(t, p.Client(), p.InstallNamespaced("../..", "ingress"), 8443, "--namespace="+testenv.System, "--watch-namespaces="+testenv.Tenants,
		"--admin-key-file="+keyFile, "--login-requests-per-second=0")
	i.namespace = testenv.System
	i.publishCA()
	i.await("readiness", i.ready)
	at := administratorOf(t, i)
	var roles rbacv1.RoleList
	must.Succeed(t, i.client.List(t.Context(), &roles, client.InNamespace(testenv.System)))
	for n := range roles.Items {
		role := &roles.Items[n]
		testenv.ExpectChanged(t, i.client, role, func() {
			role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "bridgeprofiles") })
		})
	}
	for _, page := range []string{"/console/profiles", "/console/profiles/team"} {
		i.await("the page "+page, func() bool {
			status, shown := at.send(http.MethodGet, page, nil)
			return status == http.StatusOK && strings.Contains(shown, "The API server does not let the ingress read profiles")
		})
	}
}
