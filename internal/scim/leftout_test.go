// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNothingInARequestKeepsADirectoryFromTakingAccessAway has the forms in which directories
// deactivate a user beside something that cannot be done.
func TestNothingInARequestKeepsADirectoryFromTakingAccessAway(t *testing.T) {
	patched := func(list string) func(User) (User, LeftOut, error) {
		return func(u User) (User, LeftOut, error) { return PatchUser(u, operationsOf(list)) }
	}
	put := func(body string) func(User) (User, LeftOut, error) {
		return func(u User) (User, LeftOut, error) { return PutUser(u, []byte(body)) }
	}
	named := func(name string) string {
		return `{"op":"replace","value":{"active":false,"displayName":"` + name + `"}}`
	}
	const off = `{"op":"Replace","path":"active","value":"False"}`
	for name, test := range map[string]struct {
		change      func(User) (User, LeftOut, error)
		displayName string
		left        LeftOut
	}{
		"alone":                          {patched(off), "Anna", LeftOut{}},
		"an attribute of an extension":   {patched(off + `,{"op":"Add","path":"urn:ietf:params:scim:schemas:extension:CustomExtensionName:2.0:User:tag","value":"1"}`), "Anna", LeftOut{unknownAttribute: 1}},
		"an unknown attribute":           {patched(`{"op":"replace","value":{"shoeSize":7,"active":false}}`), "Anna", LeftOut{unknownAttribute: 1}},
		"a space at the end of the name": {patched(named("Ann ")), "Ann", LeftOut{}},
		"a no-break space":               {patched(named(`Ann\u00a0B\u00a0`)), "Ann B", LeftOut{}},
		"a mark of direction":            {patched(named(`\u200fAnn`)), "Ann", LeftOut{}},
		"a joined emoji":                 {patched(named(`Ann \ud83d\udc69\u200d\ud83d\ude80`)), "Ann 👩🚀", LeftOut{}},
		"a name of 300 characters":       {patched(named(strings.Repeat("ä", 300))), strings.Repeat("ä", maxText), LeftOut{}},
		"a number for a name":            {patched(`{"op":"replace","value":{"active":false,"displayName":7}}`), "Anna", LeftOut{invalidValue: 1}},
		"another externalId":             {patched(`{"op":"replace","value":{"externalId":"other","active":false}}`), "Anna", LeftOut{mutability: 1}},
		"another id":                     {patched(off + `,{"op":"replace","path":"id","value":"x"}`), "Anna", LeftOut{mutability: 1}},
		"a path without a form":          {patched(`{"op":"add","path":"emails[type eq","value":"x"},` + off), "Anna", LeftOut{invalidPath: 1}},
		"an operation without a value":   {patched(`{"op":"add","path":"displayName"},` + off), "Anna", LeftOut{invalidValue: 1}},
		"an unknown operation":           {patched(`{"op":"move","path":"title"},` + off), "Anna", LeftOut{invalidSyntax: 1}},
		"an attribute twice":             {patched(`{"op":"replace","value":{"active":false,"ims":"a","Ims":"b"}}`), "Anna", LeftOut{invalidSyntax: 1}},
		"groups":                         {patched(off + `,{"op":"replace","path":"groups","value":[]}`), "Anna", LeftOut{mutability: 1}},
		"a userName with a space":        {patched(`{"op":"replace","value":{"userName":"anna ","active":false}}`), "Anna", LeftOut{invalidValue: 1}},
		"within the schema":              {patched(`{"op":"replace","value":{"` + coreUser + `":{"active":false,"shoeSize":7}}}`), "Anna", LeftOut{unknownAttribute: 1}},
		"the schema as a path":           {patched(`{"op":"replace","path":"` + coreUser + `","value":{"active":false}}`), "Anna", LeftOut{}},
		"PUT within the schema":          {put(`{"userName":"anna","displayName":"Anna","` + coreUser + `":{"active":"False"}}`), "Anna", LeftOut{}},
		"PUT without userName":           {put(`{"active":false}`), "", LeftOut{invalidValue: 1}},
		"PUT with a space at the end":    {put(`{"userName":"anna","displayName":"Ann ","active":false}`), "Ann", LeftOut{}},
		"PUT with another externalId":    {put(`{"userName":"anna","displayName":"Ann","externalId":"x","active":"false"}`), "Ann", LeftOut{mutability: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			want := anna
			want.Active, want.DisplayName = false, test.displayName
			got, left, err := test.change(anna)
			if diff := cmp.Diff(want, got) + cmp.Diff(test.left, left); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			for reason := range left {
				if !slices.Contains(Reasons, reason) {
					t.Errorf("%s is no reason of the metric", reason)
				}
			}
		})
	}
}

// TestARequestIsRefusedAsAWholeUnlessItTakesAccessAway is the other side.
func TestARequestIsRefusedAsAWholeUnlessItTakesAccessAway(t *testing.T) {
	inactive := anna
	inactive.Active = false
	for name, list := range map[string]string{
		"it says nothing of active": `{"op":"replace","path":"externalId","value":"x"}`,
		"it gives access back":      `{"op":"replace","value":{"active":true,"externalId":"x"}}`,
		"it changes its mind":       `{"op":"replace","path":"active","value":false},{"op":"replace","value":{"active":true,"externalId":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := PatchUser(inactive, operationsOf(list))
			refused(t, err, mutability)
		})
	}
}

func TestANameIsStoredAsPeopleSeeIt(t *testing.T) {
	u, err := NewUser([]byte(`{"userName":"a","externalId":"e","displayName":" \tAnn\u202e\u2066 B\u0007 "}`))
	if err != nil || u.DisplayName != "Ann B" {
		t.Errorf("%q, %v", u.DisplayName, err)
	}
}

// TestMembersThatAreNoUsersKeepNobodyOutOfAGroup has the members that directories send beside
// users.
func TestMembersThatAreNoUsersKeepNobodyOutOfAGroup(t *testing.T) {
	const url = `https://bridge.example.com/scim/v2/`
	for name, test := range map[string]struct {
		member string
		left   LeftOut
	}{
		"a group by its type": {`{"value":"` + teamID + `","type":"Group"}`, LeftOut{nestedGroup: 1}},
		"a group by its URL":  {`{"value":"` + teamID + `","$ref":"` + url + `Groups/` + teamID + `"}`, LeftOut{nestedGroup: 1}},
		"a URL of a group":    {`{"$ref":"` + url + `Groups/` + teamID + `"}`, LeftOut{nestedGroup: 1}},
		"an id of no user":    {`{"value":"00u1","display":"x"}`, LeftOut{unknownMember: 1}},
		"a path":              {`{"value":"../x"}`, LeftOut{unknownMember: 1}},
		"a URL of no user":    {`{"$ref":"` + url + `Users/00u1"}`, LeftOut{unknownMember: 1}},
		"another user":        {`{"$ref":"../Users/` + annaID + `","type":"User"}`, LeftOut{}},
	} {
		t.Run(name, func(t *testing.T) {
			list := `[` + test.member + `,{"value":"` + annaID + `"}]`
			created, left, err := NewGroup([]byte(`{"displayName":"team","members":`+list+`}`), isID)
			if diff := cmp.Diff([]string{annaID}, created.Members) + cmp.Diff(test.left, left); diff != "" || err != nil {
				t.Errorf("created: %v\n%s", err, diff)
			}
			team := Group{ID: teamID, DisplayName: "team", Members: []string{bertID}}
			changed, left, err := PatchGroup(team, operationsOf(`{"op":"Add","path":"members","value":`+list+`}`), isID)
			if diff := cmp.Diff([]string{annaID, bertID}, changed.Members) + cmp.Diff(test.left, left); diff != "" || err != nil {
				t.Errorf("changed: %v\n%s", err, diff)
			}
		})
	}
}
