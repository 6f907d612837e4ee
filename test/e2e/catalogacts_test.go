// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// catalogIsAdministered does what needs the administrators' key.
func catalogIsAdministered(t *testing.T) {
	boss := admin(t)
	p, heir := newPublisher(t, "ruled"), newPublisher(t, "heir")
	name := installed.name("ruled")
	p.mustPublish(t, name, fileOf(t, remote(name, left, "1.0.0")))

	quality := "/admin/recipes/" + name + "/quality"
	boss.must(t, http.StatusOK, http.MethodPut, quality+"?dryRun=All", `{"verified":true}`)
	boss.must(t, http.StatusCreated, http.MethodPut, quality, `{"verified":true,"score":90,"notes":"Looked at."}`)
	boss.must(t, http.StatusOK, http.MethodPut, quality, `{"verified":true,"score":95,"notes":"Looked at again."}`)
	awaitRead(t, "/recipes/"+name, mentions(`"score":95`))
	theManagersAre(t, name, v1alpha1.FieldOwnerPublisher, v1alpha1.FieldOwnerAdmin)
	boss.must(t, http.StatusNoContent, http.MethodDelete, quality, "")
	if a := boss.must(t, http.StatusOK, http.MethodGet, "/recipes/"+name, ""); strings.Contains(string(a.body), "Looked at again.") {
		t.Errorf("the overlay is there still: %s", a.body)
	}

	publishersAreKept(t, boss, p)
	boss.must(t, http.StatusOK, http.MethodPut, "/admin/recipes/"+name+"/owner", `{"owner":"`+heir.id+`"}`)
	next := fileOf(t, remote(name, left, "2.0.0"))
	wait.NoError(t, wait.Limit, "the heir owns the recipe, and the former owner does not", func(context.Context) error {
		former := p.ask(t, http.MethodPut, "/recipes/"+name+"?dryRun=All", next, "If-Match", "*")
		now := heir.ask(t, http.MethodPut, "/recipes/"+name+"?dryRun=All", next, "If-Match", "*")
		if former.status != http.StatusForbidden || now.status != http.StatusOK {
			return fmt.Errorf("statuses %d and %d: %s", former.status, now.status, now.body)
		}
		return nil
	})
	heir.must(t, http.StatusOK, http.MethodPut, "/recipes/"+name, next, "If-Match", "*")
	keysAreWithdrawn(t, boss, heir)
	actsAreAudited(t, map[string]string{
		"publish/recipes.create": name, "publish/recipes.update": name,
		"admin/recipes.quality": name, "admin/recipes.quality.clear": name, "admin/recipes.owner": name,
		"admin/publishers.create": p.id, "admin/publishers.get": p.id, "admin/publishers.update": p.id,
		"admin/publishers.keys.create": heir.id + "/", "admin/publishers.keys.revoke": heir.id + "/" + heir.keyID,
	})
}

// actsAreAudited looks in the audit trail for acts, each on what begins so.
func actsAreAudited(t *testing.T, acts map[string]string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the acts are in the audit trail", func(ctx context.Context) error {
		trail, err := output(ctx, "logs", "--namespace="+systemNamespace, "deployment/hosted-bridge-ingress", "--all-pods", "--since=5m", "--tail=-1")
		if err != nil {
			return err
		}
		var missing error
		for act, on := range acts {
			if !bytes.Contains(trail, fmt.Appendf(nil, `"method":%q,"action":"%s`, act, on)) {
				missing = errors.Join(missing, fmt.Errorf("%s on %s", act, on))
			}
		}
		return missing
	})
}

// theManagersAre compares who holds fields of a recipe's spec.
func theManagersAre(t *testing.T, name string, want ...string) {
	t.Helper()
	var o struct {
		Metadata struct{ ManagedFields []metav1.ManagedFieldsEntry }
	}
	out := mustKubectl(t, "get", "recipe", name, "--namespace="+systemNamespace, "-o", "json", "--show-managed-fields")
	must.Succeed(t, json.Unmarshal([]byte(out), &o))
	owns := map[string]string{}
	for _, m := range o.Metadata.ManagedFields {
		if m.Subresource == "" {
			owns[m.Manager] = m.FieldsV1.GetRawString()
		}
	}
	for _, manager := range want {
		held := "f:recipe"
		if manager == v1alpha1.FieldOwnerAdmin {
			held = "f:quality"
		}
		if fields := owns[manager]; strings.Contains(fields, `"f:recipe"`) != (held == "f:recipe") || strings.Contains(fields, `"f:quality"`) != (held == "f:quality") {
			t.Errorf("%s holds %s", manager, fields)
		}
	}
	if len(owns) != len(want) {
		t.Errorf("the managers are %v, want %v", owns, want)
	}
}

// publishersAreKept reads and changes a publisher.
func publishersAreKept(t *testing.T, boss curl, p publisher) {
	t.Helper()
	path := "/admin/publishers/" + p.id
	a := boss.must(t, http.StatusOK, http.MethodGet, path, "")
	if !strings.Contains(string(a.body), p.keyID) || strings.Contains(string(a.body), p.key) {
		t.Errorf("the publisher is told of without its key's id, or with the key: %.300s", strings.ReplaceAll(string(a.body), p.key, "KEY"))
	}
	if all := boss.must(t, http.StatusOK, http.MethodGet, "/admin/publishers", ""); !strings.Contains(string(all.body), p.id) {
		t.Errorf("%s is not in the list", p.id)
	}
	boss.must(t, http.StatusOK, http.MethodPut, path, `{"displayName":"Another name","verified":true}`, "If-Match", a.header.Get("Etag"))
	boss.must(t, http.StatusPreconditionFailed, http.MethodPut, path, `{"displayName":"A third name"}`, "If-Match", a.header.Get("Etag"))
	awaitReadBy(t, boss.key, path, mentions("Another name"))
}

// keysAreWithdrawn gives a publisher another key and withdraws the first, which
// opens nothing anymore at any replica.
func keysAreWithdrawn(t *testing.T, boss curl, p publisher) {
	t.Helper()
	keys := "/admin/publishers/" + p.id + "/keys"
	var made struct{ Key, KeyID string }
	boss.must(t, http.StatusCreated, http.MethodPost, keys, `{"expires":"1d"}`).into(t, &made)
	second := publisher{curl: newCurl(made.Key), id: p.id}
	second.awaitWorks(t)
	boss.must(t, http.StatusNoContent, http.MethodDelete, keys+"/"+p.keyID, "")
	began := time.Now()
	p.await(t, "the withdrawn key opens nothing", http.StatusUnauthorized)
	t.Logf("withdrawn everywhere after %s", time.Since(began).Round(time.Millisecond))
	second.must(t, http.StatusUnprocessableEntity, http.MethodPost, "/recipes?dryRun=All", `{}`)
}

// catalogOfKubectl applies recipes past the API of the catalog.
func catalogOfKubectl(t *testing.T) {
	for short, change := range map[string]func(*recipe.Recipe){
		"applied":  func(*recipe.Recipe) {},
		"unpinned": func(r *recipe.Recipe) { r.Install.Version, r.Install.PreInstall = "latest", []string{"make"} },
	} {
		name := installed.name(short)
		r := recipe.Recipe{
			SchemaVersion: 2, ID: name, Name: "Applied", Description: "Applied by kubectl.", Repository: "https://example.com/applied", RecipeVersion: "1.0.0",
			Transports: []recipe.Transport{{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/applied"}}},
			Install:    &recipe.Install{Method: "npx", Package: "@example/applied", Version: "1.2.3"},
		}
		change(&r)
		o := &v1alpha1.CatalogRecipe{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CatalogRecipe"}}
		o.Name, o.Spec.Recipe = name, &v1alpha1.Recipe{Recipe: r}
		t.Cleanup(func() { forgetCatalog(t, &v1alpha1.CatalogRecipe{}, name) })
		if out, err := installed.runKubectl(t.Context(), fileOf(t, o), "apply", "--namespace="+systemNamespace, "-f", "-"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	good, bad := installed.name("applied"), installed.name("unpinned")
	awaitRead(t, "/recipes/"+good, mentions("Applied by kubectl."))
	message := awaitVerdict(t, bad, metav1.ConditionFalse, v1alpha1.ReasonRecipeInvalid)
	for _, field := range []string{"install.version", "install.preInstall"} {
		if !strings.Contains(message, field) {
			t.Errorf("%s is not named: %s", field, message)
		}
	}
	newCurl("").must(t, http.StatusNotFound, http.MethodGet, "/recipes/"+bad, "")
	if table := mustKubectl(t, "get", "recipes", good, bad, "--namespace="+systemNamespace); !regexp.MustCompile(`(?s)True.*False`).MatchString(table) {
		t.Errorf("kubectl get recipes: %s", table)
	}
	// Nobody else may take the name by publishing it.
	p := newPublisher(t, "late")
	if a := p.must(t, http.StatusConflict, http.MethodPost, "/recipes", fileOf(t, remote(good, left, "2.0.0"))); a.code() != "name_taken" {
		t.Errorf("code %q", a.code())
	}
}

// awaitVerdict waits until the operator says this of a recipe.
func awaitVerdict(t *testing.T, name string, status metav1.ConditionStatus, reason string) (message string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "recipe "+name+" is "+reason, func(ctx context.Context) error {
		o := &v1alpha1.CatalogRecipe{}
		if err := installed.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: name}, o); err != nil {
			return err
		}
		c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeAccepted)
		if c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("conditions are %s", describe(o.Status.Conditions))
		}
		message = c.Message
		return nil
	})
	return message
}

// catalogIsSeeded seeds again over what is seeded already, with an overlay above
// one of the recipes.
func catalogIsSeeded(t *testing.T) {
	const name = "airtable"
	boss := admin(t)
	t.Cleanup(func() {
		_, _ = send(context.WithoutCancel(t.Context()), boss.client, installed.url+"/admin/recipes/"+name+"/quality", boss.key, request{method: http.MethodDelete})
	})
	boss.must(t, http.StatusCreated, http.MethodPut, "/admin/recipes/"+name+"/quality", `{"verified":true,"score":77}`)
	theManagersAre(t, name, v1alpha1.FieldOwnerSeeder, v1alpha1.FieldOwnerAdmin)
	awaitRead(t, "/recipes/"+name, mentions(`"score":77`))
	before := seededVersions(t)
	for _, query := range []string{"?dryRun=All", "", ""} {
		var report struct {
			Counts map[string]int
			Broken []any
		}
		boss.must(t, http.StatusOK, http.MethodPost, "/admin/seed"+query, "").into(t, &report)
		if report.Counts["none"] != len(before) || report.Counts["create"]+report.Counts["update"]+report.Counts["deprecate"] != 0 || len(report.Broken) > 0 {
			t.Errorf("seeded again: %+v, want no change of %d", report, len(before))
		}
	}
	after := seededVersions(t)
	for recipe, version := range before {
		if after[recipe] != version {
			t.Errorf("%s was written: %s, before %s", recipe, after[recipe], version)
		}
	}
	awaitRead(t, "/recipes/"+name, mentions(`"score":77`))
}

// seededVersions returns the resourceVersions of the recipes that the seeder owns.
func seededVersions(t *testing.T) map[string]string {
	t.Helper()
	var list v1alpha1.CatalogRecipeList
	must.Succeed(t, installed.client.List(t.Context(), &list, client.InNamespace(systemNamespace)))
	versions := map[string]string{}
	for _, o := range list.Items {
		if o.Spec.Owner == catalog.SeedOwner {
			versions[o.Name] = o.ResourceVersion
		}
	}
	if len(versions) != len(seededRecipes(t)) {
		t.Errorf("the seeder owns %d recipes, want %d", len(versions), len(seededRecipes(t)))
	}
	return versions
}

// catalogOnALaptop installs a signed recipe with the bridge's program.
func catalogOnALaptop(t *testing.T) {
	p, name := newPublisher(t, "signer"), installed.name("signed")
	p.mustPublish(t, name, p.signed(t, remote(name, left, "1.0.0")))
	home := t.TempDir()
	program := filepath.Join(home, "bridge")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/bridge").CombinedOutput(); err != nil {
		t.Fatalf("build the bridge: %v: %s", err, out)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, append(args, "--catalog", installed.url)...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// The installation's own recipes need no key and no flag.
	if out, err := run("search", "aws", "documentation"); err != nil || !strings.Contains(out, "\naws-knowledge ") {
		t.Errorf("search: %v: %s", err, out)
	}
	if out, err := run("add", "aws-knowledge"); err != nil || !strings.Contains(out, "added aws-knowledge") || !strings.Contains(out, "from now on") {
		t.Errorf("add a recipe of the seed: %v: %s", err, out)
	}
	// A replica may not have the recipe yet, which is no reason for another verdict.
	add := func(key string) (string, error) { return run("add", name, "--key", key) }
	awaitRead(t, "/api/recipes/"+name+"/download", mentions(p.id))
	stranger := newPublisher(t, "stranger")
	if out, err := add(stranger.publicKey()); err == nil || !strings.Contains(out, "signature") {
		t.Errorf("with another publisher's key: %v: %s", err, out)
	}
	if out, err := add(p.publicKey()); err != nil || !strings.Contains(out, "added "+name) {
		t.Fatalf("with the publisher's key: %v: %s", err, out)
	}
	config, err := os.ReadFile(filepath.Join(home, ".config", "hosted-bridge", "config.json"))
	if err != nil || !bytes.Contains(config, []byte(left.server().Transport.URL)) || !bytes.Contains(config, []byte("${"+left.secret+"}")) {
		t.Errorf("the configuration: %v: %s", err, config)
	}
}

// catalogIsDescribed finds each route that the tests used in the description.
func catalogIsDescribed(t *testing.T) {
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]json.RawMessage
	}
	newCurl("").must(t, http.StatusOK, http.MethodGet, "/openapi.json", "").into(t, &document)
	if !strings.HasPrefix(document.OpenAPI, "3.1") {
		t.Errorf("the version is %q", document.OpenAPI)
	}
	part := regexp.MustCompile(`\\\{[^}]*\\\}`)
	n := 0
	used.Range(func(key, _ any) bool {
		method, path, _ := strings.Cut(key.(string), " ")
		for template, methods := range document.Paths {
			form := regexp.MustCompile("^" + part.ReplaceAllString(regexp.QuoteMeta(template), "[^/]+") + "$")
			if _, has := methods[strings.ToLower(method)]; has && form.MatchString(path) {
				n++
				return true
			}
		}
		if !slices.Contains(undescribed, method) && !strings.HasSuffix(path, "/colour") && key != "PUT /recipes" && key != "GET /admin/seed" {
			t.Errorf("%s is not described", key)
		}
		return true
	})
	if n < 30 {
		t.Error(errors.New("hardly any route was used"), n)
	}
}

// undescribed are methods of which the description need not speak.
var undescribed = []string{http.MethodHead, http.MethodPatch}
