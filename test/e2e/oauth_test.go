// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// issuer is the guarded server that gives its tokens out itself.
var issuer = authority{name: "issuer", port: 8082, clientSecret: rand.Text(), login: rand.Text()}

// authority is an authorization server and the MCP server that it is for.
type authority struct {
	name string
	port int32
	// clientSecret is for tokens of the client's own, and login the refresh
	// token that a person's login left. It can be used once.
	clientSecret, login string
}

// tokenLifetime has a bridge, which replaces tokens about a minute before their
// end, do so within a quarter of a minute.
const tokenLifetime = 75 * time.Second

func (a authority) container(image string) corev1.Container {
	return corev1.Container{
		Name: a.name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, ReadinessProbe: listensOn(a.port),
		Args: []string{
			fmt.Sprintf("--http=:%d", a.port), "--token-lifetime=" + tokenLifetime.String(),
			"--client-secret-hash=" + apikey.HashOf(a.clientSecret).String(),
			"--login-hash=" + apikey.HashOf(a.login).String(),
			"--redirect-uri=" + installed.url + "/oauth/connected/" + strings.ReplaceAll(a.host(), ":", "_"),
		},
	}
}

func (a authority) host() string {
	return fmt.Sprintf("%s.%s.svc:%d", guardedName, installed.namespace, a.port)
}

func (a authority) url(path string) string { return "http://" + a.host() + path }

// The two servers are the same one: over SSE with tokens of the client's own, and
// over streamable HTTP, where it can say which token came, with those of a login.
var (
	own   = &guard{name: "own", secret: "CLIENT_SECRET"}
	lent  = &guard{name: "lent", secret: "login.json"}
	oauth = map[*guard]v1alpha1.OAuth{
		own:  {Grant: v1alpha1.OAuthClientCredentials, ClientSecret: "CLIENT_SECRET"},
		lent: {Grant: v1alpha1.OAuthAuthorizationCode, TokenSecret: "login.json"},
	}
)

// newOAuthTenant makes a tenant with both servers. It is Ready before any secret
// is set.
func newOAuthTenant(t *testing.T) tenant {
	t.Helper()
	n := tenant{name: installed.name("oona"), key: mint(t)}
	b := bridge(n.name, []credential{n.key}, "open")
	for g, transport := range map[*guard]v1alpha1.Transport{
		own:  {Type: v1alpha1.TransportSSE, URL: issuer.url("/sse")},
		lent: {Type: v1alpha1.TransportStreamableHTTP, URL: issuer.url("/mcp")},
	} {
		how := oauth[g]
		how.TokenURL, how.ClientID = issuer.url("/oauth/token"), "hosted-bridge"
		b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{
			Name: g.name, Transport: transport, Auth: &v1alpha1.Auth{OAuth: &how},
			Secrets: []v1alpha1.SecretName{v1alpha1.SecretName(g.secret)},
		})
	}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}

func TestServersThatWantAnOAuthToken(t *testing.T) {
	t.Parallel()
	n := newOAuthTenant(t)
	awaitOutOfService(t, n, own, lent)
	mustPut(t, n, own.secret, issuer.clientSecret, http.StatusCreated)
	mustPut(t, n, lent.secret, `{"refresh_token":"`+issuer.login+`"}`, http.StatusCreated)
	c := newHTTPClient(false)
	var first string
	wait.NoError(t, wait.Limit, "both servers answer", func(ctx context.Context) (err error) {
		first, err = bothAnswer(ctx, c, n)
		return err
	})

	wait.NoError(t, tokenLifetime, "the token is replaced before its end", func(ctx context.Context) error {
		now, err := bothAnswer(ctx, c, n)
		if err != nil {
			t.Errorf("a call meanwhile: %v", err)
			return nil
		}
		if now == first {
			return errors.New("it is the first one still")
		}
		return nil
	})

	// The login that was set has been used. Another process goes on with the
	// one that the bridge got for it.
	before := bridgePod(t, n.uid)
	remove(t, before)
	wait.NoError(t, wait.Limit, "another pod's servers answer", func(ctx context.Context) error {
		pods, err := bridgePods(ctx, n.uid)
		if err != nil || len(pods) != 1 || pods[0].UID == before.UID {
			return fmt.Errorf("there are %d other pods (%w)", len(pods), errors.Join(err, errors.New("want one")))
		}
		_, err = bothAnswer(ctx, c, n)
		return err
	})
}

// bothAnswer returns nil where both servers answer, and the hash of the login's token.
func bothAnswer(ctx context.Context, c *http.Client, n tenant) (token string, err error) {
	if _, err := whoami(ctx, c, n, own); err != nil {
		return "", fmt.Errorf("%s: %w", own.name, err)
	}
	p, err := whoami(ctx, c, n, lent)
	if err != nil {
		return "", fmt.Errorf("%s: %w", lent.name, err)
	}
	return p.Token, nil
}
