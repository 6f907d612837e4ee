// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/scim"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const directoryIssuer = "https://acme.okta.com"

// directoryOf is a directory that calls an ingress.
type directoryOf struct {
	*installation

	token, trail string
}

// scimAnswer is the answer to a directory, with the members that tests look at.
type scimAnswer struct {
	status int
	header http.Header
	body   string

	ID, UserName, SCIMType, Detail string
	Active                         bool
	TotalResults                   int
	Members                        []struct{ Value string }
}

func newToken(t *testing.T) (token, hash string) {
	t.Helper()
	token, _ = must.Values(apikey.Mint(rand.Reader, apikey.KindDirectory))(t)
	return token, apikey.HashOf(token).String()
}

// startDirectory starts an ingress with a directory.
func startDirectory(t *testing.T, more string) directoryOf {
	t.Helper()
	token, hash := newToken(t)
	dir := t.TempDir()
	file, trail := filepath.Join(dir, "scim.yaml"), filepath.Join(dir, "trail")
	if err := os.WriteFile(file, fmt.Appendf(nil, "directories: [{name: okta, issuer: %q, tokenHashes: [%q]%s}]\n", directoryIssuer, hash, more), 0o600); err != nil {
		t.Fatal(err)
	}
	i := startAt(t, testenv.Client(t), testenv.Kubeconfig(t), 8443, "--scim-config="+file, "--audit-file="+trail, "--base-url=https://bridge.example.com/")
	i.publishCA()
	i.await("readiness", i.ready)
	return directoryOf{i, token, trail}
}

// ask sends a request of the directory.
func (d directoryOf) ask(method, path, body string, header ...string) scimAnswer {
	d.t.Helper()
	r := must.Value(http.NewRequestWithContext(d.t.Context(), method, "http://"+d.public+path, strings.NewReader(body)))(d.t)
	r.Header.Set("Authorization", "Bearer "+d.token)
	if body != "" {
		r.Header.Set("Content-Type", scim.ContentType)
	}
	for j := 0; j < len(header); j += 2 {
		r.Header.Set(header[j], header[j+1])
	}
	res, err := http.DefaultClient.Do(r) //nolint:forbidigo // A test's client.
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	read := must.Value(io.ReadAll(res.Body))(d.t)
	a := scimAnswer{status: res.StatusCode, header: res.Header, body: string(read)}
	if len(read) > 0 {
		if err := json.Unmarshal(read, &a); err != nil || res.Header.Get("Content-Type") != scim.ContentType {
			d.t.Fatalf("%s %s: %s of type %s: %v", method, path, read, res.Header.Get("Content-Type"), err)
		}
	}
	return a
}

// must is ask with the status that is expected.
func (d directoryOf) must(status int, method, path, body string, header ...string) scimAnswer {
	d.t.Helper()
	a := d.ask(method, path, body, header...)
	if a.status != status {
		d.t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.body, status)
	}
	return a
}

// sent returns a body that a directory documents.
func sent(t *testing.T, name string) string {
	t.Helper()
	return string(must.Value(os.ReadFile("../../internal/scim/testdata/" + name + ".json"))(t))
}

// person reads the BridgePerson of a user.
func (d directoryOf) person(externalID string) *v1alpha1.BridgePerson {
	d.t.Helper()
	p := &v1alpha1.BridgePerson{}
	name := access.DirectoryName(oauth.KeyOf(directoryIssuer, externalID))
	must.Succeed(d.t, d.client.Get(d.t.Context(), client.ObjectKey{Namespace: d.options.Namespace, Name: name}, p))
	return p
}

// acts returns the acts of directories that are in the audit trail.
func (d directoryOf) acts() []string {
	d.t.Helper()
	content := must.Value(os.ReadFile(d.trail))(d.t)
	if secret := d.token[len(d.token)-28:]; strings.Contains(string(content), secret) || strings.Contains(d.log.String(), secret) {
		d.t.Error("the audit trail or the log has the token")
	}
	var acts []string
	for line := range strings.Lines(string(content)) {
		var e audit.Entry
		must.Succeed(d.t, json.Unmarshal([]byte(line), &e))
		if method, ok := strings.CutPrefix(e.Method, audit.SCIMPrefix); ok {
			if e.Principal.Kind != audit.KindSCIMToken || !strings.HasPrefix(e.Principal.ID, "okta/") || e.Principal.Issuer != directoryIssuer {
				d.t.Errorf("the principal is %+v", e.Principal)
			}
			acts = append(acts, method)
		}
	}
	return acts
}

// TestADirectoryProvisionsPeople is the whole way of a person and a group.
func TestADirectoryProvisionsPeople(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, "")
	const externalID = "00ujl29u0le5T6Aj10h7"
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: d.namespace},
		Spec:       v1alpha1.HostedBridgeSpec{OAuth: &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: directoryIssuer, Subject: externalID}}}},
	}
	testenv.ExpectApplied(t, d.client, b)

	const filter = `/scim/v2/Users?filter=userName%20eq%20%22test.user@okta.local%22&startIndex=1&count=100`
	if got := d.must(http.StatusOK, "GET", filter, ""); got.TotalResults != 0 {
		t.Errorf("before: %s", got.body)
	}
	made := d.must(http.StatusCreated, "POST", "/scim/v2/Users", sent(t, "okta/create-user"))
	if want := "https://bridge.example.com/scim/v2/Users/" + made.ID; made.header.Get("Location") != want || made.header.Get("ETag") == "" || !made.Active {
		t.Errorf("created at %q, want %q", made.header.Get("Location"), want)
	}
	if got := d.must(http.StatusConflict, "POST", "/scim/v2/Users", sent(t, "okta/create-user")); got.SCIMType != "uniqueness" {
		t.Errorf("twice: %s", got.body)
	}
	d.await("the user is found", func() bool { return d.must(http.StatusOK, "GET", filter, "").TotalResults == 1 })
	one := "/scim/v2/Users/" + made.ID
	put := strings.ReplaceAll(sent(t, "okta/put-user"), "d-aaaaaaaaaaaaaaaaaaaaaaaaaa-1", made.ID)
	d.must(http.StatusPreconditionFailed, "PUT", one, put, "If-Match", `W/"x"`)
	d.must(http.StatusOK, "PUT", one, put, "If-Match", made.header.Get("ETag"))
	read := d.must(http.StatusOK, "GET", one+"?attributes=userName", "")
	if read.UserName != "test.user@okta.local" || strings.Contains(read.body, "Another") {
		t.Errorf("read: %s", read.body)
	}
	d.must(http.StatusNotModified, "GET", one, "", "If-None-Match", read.header.Get("ETag"))

	group := d.must(http.StatusCreated, "POST", "/scim/v2/Groups", sent(t, "okta/create-group"))
	members := "/scim/v2/Groups/" + group.ID
	d.must(http.StatusNoContent, "PATCH", members, `{"Operations":[{"op":"Add","path":"members","value":[{"value":"`+made.ID+`"}]}]}`)
	if got := d.must(http.StatusOK, "GET", members, ""); len(got.Members) != 1 || got.Members[0].Value != made.ID {
		t.Errorf("the group: %s", got.body)
	}
	d.must(http.StatusOK, "PATCH", one, sent(t, "okta/deactivate-user"))
	d.must(http.StatusOK, "PATCH", one, sent(t, "okta/deactivate-user"))
	if a := d.person(externalID).Spec.Access; a != v1alpha1.AccessOffboarded {
		t.Errorf("the access is %s", a)
	}
	d.await("the logins end", func() bool { return d.person(externalID).Status.LoginsEndedTime != nil })
	d.must(http.StatusNoContent, "DELETE", members, "")
	d.must(http.StatusNotFound, "DELETE", members, "")
	d.must(http.StatusNoContent, "DELETE", one, "")
	d.must(http.StatusNotFound, "GET", one, "")
	if again := d.must(http.StatusCreated, "POST", "/scim/v2/Users", sent(t, "okta/create-user")); again.ID == made.ID {
		t.Error("a user who is created again has the id of the deleted one")
	}
	want := []string{"users.create", "users.update", "groups.create", "groups.update", "groups.members.add", "users.deactivate", "groups.delete", "users.delete", "users.create"}
	if got := d.acts(); !slices.Equal(got, want) {
		t.Errorf("the acts are %q, want %q", got, want)
	}
}

// TestOktasSuiteOfTheSpecificationPasses asks and judges what the suite does that Okta has every
// integration pass: 16 assertions.
func TestOktasSuiteOfTheSpecificationPasses(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, "")
	type resource struct {
		Schemas             []string
		ID, UserName        string
		Name                struct{ GivenName, FamilyName string }
		Emails              []struct{ Value string }
		Active              bool
		Detail              string
		TotalResults        int
		ItemsPerPage, Start int
		Resources           []json.RawMessage
	}
	read := func(text string) (r resource) { must.Succeed(t, json.Unmarshal([]byte(text), &r)); return r }
	check := func(what string, ok bool, body string) {
		t.Helper()
		if !ok {
			t.Errorf("%s: %s", what, body)
		}
	}
	isPerson := func(r resource, userName string) bool {
		return r.ID != "" && r.UserName == userName && r.Name.GivenName == "Runa" && r.Name.FamilyName == "Scope" && len(r.Emails) == 1 && r.Emails[0].Value == userName && r.Active
	}
	const body = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"%[1]s","name":{"givenName":"Runa","familyName":"Scope"},"emails":[{"primary":true,"value":"%[1]s","type":"work"}],"displayName":"Runa Scope","active":true}`
	d.must(http.StatusCreated, "POST", "/scim/v2/Users", fmt.Sprintf(body, "first@example.com"))
	d.await("the first user is known", func() bool {
		return d.must(http.StatusOK, "GET", "/scim/v2/Users?count=1&startIndex=1", "").TotalResults == 1
	})

	list := d.must(http.StatusOK, "GET", "/scim/v2/Users?count=1&startIndex=1", "")
	page := read(list.body)
	check("a page of users", page.ItemsPerPage == 1 && page.TotalResults == 1 && slices.Contains(page.Schemas, "urn:ietf:params:scim:api:messages:2.0:ListResponse"), list.body)
	first := read(string(page.Resources[0]))
	check("its user", isPerson(first, "first@example.com"), list.body)
	one := d.must(http.StatusOK, "GET", "/scim/v2/Users/"+first.ID, "")
	check("one user", isPerson(read(one.body), "first@example.com"), one.body)
	none := d.must(http.StatusOK, "GET", "/scim/v2/Users?filter=userName%20eq%20%22nobody@example.com%22", "")
	check("no user", read(none.body).TotalResults == 0, none.body)
	missing := d.must(http.StatusNotFound, "GET", "/scim/v2/Users/010101001010101011001010101011", "")
	check("an id of no user", missing.Detail != "" && strings.Contains(missing.body, "api:messages:2.0:Error"), missing.body)

	made := d.must(http.StatusCreated, "POST", "/scim/v2/Users", fmt.Sprintf(body, "second@example.com"))
	check("a new user", isPerson(read(made.body), "second@example.com"), made.body)
	again := d.must(http.StatusOK, "GET", "/scim/v2/Users/"+made.ID, "")
	check("the new user", isPerson(read(again.body), "second@example.com"), again.body)
	d.await("the new user is known", func() bool {
		return d.must(http.StatusOK, "GET", "/scim/v2/Users?filter=userName%20eq%20%22SECOND@EXAMPLE.COM%22", "").TotalResults == 1
	})
	d.must(http.StatusConflict, "POST", "/scim/v2/Users", fmt.Sprintf(body, "second@example.com"))
	d.must(http.StatusOK, "GET", "/scim/v2/Groups", "")

	// The suite goes no further: no login is theirs, and nothing of a profile outlives them.
	if got := d.must(http.StatusBadRequest, "PATCH", "/scim/v2/Users/"+made.ID, `{"Operations":[{"op":"add","path":"externalId","value":"x"}]}`); got.SCIMType != "mutability" {
		t.Errorf("an externalId that comes later: %s", got.body)
	}
	d.must(http.StatusNoContent, "DELETE", "/scim/v2/Users/"+made.ID, "")
	var persons v1alpha1.BridgePersonList
	must.Succeed(t, d.client.List(t.Context(), &persons, client.InNamespace(d.options.Namespace)))
	for _, p := range persons.Items {
		if !strings.HasPrefix(p.Spec.Subject, scim.NoExternalID) || p.Spec.Directory.Deleted == (p.Spec.Directory.Profile != "") {
			t.Errorf("the person is %+v of %+v", p.Spec, p.Spec.Directory)
		}
	}
	if revived := d.must(http.StatusCreated, "POST", "/scim/v2/Users", fmt.Sprintf(body, "second@example.com")); revived.ID == made.ID {
		t.Error("a user who is created again has the id of the deleted one")
	}
}

// TestADirectoryFindsPeopleByItsOwnFilters has filters of Okta, Microsoft Entra and RFC 7644, by
// query and by search.
func TestADirectoryFindsPeopleByItsOwnFilters(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, "")
	anna := d.must(http.StatusCreated, "POST", "/scim/v2/Users/", `{"userName":"anna","externalId":"anna","emails":[{"type":"work","value":"anna@b.example"}],"name":{"familyName":"B"}}`)
	d.must(http.StatusCreated, "POST", "/scim/v2/Users", `{"userName":"bert","externalId":"bert","active":"False"}`)
	d.await("both are known", func() bool { return d.must(http.StatusOK, "GET", "/scim/v2/Users/", "").TotalResults == 2 })
	for filter, want := range map[string]int{
		`(userName eq "ANNA")`:                             1,
		`userName eq "anna" or userName eq "bert"`:         2,
		`not (active eq "true")`:                           1,
		`emails[type eq "work"].value eq "ANNA@b.example"`: 1,
		`name.familyName sw "b" and (externalId co "n")`:   1,
		`externalId eq "anna" and active eq false`:         0,
		`id eq "` + anna.ID + `" and manager eq "x"`:       0,
		`id eq "` + anna.ID + `" or externalId eq "bert"`:  2,
	} {
		if got := d.must(http.StatusOK, "GET", "/scim/v2/Users?filter="+url.QueryEscape(filter), ""); got.TotalResults != want {
			t.Errorf("%s: %s", filter, got.body)
		}
		body := string(must.Value(json.Marshal(map[string]any{"filter": filter, "count": 1, "attributes": []string{"userName", "emails"}}))(t))
		if got := d.must(http.StatusOK, "POST", "/scim/v2/Users/.search", body); got.TotalResults != want || strings.Contains(got.body, "externalId") {
			t.Errorf("search %s: %s", filter, got.body)
		}
	}
	group := d.must(http.StatusCreated, "POST", "/scim/v2/Groups", `{"displayName":"team","members":[{"value":"`+anna.ID+`"}]}`)
	d.await("the group is found", func() bool {
		got := d.must(http.StatusOK, "POST", "/scim/v2/Groups/.search", `{"filter":"members[value eq \"`+anna.ID+`\"]"}`)
		return got.TotalResults == 1 && strings.Contains(got.body, group.ID)
	})
}

// TestADirectoryTakesAccessAwayWhateverElseItSends also has what the store alone knows: a name
// that another user has, and a member who was deleted.
func TestADirectoryTakesAccessAwayWhateverElseItSends(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, "")
	anna := d.must(http.StatusCreated, "POST", "/scim/v2/Users", `{"userName":"anna","externalId":"anna"}`)
	bert := d.must(http.StatusCreated, "POST", "/scim/v2/Users", `{"userName":"bert","externalId":"bert"}`)
	d.await("both are known", func() bool { return d.must(http.StatusOK, "GET", "/scim/v2/Users", "").TotalResults == 2 })
	body := `{"Operations":[{"op":"Replace","path":"active","value":"False"},{"op":"Add","path":"urn:ietf:params:scim:schemas:extension:CustomExtensionName:2.0:User:tag","value":"1"},` +
		`{"op":"replace","value":{"userName":"bert","displayName":"Anna ","externalId":"other"}}]}`
	for range 2 { // The directory sends it again.
		if got := d.must(http.StatusOK, "PATCH", "/scim/v2/Users/"+anna.ID, body); got.Active || got.UserName != "anna" {
			t.Errorf("the answer is %s", got.body)
		}
	}
	if p := d.person("anna"); p.Spec.Access != v1alpha1.AccessOffboarded {
		t.Errorf("the access is %s", p.Spec.Access)
	}
	if got := d.log.String(); !strings.Contains(got, "had no effect") || strings.Contains(got, "CustomExtensionName") {
		t.Errorf("the log is %s", got)
	}
	group := d.must(http.StatusCreated, "POST", "/scim/v2/Groups", `{"displayName":"team"}`)
	d.must(http.StatusNoContent, "DELETE", "/scim/v2/Users/"+anna.ID, "")
	d.await("one is known", func() bool { return d.must(http.StatusOK, "GET", "/scim/v2/Users", "").TotalResults == 1 })
	add := `{"Operations":[{"op":"Add","path":"members","value":[{"value":"` + anna.ID + `"},{"value":"` + group.ID + `","type":"Group"},{"value":"00u1"},{"$ref":"../Users/` + bert.ID + `"}]}]}`
	d.must(http.StatusNoContent, "PATCH", "/scim/v2/Groups/"+group.ID, add)
	got := d.must(http.StatusOK, "GET", "/scim/v2/Groups/"+group.ID, "")
	if !slices.ContainsFunc(got.Members, func(m struct{ Value string }) bool { return m.Value == bert.ID }) {
		t.Errorf("the group is %s", got.body)
	}
	want := []string{"users.create", "users.create", "users.deactivate", "groups.create", "users.delete", "groups.update", "groups.members.add"}
	if acts := d.acts(); !slices.Equal(acts, want) {
		t.Errorf("the acts are %q, want %q", acts, want)
	}
}

func TestADirectoryIsTriedOutWithoutEffect(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, ", dryRun: true")
	made := d.must(http.StatusCreated, "POST", "/scim/v2/Users", `{"userName":"anna","externalId":"anna"}`)
	if got := d.must(http.StatusOK, "PATCH", "/scim/v2/Users/"+made.ID, sent(t, "entra/disable-user")); got.Active {
		t.Errorf("the directory is told: %s", got.body)
	}
	if p := d.person("anna"); p.Spec.Access != v1alpha1.AccessAllowed || p.Spec.Directory.Active || !p.Spec.Directory.DryRun {
		t.Errorf("the person is %+v", p.Spec)
	}
	if got, want := d.acts(), []string{"users.create.preview", "users.deactivate.preview"}; !slices.Equal(got, want) {
		t.Errorf("the acts are %q, want %q", got, want)
	}
}

func TestWhatADirectoryMayNotAsk(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, "")
	other, _ := newToken(t)
	key, _ := must.Values(apikey.Mint(rand.Reader, apikey.KindUser))(t)
	for name, test := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		scimType           string
	}{
		"another token":             {"GET", "/scim/v2/Users", "", []string{"Authorization", "Bearer " + other}, 401, ""},
		"a user's key":              {"GET", "/scim/v2/Users", "", []string{"Authorization", "Bearer " + key}, 401, ""},
		"no token":                  {"GET", "/scim/v2/ServiceProviderConfig", "", []string{"Authorization", ""}, 401, ""},
		"another path":              {"GET", "/scim/v2/Devices", "", nil, 404, ""},
		"bulk requests":             {"POST", "/scim/v2/Bulk", `{"Operations":[]}`, nil, 501, ""},
		"the user of the token":     {"GET", "/scim/v2/Me", "", nil, 501, ""},
		"another method":            {"POST", "/scim/v2/Schemas", "{}", nil, 405, ""},
		"a user that there is not":  {"GET", "/scim/v2/Users/d-aaaaaaaaaaaaaaaaaaaaaaaaaa-1", "", nil, 404, ""},
		"an id of another form":     {"PATCH", "/scim/v2/Users/anna", `{"Operations":[{"op":"add","path":"active","value":true}]}`, nil, 404, ""},
		"a group that there is not": {"PUT", "/scim/v2/Groups/x", `{"displayName":"x"}`, nil, 404, ""},
		"no userName":               {"POST", "/scim/v2/Users", `{"externalId":"a"}`, nil, 400, "invalidValue"},
		"another filter":            {"GET", "/scim/v2/Users?filter=userName%20gt%20%22a%22", "", nil, 400, "invalidFilter"},
		"a query with two readings": {"GET", "/scim/v2/Users?filter=a;count=1", "", nil, 400, ""},
		"another type of body":      {"POST", "/scim/v2/Users", "{}", []string{"Content-Type", "text/plain"}, 415, ""},
		"no body":                   {"POST", "/scim/v2/Users", "", nil, 400, "invalidSyntax"},
		"a body of 5 MiB":           {"POST", "/scim/v2/Groups", `{"displayName":"` + strings.Repeat("a", 5<<20) + `"}`, nil, 413, ""},
		"another site's page":       {"GET", "/scim/v2/Users", "", []string{"Origin", "https://evil.example"}, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.ask(test.method, test.path, test.body, test.header...)
			if got.status != test.status || got.SCIMType != test.scimType || got.Detail == "" {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	for _, path := range []string{"ServiceProviderConfig", "ResourceTypes", "ResourceTypes/User", "Schemas", "Schemas/urn:ietf:params:scim:schemas:core:2.0:Group"} {
		d.must(http.StatusOK, "GET", "/scim/v2/"+path, "")
	}
	// The token is good for SCIM alone.
	for _, path := range []string{"/admin/publishers", "/u/anna/health", "/mcp"} {
		if status, _ := d.send("GET", path, d.token, ""); status == http.StatusOK {
			t.Errorf("%s answers to the token of a directory", path)
		}
	}
}

func TestADirectoryIsHeldToARate(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, "")
	var last scimAnswer
	for range 2000 {
		if last = d.ask("GET", "/scim/v2/ResourceTypes", ""); last.status != http.StatusOK {
			break
		}
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("after many requests: %d %s", last.status, last.body)
	}
	wrong, _ := newToken(t)
	for range 200 {
		if last = d.ask("GET", "/scim/v2/Users", "", "Authorization", "Bearer "+wrong); last.status != http.StatusUnauthorized {
			break
		}
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("after many wrong tokens: %d %s", last.status, last.body)
	}
}
