// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/e2e/canary"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// account is a server that is used with an account of its user, which is at the
// server itself.
var account = &guard{name: "account", secret: "account.json"}

// accountClientSecret is the name of the user's secret by which the account's
// server knows the installation.
const accountClientSecret = "ACCOUNT_CLIENT_SECRET"

// accountTokens is how many tokens of a login a test knows: more than there are
// while it runs.
const accountTokens = 32

// accountSecret is what the account's server gives out the n-th time to who logged
// in with the password, as guarded-server makes it up.
func accountSecret(password, kind string, n int) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", password, kind, n))
	return hex.EncodeToString(hash[:])
}

// accountTenant is one with that server.
type accountTenant struct {
	tenant

	// tool is whoami of the server, as the tenant's clients call it.
	tool string
}

// newAccountTenant makes a tenant with that server and these, which somebody may
// use.
func newAccountTenant(t *testing.T, short, who string, others ...string) accountTenant {
	t.Helper()
	n := accountTenant{tenant{name: installed.name(short), key: mint(t)}, "whoami"}
	if len(others) > 0 {
		n.tool = account.name + "_whoami"
	}
	b := bridge(n.name, []credential{n.key}, others...)
	b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: identityIssuer, Subject: who}}}
	b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{
		Name:      account.name,
		Transport: v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP, URL: issuer.url("/mcp")},
		Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
			Grant: v1alpha1.OAuthAuthorizationCode, ClientID: "hosted-bridge",
			AuthorizationURL: issuer.url("/oauth/authorize"), TokenURL: issuer.url("/oauth/token"),
			ClientSecret: accountClientSecret, TokenSecret: v1alpha1.SecretName(account.secret), Scopes: []string{"calendar"},
		}},
		Secrets: []v1alpha1.SecretName{accountClientSecret, v1alpha1.SecretName(account.secret)},
	})
	n.uid = create(t, b)
	awaitReady(t, n.name)
	mustPut(t, n.tenant, accountClientSecret, issuer.clientSecret, http.StatusCreated)
	return n
}

// connectURL is the page on which the user connects the account.
func (n accountTenant) connectURL() string {
	return installed.url + "/oauth/connect/" + n.name + "/" + account.name
}

// accountsAreConnected has people connect an account when a program of theirs needs
// it.
func accountsAreConnected(t *testing.T) {
	hosts := accountHosts(t)
	const who = "clara"
	t.Run("by a client with a session", func(t *testing.T) {
		t.Parallel()
		n, password := newAccountTenant(t, "connected", who), rand.Text()
		n.awaitLoginRequired(t)
		n.strangersConnectNothing(t)
		n.connectsBy(t, "TypeScript SDK 1", newVisitorOf(t, hosts), who, password)
		n.loginOutlivesItsPod(t, password)
	})
	// Its other server needs no account, and the tools of both are known by then.
	t.Run("by a client without one, when the login has ended", func(t *testing.T) {
		t.Parallel()
		n, p := newAccountTenant(t, "connected-again", who, "open"), newVisitorOf(t, hosts)
		p.connects(t, n, who, rand.Text())
		wait.NoError(t, wait.Limit, "the bridge has the login", func(ctx context.Context) error {
			_, err := n.whoami(ctx, n.key.secret)
			return err
		})
		mustDelete(t, n.tenant, account.secret)
		n.awaitLoginRequired(t)
		n.connectsBy(t, "TypeScript SDK 2, modern", p, who, rand.Text())
	})
}

// accountHosts are where a browser finds the account's server too.
func accountHosts(t *testing.T) map[string]string {
	t.Helper()
	hosts := maps.Clone(identityHosts)
	hosts[issuer.host()] = forwardedTo(t, installed.namespace, "service/"+guardedName, int(issuer.port))
	return hosts
}

// connectsBy has the client call the server, and the person go where it sends them.
func (n accountTenant) connectsBy(t *testing.T, client string, p *person, who, password string) {
	t.Helper()
	by := outsiders[slices.IndexFunc(outsiders, func(o outsider) bool { return o.name == client })]
	got, err := by.follow(t, n.tenant, task{Connect: n.tool, Steps: []string{"connect"}}, func(address string) error {
		if address != n.connectURL() {
			return fmt.Errorf("the client sends its person to %s, want %s", address, n.connectURL())
		}
		p.connects(t, n, who, password)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var saw presented
	if err := json.Unmarshal([]byte(got.Connect), &saw); err != nil {
		t.Fatalf("the server says %.300q: %v", got.Connect, err)
	}
	for n := 1; saw.Token != apikey.HashOf(accountSecret(password, "access", n)).String(); n++ {
		if n == accountTokens {
			t.Fatalf("the server says %.300q: want the hash of a token of the login", got.Connect)
		}
	}
}

// calls is how a program calls the server that cannot send anybody anywhere.
func (n accountTenant) calls() request {
	return modern("tools/call", n.tool, `{"name":"`+n.tool+`","arguments":{}}`)
}

// whoami returns what the server says of such a call with a key or an access
// token.
func (n accountTenant) whoami(ctx context.Context, token string) (p presented, err error) {
	a, err := send(ctx, newHTTPClient(false), n.url(), token, n.calls())
	if err != nil {
		return p, err
	}
	var m struct {
		Result struct {
			IsError           bool
			StructuredContent *presented
		}
	}
	if err := json.Unmarshal(a.message(), &m); err != nil || m.Result.IsError || m.Result.StructuredContent == nil {
		return p, fmt.Errorf("status %d: %w: %.300s", a.status, errors.Join(err, errOutOfService), a.body)
	}
	return *m.Result.StructuredContent, nil
}

// awaitLoginRequired waits until it is said that the account is missing: in the
// bridge's health, and to a program that cannot send anybody anywhere.
func (n accountTenant) awaitLoginRequired(t *testing.T) {
	t.Helper()
	c := newHTTPClient(false)
	wait.NoError(t, wait.Limit, "the health of "+n.name+" says that a login is missing", func(ctx context.Context) error {
		a, err := send(ctx, c, n.base()+"/health", n.key.secret, request{method: http.MethodGet})
		if err != nil {
			return err
		}
		var report struct {
			Servers map[string]struct{ Status, Reason, ConnectURL string }
		}
		if err := json.Unmarshal(a.body, &report); err != nil {
			return fmt.Errorf("status %d: %w", a.status, err)
		}
		if s := report.Servers[account.name]; s.Status != "unhealthy" || s.Reason != "login_required" || s.ConnectURL != n.connectURL() {
			return fmt.Errorf("it says %+v", s)
		}
		return nil
	})
	a := mustSend(t, n.url(), n.key.secret, n.calls())
	var said struct {
		Result struct {
			IsError           bool
			StructuredContent struct{ Error, Server, ConnectURL string }
		}
	}
	if err := json.Unmarshal(a.message(), &said); err != nil {
		t.Fatalf("status %d: %v in %.300q", a.status, err, a.body)
	}
	if r := said.Result; !r.IsError || r.StructuredContent.Error != "login_required" || r.StructuredContent.Server != account.name || r.StructuredContent.ConnectURL != n.connectURL() {
		t.Errorf("a call is answered %.500s, want that a login is required at %s", a.message(), n.connectURL())
	}
}

// strangersConnectNothing has somebody else follow the link. They hear the same
// whether the bridge and its server are there or not.
func (n accountTenant) strangersConnectNothing(t *testing.T) {
	t.Helper()
	p, texts := newVisitor(t), map[string]bool{}
	for _, address := range []string{n.connectURL(), n.connectURL() + "-2", strings.Replace(n.connectURL(), n.name, installed.name("no-account"), 1)} {
		v := p.logsIn(t, address, "charles")
		refused(t, v)
		texts[v.Text] = true
	}
	if len(texts) != 1 {
		t.Errorf("who may not use the bridge reads %v", texts)
	}
}

// connects has the person go from the link to the account, and back.
func (p *person) connects(t *testing.T, n accountTenant, who, password string) {
	t.Helper()
	v := p.logsIn(t, n.connectURL(), who)
	checkPage(t, v)
	for _, word := range []string{who, n.name, account.name, issuer.host(), "calendar"} {
		if !strings.Contains(v.Text, word) {
			t.Errorf("the page does not say %q: %s", word, v.Text)
		}
	}
	v = p.does(t, "type", "Continue to "+issuer.host())
	if !strings.HasPrefix(v.URL, issuer.url("/oauth/authorize")) {
		t.Fatalf("the person is at %s and not where the account is: %.300s", v.path(), v.Text)
	}
	p.does(t, "fill", "Password", password)
	v = p.does(t, "press", "Agree")
	checkPage(t, v)
	if v.Status != http.StatusOK || !strings.Contains(v.Text, "The account is connected") || !strings.Contains(v.Text, account.name) {
		t.Fatalf("status %d at %s: %.300s", v.Status, v.path(), v.Text)
	}
}

// used returns which access token of the login the server is given.
func (n accountTenant) used(ctx context.Context, password string) (nth int, err error) {
	p, err := n.whoami(ctx, n.key.secret)
	if err != nil {
		return 0, err
	}
	for nth = 1; nth <= accountTokens; nth++ {
		if p.Token == apikey.HashOf(accountSecret(password, "access", nth)).String() {
			return nth, nil
		}
	}
	return 0, errors.New("the server is given a token that it has not given out for the login")
}

// awaitRefreshed waits until the bridge has got other tokens for the login.
func (n accountTenant) awaitRefreshed(t *testing.T, password string) {
	t.Helper()
	wait.NoError(t, tokenLifetime, "the token is replaced before its end", func(ctx context.Context) error {
		nth, err := n.used(ctx, password)
		if err == nil && nth < 2 {
			err = errors.New("it is the first one still")
		}
		return err
	})
}

// loginOutlivesItsPod has another pod go on with the login, whose code is used up.
func (n accountTenant) loginOutlivesItsPod(t *testing.T, password string) {
	t.Helper()
	before := bridgePod(t, n.uid)
	remove(t, before)
	wait.NoError(t, wait.Limit, "another pod has the login", func(ctx context.Context) error {
		pods, err := bridgePods(ctx, n.uid)
		if err != nil || len(pods) != 1 || pods[0].UID == before.UID {
			return fmt.Errorf("there are %d other pods (%w)", len(pods), errors.Join(err, errors.New("want one")))
		}
		_, err = n.used(ctx, password)
		return err
	})
}

// accountCanaries are what a login with the password consists of, once it was
// refreshed.
func accountCanaries(t *testing.T, password string) []canary.Canary {
	t.Helper()
	canaries := []canary.Canary{mustCanary(t, "an account's code", accountSecret(password, "code", 1))}
	for nth := 1; nth <= 2; nth++ {
		canaries = append(canaries,
			mustCanary(t, fmt.Sprintf("access token %d of an account", nth), accountSecret(password, "access", nth)),
			mustCanary(t, fmt.Sprintf("refresh token %d of an account", nth), accountSecret(password, "refresh", nth)))
	}
	return canaries
}
