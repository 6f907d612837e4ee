// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/internal/authserver"
	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogapi"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/scim/scimapi"
	"github.com/hostedbridge/hostedbridge/internal/users/news"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// What an authorization server stands on. Nobody calls it.
type (
	noStore       struct{ flow.Store }
	noSigner      struct{ flow.Signer }
	noKeys        struct{ flow.KeySet }
	noUsers       struct{ flow.Users }
	noConnections struct{ flow.Connections }
	noProvider    struct{ flow.Provider }
	noCatalog     struct{ catalogapi.Store }
)

func noConsole(httpapi.Call, httpapi.Identity, string) error             { return nil }
func noAdministrators(httpapi.Call, httpapi.Administrator, string) error { return nil }

func (noProvider) ID() string          { return "idp" }
func (noProvider) Limits() flow.Limits { return flow.Limits{} }

// allRoutes returns every route that an ingress can serve, in whatever configuration, but
// for the pages of the two consoles, which are for people with a session, and the refusals of
// an installation without logins. The pages of a login are among the routes, because clients
// send people to them.
func allRoutes(t *testing.T) []httpapi.Route {
	t.Helper()
	logins, err := authserver.New(authserver.Options{
		Issuer: "https://bridges.example.com", Store: noStore{}, Signer: noSigner{}, Keys: noKeys{}, Users: noUsers{}, Connections: noConnections{},
		Providers: []flow.Provider{noProvider{}}, Registration: client.Registration{Enabled: true}, Invitations: true,
		Roles:   []flow.Role{{Role: oauth.RoleAdmin, Issuer: "https://idp.example.com", Group: "admins"}},
		Console: noConsole, Administrators: noAdministrators,
		Random: rand.Reader, Now: time.Now, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	catalog := must.Value(catalogapi.New(catalogapi.Options{Store: noCatalog{}, Log: slog.New(slog.DiscardHandler)}))(t)
	routes := ingress.OwnRoutes()
	for _, f := range []httpapi.Feature{
		management.Health(nil, nil), management.Secrets(nil), management.NewSelf(management.SelfOptions{}).Feature(),
		management.Admin(management.AdminOptions{}), management.Requests(&requests.Requests{}), management.News(&news.News{}), management.NewPrograms(management.ProgramOptions{}).Feature(), catalog.Feature(), logins.Feature(), scimapi.Feature(scimapi.Options{}), management.Shared(management.SharedOptions{}),
	} {
		routes = append(routes, f.Routes...)
	}
	return routes
}

// TestEachRouteIsDescribed compares all routes with their description, both ways.
func TestEachRouteIsDescribed(t *testing.T) {
	text := must.Value(os.ReadFile("../../internal/catalog/catalogapi/openapi.yaml"))(t)
	var doc struct {
		Paths map[string]map[string]any
	}
	must.Succeed(t, yaml.Unmarshal(text, &doc))
	var described, served []string
	for path, item := range doc.Paths {
		for method := range item {
			if method != "parameters" { // They are those of all methods.
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	part := regexp.MustCompile(`:([A-Za-z]+)`)
	for _, r := range allRoutes(t) {
		served = append(served, r.Method+" "+part.ReplaceAllString(r.Path, "{$1}"))
	}
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("routes (-served +described):\n%s", diff)
	}
}

// listed are the features that are opened always, and those that the configuration adds.
var listed = regexp.MustCompile(`\[\]newFeature\{([^}]*)\}|append\(list, (.*)\)`)

// TestTheFeaturesAreAllThatIsServed holds that allRoutes has the features that are opened.
func TestTheFeaturesAreAllThatIsServed(t *testing.T) {
	text := must.Value(os.ReadFile("features.go"))(t)
	var opened []string
	for _, found := range listed.FindAllSubmatch(text, -1) {
		opened = append(opened, string(found[1])+string(found[2]))
	}
	want := []string{
		"healthFeature, secretsFeature, l.selfFeature, requestsFeature, l.newsFeature, l.adminFeature, programsFeature, catalogFeature",
		"l.feature",
		"scimFeature",
		"func(*core, *options) (httpapi.Feature, error) { return management.Shared(*l.shared), nil }",
		// The pages of the consoles, which allRoutes leaves out.
		"l.consoleFeature",
		"l.administratorsFeature",
	}
	if diff := cmp.Diff(want, opened); diff != "" {
		t.Errorf("describe what is served, and add it to allRoutes (-want +opened):\n%s", diff)
	}
}
