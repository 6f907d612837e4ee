// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	logins "github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// listenFor opens a stream of notifications, and returns a channel that is told when it has
// ended.
func listenFor(t *testing.T, address, token string) <-chan time.Time {
	t.Helper()
	r := modern("subscriptions/listen", "", `{"notifications":{"toolsListChanged":true}}`)
	req := must.Value(http.NewRequestWithContext(t.Context(), r.method, address, strings.NewReader(r.body)))(t)
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res := must.Value(newHTTPClient(false).Do(req))(t)
	lines := bufio.NewReader(res.Body)
	if first, err := lines.ReadString('\n'); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("a stream: status %d, %q: %v", res.StatusCode, first, err)
	}
	ended := make(chan time.Time, 1)
	go func() {
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, lines)
		ended <- time.Now()
	}()
	return ended
}

// setAccess has an administrator set a user's access, and returns the answer.
func setAccess(t *testing.T, user string, a v1alpha1.Access, more string) access.Report {
	t.Helper()
	var report access.Report
	body := fmt.Sprintf(`{"access":%q%s}`, a, more)
	admin(t).must(t, http.StatusOK, http.MethodPut, "/admin/users/"+user+"/access", body).into(t, &report)
	return report
}

// forgetPerson removes a BridgePerson with the test.
func forgetPerson(t *testing.T, name string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
		defer cancel()
		p := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}}
		if err := client.IgnoreNotFound(installed.client.Delete(ctx, p)); err != nil {
			t.Errorf("delete the BridgePerson %s: %v", name, err)
		}
	})
}

// awaitLeft waits until a person has left, and the audit trail has it.
func awaitLeft(t *testing.T, name string) *v1alpha1.BridgePerson {
	t.Helper()
	p := &v1alpha1.BridgePerson{}
	wait.NoError(t, wait.Limit, "the person has left", func(ctx context.Context) error {
		if err := installed.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: name}, p); err != nil {
			return err
		}
		isNoted := slices.ContainsFunc(p.Status.Audited, func(a v1alpha1.AuditedStep) bool { return a.Step == v1alpha1.ConditionLeft })
		if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionLeft) || !isNoted {
			return fmt.Errorf("conditions %+v, audited %+v", p.Status.Conditions, p.Status.Audited)
		}
		return nil
	})
	return p
}

// peopleLeave suspends and offboards a user who has a key, a login, a secret and open
// streams.
func peopleLeave(t *testing.T) {
	n := newLoginTenant(t, "leaving", "lea")
	forgetPerson(t, "user."+n.name)
	a := askAs(desk, n.url())
	login := mustLogIn(t, a, "lea")
	if got := askSecrets(t, n, http.MethodPut, "/LEFT_BEHIND", "a value that goes"); got.status != http.StatusCreated {
		t.Fatalf("a secret: %d %s", got.status, got.body)
	}
	var made struct{ Key string }
	admin(t).must(t, http.StatusCreated, http.MethodPost, "/admin/users/"+n.name+"/keys", `{}`).into(t, &made)
	wait.NoError(t, wait.Limit, "the key works", func(ctx context.Context) error {
		got, err := send(ctx, newHTTPClient(false), n.url(), made.Key, modernCall)
		if err != nil {
			return err
		}
		return got.toolAnswered()
	})
	streams := []<-chan time.Time{listenFor(t, n.url(), login.Access), listenFor(t, n.url(), made.Key)}

	if got := setAccess(t, n.name, v1alpha1.AccessOffboarded, `,"dryRun":true`); len(got.Steps) == 0 || got.Bridge.Secrets != 1 {
		t.Errorf("a dry run: %+v", got)
	}
	if err := mustSend(t, n.url(), login.Access, modernCall).toolAnswered(); err != nil {
		t.Errorf("after a dry run: %v", err)
	}
	began := time.Now()
	setAccess(t, n.name, v1alpha1.AccessSuspended, "")
	for _, ended := range streams {
		select {
		case at := <-ended:
			t.Logf("an open stream has ended after %s", at.Sub(began).Round(time.Millisecond))
			if at.Sub(began) > time.Second {
				t.Errorf("an open stream has ended only after %s", at.Sub(began))
			}
		case <-time.After(wait.Limit):
			t.Fatal("a stream is still open")
		}
	}
	awaitShut(t, n.url(), login.Access)
	awaitShut(t, n.url(), made.Key)
	setAccess(t, n.name, v1alpha1.AccessAllowed, "")
	for _, credential := range []string{login.Access, made.Key} {
		wait.NoError(t, holdTimeout, "a suspended user is back", func(ctx context.Context) error {
			got, err := send(ctx, newHTTPClient(false), n.url(), credential, modernCall)
			if err != nil {
				return err
			}
			return got.toolAnswered()
		})
	}

	setAccess(t, n.name, v1alpha1.AccessOffboarded, "")
	awaitShut(t, n.url(), made.Key)
	refused(t, newVisitor(t).logsIn(t, askAs(desk, n.url()).url(), "lea"))
	if got := askTokens(t, a.refresh(login.Refresh)); got.Error != "invalid_grant" {
		t.Errorf("the refresh token: status %d, error %q", got.status, got.Error)
	}
	p := awaitLeft(t, "user."+n.name)
	expectNothingLeft(t, n)
	var report access.Report
	admin(t).must(t, http.StatusOK, http.MethodGet, "/admin/users/"+n.name+"/access", "").into(t, &report)
	if report.Bridge == nil || report.Bridge.Phase != v1alpha1.PhaseOffboarded || report.Bridge.Secrets != 0 || report.Bridge.SecretsDestroyedTime == nil || report.LoginsEndedTime == nil {
		t.Errorf("the report: %+v", report)
	}
	expectAudited(t, n.name, p)
	setAccess(t, n.name, v1alpha1.AccessAllowed, "")
	awaitShut(t, n.url(), made.Key)
	awaitShut(t, n.url(), login.Access)
}

// expectNothingLeft looks for the pod and the secrets of a tenant.
func expectNothingLeft(t *testing.T, n tenant) {
	t.Helper()
	for _, name := range []string{v1alpha1.SaltSecretName(n.name), v1alpha1.EnvelopesSecretName(n.name)} {
		err := installed.client.Get(t.Context(), client.ObjectKey{Namespace: installed.namespace, Name: name}, &corev1.Secret{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("Secret %s is there: %v", name, err)
		}
	}
	var pods corev1.PodList
	must.Succeed(t, installed.client.List(t.Context(), &pods, client.InNamespace(installed.namespace)))
	for _, pod := range pods.Items {
		if pod.Annotations[v1alpha1.AnnotationBridgeUID] == string(n.uid) {
			t.Errorf("pod %s is there", pod.Name)
		}
	}
}

// expectAudited looks for each step in the index of the audit trail.
func expectAudited(t *testing.T, user string, p *v1alpha1.BridgePerson) {
	t.Helper()
	want := []string{"access/offboarded", "access/loginsEnded", "access/stopped", "access/secretsDestroyed", "access/deleted", "access/left"}
	wait.NoError(t, wait.Limit, "each step is in the audit trail", func(context.Context) error {
		var page struct {
			Entries []struct {
				ID, Method string
				Principal  struct{ Kind string }
			}
		}
		got := admin(t).ask(t, http.MethodGet, "/admin/audit?limit=1000&userId="+user, "")
		if got.status != http.StatusOK {
			return fmt.Errorf("status %d", got.status)
		}
		if err := json.Unmarshal(got.body, &page); err != nil {
			return err
		}
		var missing []error
		for _, method := range want {
			found := map[string]bool{} // Two replicas may note a step at once, with one id.
			for _, e := range page.Entries {
				if e.Method == method && e.Principal.Kind == "installation" {
					found[e.ID] = true
				}
			}
			if len(found) != 1 {
				missing = append(missing, fmt.Errorf("%s is there %d times; of %+v", method, len(found), p.Status.Audited))
			}
		}
		return errors.Join(missing...)
	})
}

// newcomersLeave has somebody leave whose first login made a bridge.
func newcomersLeave(t *testing.T, n newcomer, a asking) {
	n.allows(t, a, true)
	key := logins.KeyOf(n.subject.Issuer, n.subject.Subject)
	p := &v1alpha1.BridgePerson{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: access.PersonName(key)},
		Spec:       v1alpha1.BridgePersonSpec{Issuer: n.subject.Issuer, Subject: n.subject.Subject, Access: v1alpha1.AccessOffboarded},
	}
	forgetPerson(t, p.Name)
	// The login may have made the record, for groups.
	wait.NoError(t, wait.Limit, "the person is offboarded", func(ctx context.Context) error {
		known := &v1alpha1.BridgePerson{}
		err := installed.client.Get(ctx, client.ObjectKeyFromObject(p), known)
		if apierrors.IsNotFound(err) {
			return installed.client.Create(ctx, p)
		}
		if err != nil {
			return err
		}
		known.Spec.Access = v1alpha1.AccessOffboarded
		return installed.client.Update(ctx, known)
	})
	wait.NoError(t, wait.Limit, "the person cannot log in again", func(context.Context) error {
		v, err := newVisitor(t).tryLogIn(n.at, a.url(), n.name)
		if err == nil && v.Status != http.StatusForbidden {
			err = fmt.Errorf("status %d at %s", v.Status, v.path())
		}
		return err
	})
	left := awaitLeft(t, p.Name)
	n.hasNone(t, "the person left")
	if len(left.Status.Bridges) != 1 || left.Status.Bridges[0].DeletedTime == nil {
		t.Errorf("the record: %+v", left.Status.Bridges)
	}
}
