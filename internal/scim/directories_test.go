// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	annaID = "d-aaaaaaaaaaaaaaaaaaaaaaaaaa-1"
	bertID = "d-bbbbbbbbbbbbbbbbbbbbbbbbbb-1"
	caroID = "d-cccccccccccccccccccccccccc-1"
	teamID = "g-aaaaaaaaaaaaaaaaaaaaaaaaaa"
)

var (
	created = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	writer  = Writer{URL: "https://bridge.example.com"}
)

func isID(s string) bool { return strings.HasPrefix(s, "d-") && len(s) == len(annaID) }

func sent(t *testing.T, name string) []byte {
	t.Helper()
	return must.Value(os.ReadFile("testdata/" + name + ".json"))(t)
}

// expectJSON compares a body with a golden file, without the white space that makes the file
// readable.
func expectJSON(t *testing.T, name string, got []byte) {
	t.Helper()
	var want bytes.Buffer
	must.Succeed(t, json.Compact(&want, sent(t, name+".golden")))
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func as(u User) User {
	u.ID, u.Version, u.Created = annaID, `W/"7"`, created
	return u
}

// TestOktaProvisionsAUser sends what Okta documents, in its order.
func TestOktaProvisionsAUser(t *testing.T) {
	u := must.Value(NewUser(sent(t, "okta/create-user")))(t)
	u = as(u)
	expectJSON(t, "okta/created-user", writer.User(u, Selection{}))
	changed, _, err := PutUser(u, sent(t, "okta/put-user"))
	want := u
	want.DisplayName = "Another User"
	want.Profile = `{"emails":[{"display":"test.user@okta.local","primary":true,"type":"work","value":"test.user@okta.local"}],"name":{"familyName":"User","givenName":"Another"}}`
	if diff := cmp.Diff(want, changed); diff != "" || err != nil {
		t.Errorf("PUT: %v\n%s", err, diff)
	}
	changed, _, err = PatchUser(u, sent(t, "okta/deactivate-user"))
	want = u
	want.Active = false
	if diff := cmp.Diff(want, changed); diff != "" || err != nil {
		t.Errorf("PATCH: %v\n%s", err, diff)
	}
	f, err := UserFilter(`userName eq "TEST.user@okta.local"`)
	if err != nil || !f.User(&u) {
		t.Errorf("the filter of the user: %v", err)
	}
	expectJSON(t, "okta/no-user", writer.Users(nil, Query{StartIndex: 1, Count: 100}))
	_, body := EncodeProblem(ErrNotFound)
	expectJSON(t, "okta/not-found", body)
}

// TestOktaPushesAGroup sends what Okta documents, in its order.
func TestOktaPushesAGroup(t *testing.T) {
	g, _, err := NewGroup(sent(t, "okta/create-group"), isID)
	if err != nil {
		t.Fatal(err)
	}
	g.ID, g.Version, g.Created, g.Members = teamID, `W/"7"`, created, []string{annaID}
	changed, _ := must.Values(PatchGroup(g, sent(t, "okta/change-members"), isID))(t)
	expectJSON(t, "okta/group", writer.Group(changed, Selection{}))
	changed, _, err = PatchGroup(g, sent(t, "okta/replace-members"), isID)
	if diff := cmp.Diff([]string{bertID, caroID}, changed.Members); diff != "" || err != nil {
		t.Errorf("members: %v\n%s", err, diff)
	}
	changed, _, err = PatchGroup(g, sent(t, "okta/rename-group"), isID)
	if changed.DisplayName != "Test SCIMv2 renamed" || err != nil {
		t.Errorf("rename: %q, %v", changed.DisplayName, err)
	}
}

// TestEntraProvisionsAUser sends what Microsoft documents for Entra.
func TestEntraProvisionsAUser(t *testing.T) {
	u := must.Value(NewUser(sent(t, "entra/create-user")))(t)
	u = as(u)
	for name, change := range map[string]func(*User){
		"entra/change-user": func(u *User) {
			u.DisplayName = "updated Name"
			u.Profile = `{"emails":[{"primary":true,"type":"work","value":"updatedEmail@microsoft.com"}],"name":{"familyName":"updatedFamilyName","formatted":"givenName familyName","givenName":"givenName"}}`
		},
		"entra/rename-user":  func(u *User) { u.UserName = "5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com" },
		"entra/disable-user": func(u *User) { u.Active = false },
		"entra/disable-user-object": func(u *User) {
			u.Active, u.DisplayName, u.Profile = false, "x", strings.Replace(u.Profile, `"givenName":"givenName"`, `"givenName":"y"`, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := u
			change(&want)
			got, _, err := PatchUser(u, sent(t, name))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	_, body := EncodeProblem(errorsProblem(t, Taken("userName")))
	expectJSON(t, "entra/uniqueness", body)
}

// TestEntraProvisionsAGroup sends what Microsoft documents for Entra.
func TestEntraProvisionsAGroup(t *testing.T) {
	g, _ := must.Values(NewGroup(sent(t, "entra/create-group"), isID))(t)
	g.ID, g.Version, g.Created, g.Members = teamID, `W/"7"`, created, []string{annaID}
	changed, _, err := PatchGroup(g, sent(t, "entra/add-member"), isID)
	if diff := cmp.Diff([]string{annaID, bertID}, changed.Members); diff != "" || err != nil {
		t.Errorf("add: %v\n%s", err, diff)
	}
	changed, _, err = PatchGroup(g, sent(t, "entra/remove-member"), isID)
	if len(changed.Members) != 0 || err != nil {
		t.Errorf("remove: %v, %v", changed.Members, err)
	}
	changed, _, err = PatchGroup(g, sent(t, "entra/rename-group"), isID)
	if !strings.HasSuffix(changed.DisplayName, "updatedDisplayName") || err != nil {
		t.Errorf("rename: %q, %v", changed.DisplayName, err)
	}
	q := must.Value(ParseQuery(`excludedAttributes=members&filter=externalId%20eq%20%228aa1a0c0-c4c3-4bc0-b4a5-2ef676900159%22`))(t)
	f, err := GroupFilter(q.Filter)
	if err != nil || !f.Group(&g) {
		t.Errorf("the filter of the group: %v", err)
	}
	expectJSON(t, "entra/group-without-members", writer.Groups([]Group{g}, q))
}

// errorsProblem returns what the caller is told.
func errorsProblem(t *testing.T, err error) *httpapi.Problem {
	t.Helper()
	p, ok := errors.AsType[*httpapi.Problem](err)
	if !ok {
		t.Fatalf("%v is no problem", err)
	}
	return p
}

// refused fails the test unless err is a problem of that type and status.
func refused(t *testing.T, err error, scimType string) {
	t.Helper()
	p, ok := errors.AsType[*httpapi.Problem](err)
	if !ok || p.Code != scimType || p.Status != http.StatusBadRequest {
		t.Errorf("the error is %v, want %s", err, scimType)
	}
}
