// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// step is a request of a directory and its answer. {name} stands for the id of what the step of
// that name has created.
type step struct {
	what, method, path, body string
	status                   int
	// want is a part of the answer. Lists have as many items as in want.
	want string
	// without are texts that the answer does not have.
	without []string
	// creates names what the step creates.
	creates string
}

const (
	enterpriseURN = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	usersPath     = "/scim/v2/Users"
	groupsPath    = "/scim/v2/Groups"
)

// filtered returns the path of a list with a filter, in which {name} stays.
func filtered(path, filter string) string {
	return path + "?filter=" + strings.NewReplacer("%7B", "{", "%7D", "}").Replace(url.QueryEscape(filter))
}

// patched returns a body with operations.
func patched(operations string) string {
	return `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[` + operations + `]}`
}

// run sends the steps in order. Reads are repeated until they have seen the writes.
func (d directoryOf) run(steps []step) {
	d.t.Helper()
	ids := []string{}
	for _, s := range steps {
		fill := strings.NewReplacer(ids...)
		ask := func() (scimAnswer, error) {
			a := d.ask(s.method, fill.Replace(s.path), fill.Replace(s.body))
			return a, s.judge(a, fill.Replace(s.want))
		}
		if s.method == "GET" {
			wait.NoError(d.t, wait.Limit, s.what, func(context.Context) error { _, err := ask(); return err })
			continue
		}
		a, err := ask()
		if err != nil {
			d.t.Errorf("%s: %v", s.what, err)
		}
		if s.creates != "" {
			ids = append(ids, "{"+s.creates+"}", a.ID)
		}
	}
}

// judge returns what is wrong with an answer.
func (s step) judge(a scimAnswer, want string) error {
	if a.status != s.status {
		return fmt.Errorf("%d %s, want %d", a.status, a.body, s.status)
	}
	for _, text := range s.without {
		if strings.Contains(a.body, text) {
			return fmt.Errorf("the answer has %s: %s", text, a.body)
		}
	}
	if want == "" {
		return nil
	}
	var got, wanted any
	if err := errors.Join(json.Unmarshal([]byte(a.body), &got), json.Unmarshal([]byte(want), &wanted)); err != nil {
		return err
	}
	if !hasPart(got, wanted) {
		return fmt.Errorf("the answer is %s, want %s in it", a.body, want)
	}
	return nil
}

// hasPart reports whether a value of JSON has all that another one has.
func hasPart(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name, value := range want {
			ok = ok && hasPart(object[name], value)
		}
		return ok
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			ok = ok && hasPart(list[i], want[i])
		}
		return ok
	}
	return reflect.DeepEqual(got, want)
}

// TestEntrasValidatorPasses has the requests of Microsoft Entra's validator, of its guide and of its
// reference code for users and groups, in our words.
func TestEntrasValidatorPasses(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, "")
	d.run(documentsOfEntra)
	d.run(usersOfEntra)
	d.run(groupsOfEntra)
}

var documentsOfEntra = []step{
	{what: "no user yet", method: "GET", path: usersPath, status: 200, want: `{"totalResults":0,"itemsPerPage":0,"startIndex":1,"Resources":[]}`},
	{what: "no group yet", method: "GET", path: groupsPath, status: 200, want: `{"totalResults":0,"Resources":[]}`},
	{what: "what is served", method: "GET", path: "/scim/v2/ServiceProviderConfig", status: 200, want: `{"patch":{"supported":true},"bulk":{"supported":false},"filter":{"supported":true},"etag":{"supported":true}}`},
	{what: "types", method: "GET", path: "/scim/v2/ResourceTypes", status: 200, want: `{"totalResults":2,"Resources":[{"id":"User","endpoint":"/Users"},{"id":"Group","endpoint":"/Groups"}]}`},
	{what: "schemas, without the part of an address that the validator does not know", method: "GET", path: "/scim/v2/Schemas", status: 200,
		want: `{"totalResults":2,"Resources":[{"name":"User"},{"name":"Group"}]}`, without: []string{`"name":"display"`}},
	{what: "one schema", method: "GET", path: "/scim/v2/Schemas/urn:ietf:params:scim:schemas:core:2.0:Group", status: 200, want: `{"name":"Group"}`},
	{what: "a schema that there is not", method: "GET", path: "/scim/v2/Schemas/" + enterpriseURN, status: 404},
	{what: "a filter of schemas", method: "GET", path: filtered("/scim/v2/Schemas", `name eq "User"`), status: 403, want: `{"status":"403"}`},
	{what: "a filter of types", method: "GET", path: filtered("/scim/v2/ResourceTypes", `name eq "User"`), status: 403},
}

const (
	kimsBody = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User","` + enterpriseURN + `"],"externalId":"oid-kim","userName":"kim@example.com","active":true,` +
		`"displayName":"Kim Example","name":{"formatted":"Kim Example","familyName":"Example","givenName":"Kim"},"roles":[],"meta":{"resourceType":"User"},` +
		`"emails":[{"Primary":true,"type":"work","value":"kim@work.example"},{"Primary":false,"type":"home","value":"kim@home.example"}],` +
		`"addresses":[{"country":null,"locality":"Utrecht","type":"work","primary":false}],"phoneNumbers":[{"type":"mobile","value":"1"}],` +
		`"` + enterpriseURN + `":{"Department":"Tests","Manager":{"Value":"oid-lee"}}}`
	kim = usersPath + "/{kim}"
)

var usersOfEntra = []step{
	{what: "a new user", method: "POST", path: usersPath, body: kimsBody, status: 201, creates: "kim", want: `{"externalId":"oid-kim","userName":"kim@example.com","displayName":"Kim Example",` +
		`"active":true,"name":{"familyName":"Example","givenName":"Kim"},"emails":[{"primary":true,"type":"work"},{"type":"home"}],"meta":{"resourceType":"User"}}`},
	{what: "the same user", method: "POST", path: usersPath, body: kimsBody, status: 409, want: `{"status":"409","scimType":"uniqueness"}`},
	{what: "a user whose active is a text", method: "POST", path: usersPath, body: `{"userName":"lee@example.com","externalId":"oid-lee","active":"True"}`, status: 201, creates: "lee", want: `{"active":true}`},
	{what: "a user without a name", method: "POST", path: usersPath, body: `{"externalId":"oid-x","active":true}`, status: 400, want: `{"scimType":"invalidValue"}`},
	{what: "a body that is no JSON", method: "POST", path: usersPath, body: `{"userName":"x","active":tre}`, status: 400, want: `{"scimType":"invalidSyntax"}`},
	{what: "a user by id", method: "GET", path: kim, status: 200, want: `{"id":"{kim}","externalId":"oid-kim","active":true}`},
	{what: "a user by name", method: "GET", path: filtered(usersPath, `userName eq "kim@example.com"`), status: 200, want: `{"totalResults":1,"Resources":[{"id":"{kim}"}]}`},
	{what: "a user by name in another case", method: "GET", path: filtered(usersPath, `userName eq "KIM@Example.com"`), status: 200, want: `{"totalResults":1,"Resources":[{"id":"{kim}"}]}`},
	{what: "a user by an attribute in another case", method: "GET", path: filtered(usersPath+"/", `DisplayName eq "kim example"`), status: 200, want: `{"totalResults":1}`},
	{what: "nobody by name", method: "GET", path: filtered(usersPath, `userName eq "nobody@example.com"`), status: 200, want: `{"totalResults":0,"Resources":[]}`},
	{what: "a user by externalId", method: "GET", path: filtered(usersPath, `externalId eq "oid-kim"`), status: 200, want: `{"Resources":[{"id":"{kim}"}]}`},
	{what: "a user by address", method: "GET", path: filtered(usersPath, `emails[type eq "work"].value eq "kim@work.example"`), status: 200, want: `{"Resources":[{"id":"{kim}"}]}`},
	{what: "a user by several", method: "GET", path: filtered(usersPath, `name.FamilyName eq "Example" and (emails.Value co "work.example" or emails.Value co "x.example")`), status: 200, want: `{"totalResults":1}`},
	{what: "whether a user has a manager", method: "GET", path: filtered(usersPath, `id eq "{kim}" and manager eq "{lee}"`), status: 200, want: `{"totalResults":0}`},
	{what: "a user by id in a list", method: "GET", path: filtered(usersPath, `id eq "{kim}"`), status: 200, want: `{"totalResults":1}`},
	{what: "some attributes", method: "GET", path: usersPath + "?attributes=userName,emails", status: 200, want: `{"Resources":[{"emails":[{},{}]},{}]}`, without: []string{"displayName", "externalId"}},
	{what: "an attribute with brackets", method: "GET", path: kim + "?attributes=emails%5Btype+eq+%22work%22%5D", status: 200, want: `{"emails":[{"type":"work"},{}]}`, without: []string{"userName"}},
	{what: "all but some attributes", method: "GET", path: kim + "?excludedAttributes=emails,name", status: 200, want: `{"userName":"kim@example.com"}`, without: []string{"emails", "givenName"}},
	{what: "the first page", method: "GET", path: usersPath + "?startIndex=1&count=1", status: 200, want: `{"totalResults":2,"itemsPerPage":1,"startIndex":1}`},
	{what: "the last page", method: "GET", path: usersPath + "?startIndex=2&count=5", status: 200, want: `{"totalResults":2,"itemsPerPage":1,"startIndex":2}`},
	{what: "a page beyond the end", method: "GET", path: usersPath + "?startIndex=9&count=5", status: 200, want: `{"totalResults":2,"itemsPerPage":0,"Resources":[]}`},
	{what: "a page before the beginning", method: "GET", path: usersPath + "?startIndex=0&count=-1", status: 200, want: `{"totalResults":2,"itemsPerPage":0,"startIndex":1}`},

	{what: "another name by a path", method: "PATCH", path: kim, body: patched(`{"op":"Replace","path":"userName","value":"kim2@example.com"}`), status: 200, want: `{"userName":"kim2@example.com"}`},
	{what: "the user by the other name", method: "GET", path: filtered(usersPath, `userName eq "kim2@example.com"`), status: 200, want: `{"totalResults":1}`},
	{what: "the user by the former name", method: "GET", path: filtered(usersPath, `userName eq "kim@example.com"`), status: 200, want: `{"totalResults":0}`},
	{what: "the name of another user", method: "PATCH", path: kim, body: patched(`{"op":"Replace","path":"userName","value":"LEE@example.com"}`), status: 409, want: `{"scimType":"uniqueness"}`},
	{what: "attributes without a path", method: "PATCH", path: kim, body: patched(`{"op":"replace","value":{"displayName":"Kim Two","name.givenName":"K","emails[type eq \"work\"].value":"kim2@work.example"}}`), status: 200,
		want: `{"displayName":"Kim Two","name":{"givenName":"K","familyName":"Example"},"emails":[{"type":"work","value":"kim2@work.example"},{}]}`},
	{what: "attributes by paths", method: "PATCH", path: kim, body: patched(`{"op":"Add","path":"title","value":"Tester"},{"op":"Add","path":"name.honorificPrefix","value":"Dr."},` +
		`{"op":"Add","path":"preferredLanguage","value":"nl"},{"op":"Replace","path":"emails[type eq \"other\"].value","value":"kim@other.example"}`), status: 200,
		want: `{"title":"Tester","preferredLanguage":"nl","name":{"honorificPrefix":"Dr."},"emails":[{},{},{"type":"other","value":"kim@other.example"}]}`},
	{what: "another primary address", method: "PATCH", path: kim, body: patched(`{"op":"Replace","path":"emails[type eq \"home\"].primary","value":true}`), status: 200, want: `{"emails":[{"primary":false},{"primary":true},{}]}`},
	{what: "an address that goes", method: "PATCH", path: kim, body: patched(`{"op":"Remove","path":"emails[type eq \"other\"]"}`), status: 200, want: `{"emails":[{},{}]}`},
	{what: "an attribute that goes", method: "PATCH", path: kim, body: patched(`{"op":"Remove","path":"preferredLanguage"}`), status: 200, without: []string{"preferredLanguage"}},
	{what: "values in lists", method: "PATCH", path: kim, body: patched(`{"op":"Replace","path":"title","value":[{"$ref":null,"value":"Judge"}]},{"op":"Replace","path":"name.givenName","value":[{"$ref":null,"value":"Kim"}]}`), status: 200,
		want: `{"title":"Judge","name":{"givenName":"Kim"}}`},
	{what: "attributes that are not stored", method: "PATCH", path: kim, body: patched(`{"op":"Add","path":"` + enterpriseURN + `:department","value":"x"},{"op":"Add","path":"phoneNumbers[type eq \"work\"].value","value":"2"},` +
		`{"op":"Replace","path":"addresses[type eq \"work\"].streetAddress","value":"x"},{"op":"Add","path":"roles[primary eq \"True\"].value","value":"x"},{"op":"Add","path":"roles","value":[{"value":"{\"id\":\"1\"}"}]}`), status: 200,
		want: `{"title":"Judge"}`, without: []string{"phoneNumbers", "addresses", "roles"}},
	{what: "a manager", method: "PATCH", path: kim, body: patched(`{"op":"Add","path":"` + enterpriseURN + `:manager","value":[{"$ref":"../Users/{lee}","value":"{lee}"}]}`), status: 200},
	{what: "another manager", method: "PATCH", path: kim, body: patched(`{"op":"Replace","path":"` + enterpriseURN + `:manager","value":"{lee}"}`), status: 200},
	{what: "no manager", method: "PATCH", path: kim, body: patched(`{"op":"Remove","path":"` + enterpriseURN + `:manager"}`), status: 200},
	{what: "nothing", method: "PATCH", path: kim, body: patched(``), status: 200, want: `{"title":"Judge"}`},
	{what: "no operations", method: "PATCH", path: kim, body: `{"schemas":[]}`, status: 400, want: `{"scimType":"invalidSyntax"}`},
	{what: "another externalId", method: "PATCH", path: kim, body: patched(`{"op":"Replace","path":"externalId","value":"oid-other"}`), status: 400, want: `{"scimType":"mutability"}`},

	{what: "a user who is disabled", method: "PATCH", path: kim, body: patched(`{"op":"Replace","path":"active","value":"False"}`), status: 200, want: `{"active":false}`},
	{what: "a disabled user is found", method: "GET", path: filtered(usersPath, `userName eq "kim2@example.com"`), status: 200, want: `{"Resources":[{"id":"{kim}","active":false}]}`},
	{what: "a user who is restored", method: "PATCH", path: kim, body: patched(`{"op":"Replace","path":"active","value":true}`), status: 200, want: `{"active":true}`},
	{what: "a user who is replaced", method: "PUT", path: kim, body: `{"id":"{kim}","userName":"kim3@example.com","externalId":"oid-kim","active":"False","emails":[{"Primary":true,"type":"work","value":"kim3@work.example"}]}`, status: 200,
		want: `{"userName":"kim3@example.com","active":false,"emails":[{"value":"kim3@work.example"}]}`, without: []string{"Judge", "Kim Two"}},
	{what: "a user who is replaced without a name", method: "PUT", path: kim, body: `{"id":"{kim}","userame":"x","active":true}`, status: 400, want: `{"scimType":"invalidValue"}`},
	{what: "a user who is deleted", method: "DELETE", path: kim, status: 204},
	{what: "a user who is deleted twice", method: "DELETE", path: kim, status: 404, want: `{"status":"404"}`},
	{what: "a user that never was", method: "DELETE", path: usersPath + "/5b1f1d2e-0000-4000-8000-000000000000", status: 404},
	{what: "a deleted user by id", method: "GET", path: kim, status: 404, want: `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"]}`},
	{what: "a deleted user by name", method: "GET", path: filtered(usersPath, `userName eq "kim3@example.com"`), status: 200, want: `{"totalResults":0}`},
	{what: "a change of a deleted user", method: "PATCH", path: kim, body: patched(`{"op":"Replace","path":"active","value":true}`), status: 404},
}

const team = groupsPath + "/{team}"

var groupsOfEntra = []step{
	{what: "a member", method: "POST", path: usersPath, body: `{"userName":"mia@example.com","externalId":"oid-mia"}`, status: 201, creates: "mia"},
	{what: "another member", method: "POST", path: usersPath, body: `{"userName":"noa@example.com","externalId":"oid-noa"}`, status: 201, creates: "noa"},
	{what: "a new group", method: "POST", path: groupsPath, body: `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"externalId":"oid-team","displayName":"Testers","members":[]}`, status: 201, creates: "team",
		want: `{"externalId":"oid-team","displayName":"Testers","members":[],"meta":{"resourceType":"Group"}}`},
	{what: "the same group", method: "POST", path: groupsPath, body: `{"externalId":"oid-team","displayName":"testers"}`, status: 409, want: `{"scimType":"uniqueness"}`},
	{what: "a group with a member", method: "POST", path: groupsPath, body: `{"externalId":"oid-full","displayName":"Full","members":[{"value":"{mia}","display":"VP"}]}`, status: 201, creates: "full", want: `{"members":[{"value":"{mia}","type":"User"}]}`},
	{what: "a group without a name", method: "POST", path: groupsPath, body: `{"externalId":"oid-x"}`, status: 400, want: `{"scimType":"invalidValue"}`},
	{what: "a group by id", method: "GET", path: team, status: 200, want: `{"id":"{team}","members":[]}`},
	{what: "a group without its members", method: "GET", path: groupsPath + "/{full}?excludedAttributes=members", status: 200, want: `{"displayName":"Full"}`, without: []string{"members"}},
	{what: "a group by name", method: "GET", path: filtered(groupsPath, `displayName eq "TESTERS"`) + "&excludedAttributes=members", status: 200, want: `{"totalResults":1,"Resources":[{"id":"{team}"}]}`, without: []string{"members"}},
	{what: "a group by externalId", method: "GET", path: filtered(groupsPath, `externalId eq "oid-team"`), status: 200, want: `{"Resources":[{"id":"{team}"}]}`},
	{what: "no group", method: "GET", path: filtered(groupsPath, `displayName eq "Nobody"`), status: 200, want: `{"totalResults":0}`},

	{what: "a member comes", method: "PATCH", path: team, body: patched(`{"name":"addMember","op":"Add","path":"members","value":[{"displayName":"x","$ref":null,"value":"{mia}"}]}`), status: 204},
	{what: "the member comes again", method: "PATCH", path: team, body: patched(`{"op":"Add","path":"members","value":[{"value":"{mia}"}]}`), status: 204},
	{what: "a member who is a text", method: "PATCH", path: team, body: `{"id":"{team}",` + patched(`{"op":"add","path":"members","value":"{noa}"}`)[1:], status: 204},
	{what: "a member that there is not", method: "PATCH", path: team, body: patched(`{"op":"add","path":"members","value":"string id 1"}`), status: 204},
	{what: "whether somebody is a member", method: "GET", path: filtered(groupsPath, `id eq "{team}" and members eq "{noa}"`), status: 200, want: `{"totalResults":1}`},
	{what: "a member goes by a path", method: "PATCH", path: team, body: patched(`{"op":"Remove","path":"members[value eq \"{mia}\"]"}`), status: 204},
	{what: "a member goes twice", method: "PATCH", path: team, body: patched(`{"op":"Remove","path":"members[value eq \"{mia}\"]"}`), status: 204},
	{what: "the other member stays", method: "GET", path: team, status: 200, want: `{"members":[{"value":"{noa}"}]}`},
	{what: "a member goes by a value", method: "PATCH", path: team, body: patched(`{"op":"Remove","path":"members","value":[{"$ref":null,"value":"{noa}"}]}`), status: 204},
	{what: "nobody is left", method: "GET", path: team, status: 200, want: `{"members":[]}`},
	{what: "another name and externalId", method: "PATCH", path: team, body: patched(`{"op":"Replace","path":"displayName","value":"Judges"},{"op":"Replace","path":"externalId","value":"oid-judges"}`), status: 204},
	{what: "the other name", method: "GET", path: filtered(groupsPath, `displayName eq "judges" and externalId eq "oid-judges"`), status: 200, want: `{"Resources":[{"id":"{team}"}]}`},
	{what: "attributes without a path", method: "PATCH", path: team, body: patched(`{"op":"replace","value":{"displayName":"Umpires","externalId":"oid-umpires"}}`), status: 204},
	{what: "the name of another group", method: "PATCH", path: team, body: patched(`{"op":"Replace","path":"displayName","value":"full"}`), status: 409, want: `{"scimType":"uniqueness"}`},
	{what: "nothing", method: "PATCH", path: team, body: patched(``), status: 204},
	{what: "a group that is replaced", method: "PUT", path: team, body: `{"id":"{team}","displayName":"Referees","externalId":"oid-referees","members":[{"value":"{mia}","display":"VP"},{"value":"{noa}"}]}`, status: 200,
		want: `{"displayName":"Referees","externalId":"oid-referees","members":[{},{}]}`},
	{what: "all members go", method: "PATCH", path: team, body: patched(`{"op":"remove","path":"members"}`), status: 204},
	{what: "nobody is left again", method: "GET", path: team + "?attributes=members", status: 200, want: `{"members":[]}`, without: []string{"displayName"}},
	{what: "a group that is deleted", method: "DELETE", path: team, status: 204},
	{what: "a group that is deleted twice", method: "DELETE", path: team, status: 404},
	{what: "a deleted group", method: "GET", path: team, status: 404},
	{what: "a member who is deleted", method: "DELETE", path: usersPath + "/{mia}", status: 204},
	{what: "leaves their group", method: "GET", path: groupsPath + "/{full}", status: 200, want: `{"members":[]}`},
}

// TestRequestsOfOtherDirectoriesHaveTheirEffect has other forms in which directories say the same
// things.
func TestRequestsOfOtherDirectoriesHaveTheirEffect(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, "")
	d.run(requestsOfOthers)
}

const (
	ola     = usersPath + "/{ola}"
	crew    = groupsPath + "/{crew}"
	userURN = "urn:ietf:params:scim:schemas:core:2.0:User"
)

var requestsOfOthers = []step{
	{what: "an older schema, groups as texts and one address that is no list", method: "POST", path: usersPath + "/", body: `{"schemas":["urn:scim:schemas:core:1.0"],"externalId":"ola","userName":"ola@example.com","groups":["x"],` +
		`"emails":{"value":"ola@example.com","type":"work","primary":true},"title":null,"nickName":"","locale":"en_US"}`, status: 201, creates: "ola", want: `{"active":true,"emails":[{"value":"ola@example.com"}],"locale":"en_US"}`},
	{what: "addresses that are texts", method: "POST", path: usersPath, body: `{"externalId":"pia","userName":"pia@example.com","emails":["pia@example.com"],"active":"true"}`, status: 201, creates: "pia", want: `{"active":true}`},
	{what: "a page without a filter, sorted", method: "GET", path: usersPath + "?filter=&startIndex=1&count=2&sortBy=userName&sortOrder=ascending", status: 200, want: `{"totalResults":2,"Resources":[{},{}]}`},
	{what: "names of attributes and operators in another case", method: "GET", path: filtered(usersPath, `username Eq "OLA@example.com" AND (externalid EQ "ola")`), status: 200, want: `{"Resources":[{"id":"{ola}"}]}`},
	{what: "an address without a sub-attribute", method: "GET", path: filtered(usersPath, `emails eq "ola@example.com"`), status: 200, want: `{"totalResults":1}`},
	{what: "the primary address", method: "GET", path: filtered(usersPath, `emails[type eq "work" and primary eq true].value eq "ola@example.com"`), status: 200, want: `{"totalResults":1}`},
	{what: "whom an older date changed", method: "GET", path: filtered(usersPath, `meta.lastModified gt "2026-01-01T00:00:00Z"`), status: 400, want: `{"scimType":"invalidFilter"}`},

	{what: "the whole user without a path", method: "PATCH", path: ola, body: patched(`{"op":"replace","path":null,"value":{"id":"{ola}","schemas":["` + userURN + `"],"meta":{"resourceType":"User"},"userName":"ola@example.com","name":{"familyName":"O","middleName":null}}}`), status: 200, want: `{"name":{"familyName":"O"}}`},
	{what: "a primary address by a path", method: "PATCH", path: ola, body: patched(`{"op":"replace","path":"emails[primary eq true].value","value":"ola2@example.com"}`), status: 200, want: `{"emails":[{"value":"ola2@example.com","primary":true}]}`},
	{what: "a part that is null", method: "PATCH", path: ola, body: patched(`{"op":"replace","path":"name.familyName","value":null}`), status: 200, without: []string{"familyName"}},
	{what: "inactive by a path with the schema", method: "PATCH", path: ola, body: patched(`{"op":"replace","path":"` + userURN + `:active","value":false}`), status: 200, want: `{"active":false}`},
	{what: "active by a list", method: "PATCH", path: ola, body: patched(`{"op":"Replace","path":"active","value":[{"value":"true"}]}`), status: 200, want: `{"active":true}`},
	{what: "inactive within the schema", method: "PATCH", path: ola, body: patched(`{"op":"replace","value":{"` + userURN + `":{"active":false}}}`), status: 200, want: `{"active":false}`},
	{what: "active by an empty path", method: "PATCH", path: ola, body: patched(`{"op":"add","path":"","value":{"Active":"True"}}`), status: 200, want: `{"active":true}`},
	{what: "inactive by the schema as a path", method: "PATCH", path: ola, body: patched(`{"op":"replace","path":"` + userURN + `","value":{"active":"False"}}`), status: 200, want: `{"active":false}`},
	{what: "active by PUT with the schema in names", method: "PUT", path: ola, body: `{"` + userURN + `:userName":"ola@example.com","active":true,"groups":[],"password":"x"}`, status: 200, want: `{"active":true}`},
	{what: "inactive by PUT within the schema", method: "PUT", path: ola, body: `{"userName":"ola@example.com","` + userURN + `":{"active":false}}`, status: 200, want: `{"active":false}`},

	{what: "a group", method: "POST", path: groupsPath + "/", body: `{"displayName":"Crew","members":[{"value":"{ola}","display":"ola@example.com","$ref":"https://bridge.example.com/scim/v2/Users/{ola}","type":"User"}]}`, status: 201, creates: "crew", want: `{"members":[{"value":"{ola}"}]}`},
	{what: "all members without a path", method: "PATCH", path: crew, body: patched(`{"op":"replace","value":{"id":"{crew}","members":[{"value":"{pia}"},{"value":"{ola}"}]}}`), status: 204},
	{what: "a member goes by a path with the schema", method: "PATCH", path: crew, body: patched(`{"op":"remove","path":"urn:ietf:params:scim:schemas:core:2.0:Group:members[value eq \"{ola}\"]"}`), status: 204},
	{what: "the other member is left", method: "GET", path: crew, status: 200, want: `{"members":[{"value":"{pia}"}]}`},
	{what: "one member comes as an object", method: "PATCH", path: crew, body: patched(`{"op":"add","path":"members","value":{"value":"{pia}"}}`), status: 204},
	{what: "the group is pushed again", method: "PUT", path: crew, body: `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"id":"{crew}","displayName":"Crew","members":[{"value":"{ola}","display":"x"}]}`, status: 200, want: `{"members":[{"value":"{ola}"}]}`},
}
