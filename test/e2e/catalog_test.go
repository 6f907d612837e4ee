// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestCatalog uses the catalog as people do with curl and kubectl.
func TestCatalog(t *testing.T) {
	t.Parallel()
	awaitCatalog(t)
	t.Run("what it does", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"reads":                            catalogIsRead,
			"writes of publishers":             catalogIsPublished,
			"refusals":                         catalogRefuses,
			"acts of administrators":           catalogIsAdministered,
			"recipes of kubectl":               catalogOfKubectl,
			"the seed and an overlay above it": catalogIsSeeded,
			"from a recipe to a call":          catalogIsInstalled,
			"a recipe on a laptop":             catalogOnALaptop,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	t.Run("everything that was used is described", catalogIsDescribed)
}

// used are the routes that were asked for, as "GET /recipes".
var used sync.Map

// curl asks what it is told to. Those that keep connections stay with one replica,
// which knows at once what was written through it.
type curl struct {
	client *http.Client
	key    string
}

func newCurl(key string) curl { return curl{newHTTPClient(true), key} }

// ask sends a request with a body of JSON, or none where it is empty. headers are
// names and values in turn.
func (c curl) ask(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	r := request{method: method, body: body, header: map[string]string{}}
	if body != "" {
		r.header["Content-Type"] = "application/json"
	}
	for i := 0; i < len(headers); i += 2 {
		r.header[headers[i]] = headers[i+1]
	}
	a, err := send(t.Context(), c.client, installed.url+path, c.key, r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	path, _, _ = strings.Cut(path, "?")
	used.Store(method+" "+path, true)
	return a
}

// must is ask for what must be answered with a status.
func (c curl) must(t *testing.T, status int, method, path, body string, headers ...string) answer {
	t.Helper()
	a := c.ask(t, method, path, body, headers...)
	if a.status != status {
		t.Fatalf("%s %s: status %d, want %d: %.1000s", method, path, a.status, status, a.body)
	}
	return a
}

// into decodes the answer.
func (a answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%v in %.500q", err, a.body)
	}
}

// admin returns what an administrator asks with.
func admin(t *testing.T) curl {
	t.Helper()
	return newCurl(adminKey(t))
}

// adminKey returns the installation's admin key.
func adminKey(t *testing.T) string {
	t.Helper()
	s := &corev1.Secret{}
	if err := installed.client.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "hosted-bridge-admin"}, s); err != nil {
		t.Fatalf("get the administrators' key: %v", err)
	}
	return strings.TrimSpace(string(s.Data["key"]))
}

// awaitCatalog waits until all replicas serve the recipes of the installation.
func awaitCatalog(t *testing.T) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the seeded recipes are served", func(ctx context.Context) error {
		return atAllReplicas(func(c *http.Client) error {
			a, err := send(ctx, c, installed.url+"/recipes?owner=seed&limit=1", "", request{method: http.MethodGet})
			if err != nil {
				return err
			}
			var page struct{ Total int }
			if err := json.Unmarshal(a.body, &page); err != nil || page.Total < len(seededRecipes(t)) {
				return fmt.Errorf("status %d, %d recipes: %.300s", a.status, page.Total, a.body)
			}
			return nil
		})
	})
}

// publisher is one that was made for a test.
type publisher struct {
	curl
	id, keyID string
	signs     ed25519.PrivateKey
}

// newPublisher makes a publisher with a key, and a public key.
func newPublisher(t *testing.T, short string) publisher {
	t.Helper()
	public, private := must.Values(ed25519.GenerateKey(rand.Reader))(t)
	p := publisher{id: installed.name(short), signs: private}
	body := fmt.Sprintf(`{"id":%q,"displayName":"Made by a test","publicKeys":[%q]}`, p.id, recipe.FormatKey(public))
	a := admin(t).must(t, http.StatusCreated, http.MethodPost, "/admin/publishers", body)
	if a.header.Get("Location") != "/admin/publishers/"+p.id {
		t.Errorf("Location is %q", a.header.Get("Location"))
	}
	var made struct{ Key, KeyID string }
	a.into(t, &made)
	p.curl, p.keyID = newCurl(made.Key), made.KeyID
	t.Cleanup(func() { forgetCatalog(t, &v1alpha1.CatalogPublisher{}, p.id) })
	p.awaitWorks(t)
	return p
}

// awaitWorks waits until all replicas know the publisher's key.
func (p publisher) awaitWorks(t *testing.T) {
	t.Helper()
	p.await(t, "the key of "+p.id+" works", http.StatusUnprocessableEntity)
}

// await waits until all replicas answer the publisher's key with the status.
func (p publisher) await(t *testing.T, what string, status int) {
	t.Helper()
	wait.NoError(t, wait.Limit, what, func(context.Context) error {
		return atAllReplicas(func(c *http.Client) error {
			if a := (curl{c, p.key}).ask(t, http.MethodPost, "/recipes?dryRun=All", `{}`); a.status != status {
				return fmt.Errorf("status %d", a.status)
			}
			return nil
		})
	})
}

// forgetCatalog deletes an object of the catalog.
func forgetCatalog(t *testing.T, o client.Object, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
	defer cancel()
	o.SetNamespace(systemNamespace)
	o.SetName(name)
	if err := client.IgnoreNotFound(installed.client.Delete(ctx, o)); err != nil {
		t.Errorf("delete %s: %v", name, err)
	}
}

// remote returns the recipe of the guarded server, whose token is in g.secret.
func remote(name string, g *guard, version string) recipe.Recipe {
	server := g.server()
	return recipe.Recipe{
		SchemaVersion: 2, ID: name, Name: "Guarded", Description: "Says how it was called.",
		Repository: "https://example.com/" + name, RecipeVersion: version,
		Transports: []recipe.Transport{{
			Type: recipe.StreamableHTTP, URL: server.Transport.URL,
			Headers: jsondoc.Ordered[string]{{Name: "Authorization", Value: "Bearer ${" + g.secret + "}"}, {Name: edition, Value: version}},
		}},
		Auth: &recipe.Auth{
			Required: true, Type: "api-key", EnvVars: []string{g.secret}, CredentialsURL: "https://example.com/" + name + "/keys",
		},
		Metadata: recipe.Metadata{SelfHosted: true, Category: "development", Tags: []string{"e2e"}},
	}
}

// edition is the header by which the guarded server is told of the recipe's
// version.
const edition = "X-Edition"

// signed returns the recipe file with the publisher's signature.
func (p publisher) signed(t *testing.T, r recipe.Recipe) string {
	t.Helper()
	doc, err := jsondoc.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = recipe.Sign(doc, p.signs, p.id, time.Now()); err != nil {
		t.Fatal(err)
	}
	return fileOf(t, doc)
}

// fileOf returns a recipe file.
func fileOf(t *testing.T, recipe any) string {
	t.Helper()
	return string(must.Value(json.Marshal(recipe))(t))
}

// written is the answer to a publisher's write.
type written struct{ Name, Version, Revision, State, Reason string }

// mustPublish creates a recipe, which is removed with the test.
func (p publisher) mustPublish(t *testing.T, name, file string) (w written) {
	t.Helper()
	t.Cleanup(func() { forgetCatalog(t, &v1alpha1.CatalogRecipe{}, name) })
	a := p.must(t, http.StatusCreated, http.MethodPost, "/recipes", file)
	if a.into(t, &w); w.State != "served" || w.Name != name || a.header.Get("Location") != "/recipes/"+name || a.header.Get("Etag") != `"`+w.Revision+`"` {
		t.Fatalf("published: %s, header %v", a.body, a.header)
	}
	return w
}

// awaitRead waits until every replica answers a GET with what check wants.
func awaitRead(t *testing.T, path string, check func(answer) error) {
	t.Helper()
	awaitReadBy(t, "", path, check)
}

// awaitReadBy is awaitRead with a key.
func awaitReadBy(t *testing.T, key, path string, check func(answer) error) {
	t.Helper()
	wait.NoError(t, wait.Limit, "GET "+path, func(context.Context) error {
		return atAllReplicas(func(c *http.Client) error { return check(curl{c, key}.ask(t, http.MethodGet, path, "")) })
	})
}

// publicKey returns the key by which the publisher's signatures are checked.
func (p publisher) publicKey() string {
	public, _ := p.signs.Public().(ed25519.PublicKey)
	return recipe.FormatKey(public)
}
