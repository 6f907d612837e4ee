// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

var anna = User{ID: annaID, ExternalID: "sub-anna", UserName: "anna", DisplayName: "Anna", Active: true}

func TestBodiesOfUsersThatAreRefused(t *testing.T) {
	long := strings.Repeat("a", 10_000)
	for name, test := range map[string]struct{ body, want string }{
		"nothing":                      {``, invalidSyntax},
		"a list":                       {`[]`, invalidSyntax},
		"an attribute twice":           {`{"userName":"a","userName":"b","externalId":"e"}`, invalidSyntax},
		"an attribute in two cases":    {`{"userName":"a","USERNAME":"b","externalId":"e"}`, invalidSyntax},
		"an attribute with its schema": {`{"userName":"a","` + coreUser + `:userName":"b","externalId":"e"}`, invalidSyntax},
		"no userName":                  {`{"externalId":"e"}`, invalidValue},
		"an empty userName":            {`{"userName":"","externalId":"e"}`, invalidValue},
		"an externalId of ours":        {`{"userName":"a","externalId":"` + NoExternalID + `d-x"}`, invalidValue},
		"a number for a name":          {`{"userName":7,"externalId":"e"}`, invalidValue},
		"a list for a name":            {`{"userName":["a"],"externalId":"e"}`, invalidValue},
		"a name of 10 kB":              {`{"userName":"` + long + `","externalId":"e"}`, invalidValue},
		"an externalId of 256":         {`{"userName":"a","externalId":"` + long[:256] + `"}`, invalidValue},
		"a control character":          {`{"userName":"a\u0007","externalId":"e"}`, invalidValue},
		"a line break":                 {`{"userName":"a\nb","externalId":"e"}`, invalidValue},
		"a change of direction":        {`{"userName":"a\u202eb","externalId":"e"}`, invalidValue},
		"an invisible character":       {`{"userName":"a\u200bb","externalId":"e"}`, invalidValue},
		"half of a character":          {`{"userName":"a\ud800","externalId":"e"}`, invalidSyntax},
		"a space at the end":           {`{"userName":"a ","externalId":"e"}`, invalidValue},
		"active that is a number":      {`{"userName":"a","externalId":"e","active":0}`, invalidValue},
		"active that is null":          {`{"userName":"a","externalId":"e","active":null}`, invalidValue},
		"active that is another text":  {`{"userName":"a","externalId":"e","active":"no"}`, invalidValue},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := NewUser([]byte(test.body))
			refused(t, err, test.want)
			if u.UserName != "" && err != nil && test.want == invalidSyntax {
				t.Errorf("a part of it is returned: %+v", u)
			}
		})
	}
}

func TestPutKeepsWhatItDoesNotName(t *testing.T) {
	inactive := anna
	inactive.Active = false
	got, _, err := PutUser(inactive, []byte(`{"userName":"ann"}`))
	want := User{ID: annaID, ExternalID: "sub-anna", UserName: "ann"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	_, _, err = PutUser(anna, []byte(`{"userName":"ann","externalId":"another"}`))
	refused(t, err, mutability)
	_, _, err = PutUser(anna, []byte(`{"userName":"ann","id":"`+bertID+`"}`))
	refused(t, err, mutability)
}

func operationsOf(list string) []byte {
	return []byte(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[` + list + `]}`)
}

func TestPatchesOfUsers(t *testing.T) {
	with := func(change func(*User)) User { u := anna; change(&u); return u }
	for name, test := range map[string]struct {
		list string
		want User
		err  string
	}{
		"any case of names":              {`{"OP":"REPLACE","Path":"ACTIVE","VALUE":"FALSE"}`, with(func(u *User) { u.Active = false }), ""},
		"a list of one value":            {`{"op":"replace","path":"active","value":[{"$ref":null,"value":"False"}]}`, with(func(u *User) { u.Active = false }), ""},
		"the schema before the path":     {`{"op":"replace","path":"` + coreUser + `:displayName","value":"A"}`, with(func(u *User) { u.DisplayName = "A" }), ""},
		"the display name goes":          {`{"op":"remove","path":"displayName"}`, with(func(u *User) { u.DisplayName = "" }), ""},
		"what is not stored":             {`{"op":"add","path":"phoneNumbers[type eq \"work\" and primary eq true].value","value":"1"},{"op":"remove","path":"title"}`, anna, ""},
		"an extension as an object":      {`{"op":"add","value":{"` + enterpriseUser + `":{"department":"x"},"photos":[]}}`, anna, ""},
		"the same externalId":            {`{"op":"replace","path":"externalId","value":"sub-anna"}`, anna, ""},
		"what directories send back":     {`{"op":"replace","value":{"id":"` + annaID + `","schemas":[],"meta":{}}}`, anna, ""},
		"the last of two":                {`{"op":"replace","path":"active","value":false},{"op":"replace","path":"active","value":true}`, anna, ""},
		"another externalId":             {`{"op":"replace","path":"externalId","value":"other"}`, anna, mutability},
		"no externalId":                  {`{"op":"remove","path":"externalId"}`, anna, mutability},
		"another id":                     {`{"op":"replace","path":"id","value":"` + bertID + `"}`, anna, mutability},
		"groups":                         {`{"op":"add","path":"groups","value":[]}`, anna, mutability},
		"no userName":                    {`{"op":"remove","path":"userName"}`, anna, mutability},
		"active that goes":               {`{"op":"remove","path":"active"}`, anna, mutability},
		"a path that there is not":       {`{"op":"replace","path":"shoeSize","value":7}`, anna, ""},
		"a member that there is not":     {`{"op":"replace","value":{"Actif":false}}`, anna, ""},
		"an extension that is not ours":  {`{"op":"Add","path":"urn:ietf:params:scim:schemas:extension:CustomExtensionName:2.0:User:tag","value":"1"}`, anna, ""},
		"a part of a text":               {`{"op":"replace","path":"userName.first","value":"a"}`, anna, invalidPath},
		"a choice of a text":             {`{"op":"replace","path":"userName[value eq \"a\"]","value":"a"}`, anna, invalidPath},
		"members of a user":              {`{"op":"add","path":"members","value":[]}`, anna, ""},
		"an open bracket":                {`{"op":"add","path":"emails[type eq \"work\"","value":"a"}`, anna, invalidPath},
		"no address that a path chooses": {`{"op":"replace","path":"emails[type co \"work\"].value","value":"a"}`, anna, ""},
		"a path that is a number":        {`{"op":"add","path":7,"value":"a"}`, anna, invalidPath},
		"a path of 3 kB":                 {`{"op":"add","path":"` + strings.Repeat("a", 3000) + `","value":"a"}`, anna, invalidPath},
		"an operation that is none":      {`{"op":"move","path":"active","value":false}`, anna, invalidSyntax},
		"no operation":                   {``, anna, ""},
		"an operation that is a text":    {`"remove"`, anna, invalidSyntax},
		"no value":                       {`{"op":"replace","path":"active"}`, anna, invalidValue},
		"neither path nor object":        {`{"op":"replace","value":false}`, anna, invalidValue},
		"remove with the schema alone":   {`{"op":"remove","path":"` + coreUser + `"}`, anna, noTarget},
		"a value in and out of a schema": {`{"op":"replace","value":{"active":true,"` + coreUser + `":{"active":false}}}`, anna, invalidSyntax},
		"remove without a path":          {`{"op":"remove","value":{"active":true}}`, anna, noTarget},
		"a bad one after a good one":     {`{"op":"replace","path":"displayName","value":"A"},{"op":"replace","path":"id","value":"x"}`, anna, mutability},
		"a value twice":                  {`{"op":"replace","value":{"active":true,"Active":false}}`, anna, invalidSyntax},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := PatchUser(anna, operationsOf(test.list))
			if test.err != "" {
				refused(t, err, test.err)
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestPatchesOfGroups(t *testing.T) {
	team := Group{ID: teamID, ExternalID: "x-team", DisplayName: "Team", Members: []string{annaID, bertID}}
	with := func(members ...string) Group { g := team; g.Members = members; return g }
	for name, test := range map[string]struct {
		list string
		want Group
		err  string
	}{
		"one member that is there":      {`{"op":"add","path":"members","value":{"value":"` + annaID + `"}}`, team, ""},
		"a member without a path":       {`{"op":"add","value":{"members":[{"value":"` + caroID + `"}]}}`, with(annaID, bertID, caroID), ""},
		"one is removed by a path":      {`{"op":"remove","path":"members[value eq \"` + annaID + `\"]"}`, with(bertID), ""},
		"one that is not there":         {`{"op":"remove","path":"members[value eq \"nobody\"]"}`, team, ""},
		"one is removed by a value":     {`{"op":"Remove","path":"members","value":[{"value":"` + bertID + `"}]}`, with(annaID), ""},
		"an empty list removes nobody":  {`{"op":"Remove","path":"members","value":[]}`, team, ""},
		"all are removed":               {`{"op":"remove","path":"members"}`, with(), ""},
		"all are replaced":              {`{"op":"replace","path":"members","value":[{"value":"` + caroID + `"},{"value":"` + caroID + `"}]}`, with(caroID), ""},
		"the same externalId":           {`{"op":"add","path":"externalId","value":"x-team"}`, team, ""},
		"another externalId":            {`{"op":"replace","path":"externalId","value":"y"}`, func() Group { g := team; g.ExternalID = "y"; return g }(), ""},
		"no externalId":                 {`{"op":"replace","path":"externalId","value":null}`, team, ""},
		"the externalId goes":           {`{"op":"remove","path":"externalId"}`, team, mutability},
		"a member by its URL":           {`{"op":"add","path":"members","value":[{"$ref":"https://bridge.example.com/scim/v2/Users/` + caroID + `"}]}`, with(annaID, bertID, caroID), ""},
		"a member without a value":      {`{"op":"add","path":"members","value":[{"display":"x"}]}`, team, invalidValue},
		"a text for a member":           {`{"op":"add","path":"members","value":"` + caroID + `"}`, with(annaID, bertID, caroID), ""},
		"texts for members":             {`{"op":"remove","path":"members","value":["` + annaID + `"]}`, with(bertID), ""},
		"an empty text for a member":    {`{"op":"add","path":"members","value":[""]}`, team, invalidValue},
		"a number for members":          {`{"op":"add","path":"members","value":7}`, team, invalidValue},
		"no name":                       {`{"op":"replace","path":"displayName","value":""}`, team, invalidValue},
		"a name with hidden characters": {`{"op":"replace","path":"displayName","value":"a\u2066b"}`, team, invalidValue},
		"the name goes":                 {`{"op":"remove","path":"displayName"}`, team, mutability},
		"an attribute of users":         {`{"op":"replace","path":"active","value":true}`, team, ""},
		"members by their names":        {`{"op":"remove","path":"members[display eq \"x\"]"}`, team, invalidFilter},
		"a member is replaced":          {`{"op":"replace","path":"members[value eq \"` + annaID + `\"]","value":[]}`, team, invalidPath},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := PatchGroup(team, operationsOf(test.list), isID)
			if test.err != "" {
				refused(t, err, test.err)
				return
			}
			if len(got.Members) == 0 {
				got.Members = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// manyMembers returns so many members as JSON.
func manyMembers(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"value":"d-%026d-1"}`, i))
	}
	return strings.Join(list, ",")
}

func TestAGroupHasSoManyMembers(t *testing.T) {
	for n, ok := range map[int]bool{MaxMembers: true, MaxMembers + 1: false} {
		g, _, err := NewGroup([]byte(`{"displayName":"all","members":[`+manyMembers(n)+`]}`), isID)
		if !ok {
			refused(t, err, invalidValue)
			continue
		}
		if err != nil || len(g.Members) != n || !slices.IsSorted(g.Members) {
			t.Fatalf("%d members: %d, %v", n, len(g.Members), err)
		}
		_, _, err = PatchGroup(g, operationsOf(`{"op":"add","path":"members","value":[{"value":"`+annaID+`"}]}`), isID)
		refused(t, err, invalidValue)
	}
}

func TestFilters(t *testing.T) {
	for filter, want := range map[string]string{ // true, false, or the error
		``: "true", ` `: "true",
		`userName eq "ANNA"`:                               "true",
		`USERNAME EQ "anna" AND active eq true`:            "true",
		`userName eq "anna" and active eq False`:           "false",
		`externalId eq "sub-anna"`:                         "true",
		`externalId eq "SUB-anna"`:                         "false",
		`id eq "` + annaID + `" and displayName eq "anna"`: "true",
		coreUser + `:userName eq "anna"`:                   "true",
		`userName eq "an\u006ea"`:                          "true",
		`userName eq "a\"b"`:                               "false",
		`userName eq anna`:                                 invalidFilter,
		`userName eq`:                                      invalidFilter,
		`userName`:                                         invalidFilter,
		`userName eq "anna`:                                invalidFilter,
		`userName eq "anna"and active eq true`:             invalidFilter,
		`userName eq "anna" and`:                           invalidFilter,
		`userName eq "anna" or active eq true`:             "true",
		`userName co "an"`:                                 "true",
		`userName pr`:                                      "true",
		`(userName eq "anna")`:                             "true",
		`not (userName eq "anna")`:                         "false",
		`userName eq true`:                                 "false",
		`active eq "true"`:                                 "true",
		`active eq null`:                                   "false",
		`emails.value eq "a"`:                              "false",
		`members eq "a"`:                                   invalidFilter,
		`a.b.c eq "a"`:                                     invalidFilter,
		`id eq "` + strings.Repeat("a", maxFilter) + `"`:   invalidFilter,
		strings.Repeat(`id eq "a" and `, maxComparisons) + `id eq "a"`:                invalidFilter,
		strings.Repeat(`(`, maxLevels) + `active pr` + strings.Repeat(`)`, maxLevels): "true",
		strings.Repeat(`(`, 1000) + `active pr` + strings.Repeat(`)`, 1000):           invalidFilter,
		strings.Repeat(`not (`, 300) + `active pr`:                                    invalidFilter,
		`userName ne "anna"`:                                               "false",
		`userName SW "AN" and userName ew "na"`:                            "true",
		`active eq false or userName eq "x" and active eq true`:            "false",
		`(active eq false or userName eq "anna") and not(displayName pr)`:  "false",
		`emails[type eq "work"].value eq "ANNA@b.example"`:                 "true",
		`emails[type eq "home"].value eq "anna@b.example"`:                 "false",
		`emails[type eq "work" and value co "@b."]`:                        "true",
		`emails.value ew "b.example"`:                                      "true",
		`emails co "anna@"`:                                                "true",
		`name.familyName eq "b"`:                                           "true",
		`title pr`:                                                         "false",
		`title eq null`:                                                    "true",
		`id eq "` + annaID + `" and manager eq "y"`:                        "false",
		`id eq "` + annaID + `" and ` + enterpriseUser + `:manager eq "y"`: invalidFilter,
		`shoeSize eq "7"`:                                                  invalidFilter,
		`userName gt "a"`:                                                  invalidFilter,
		`not userName pr`:                                                  invalidFilter,
		`emails[type eq "work"`:                                            invalidFilter,
		`()`:                                                               invalidFilter,
		"userName eq \"anna\"\n":                                           invalidFilter,
		`userName eq "` + "a\x00" + `"`:                                    invalidFilter,
	} {
		t.Run(filter, func(t *testing.T) {
			anna := anna
			anna.Profile = `{"emails":[{"type":"home","value":"x"},{"type":"work","value":"anna@b.example"}],"name":{"familyName":"B"}}`
			f, err := UserFilter(filter)
			if want == invalidFilter {
				refused(t, err, want)
				return
			}
			if err != nil || fmt.Sprint(f.User(&anna)) != want {
				t.Errorf("matches: %v, %v; want %s", f.User(&anna), err, want)
			}
		})
	}
	team := Group{ID: teamID, DisplayName: "Team", Members: []string{annaID, bertID}}
	for filter, want := range map[string]bool{
		`members eq "` + bertID + `" and id eq "` + teamID + `"`: true,
		`members.value eq "` + caroID + `"`:                      false,
		`members[value eq "` + bertID + `"]`:                     true,
		`members[value eq "` + caroID + `"]`:                     false,
		`displayName eq "TEAM"`:                                  true,
	} {
		if f, err := GroupFilter(filter); err != nil || f.Group(&team) != want {
			t.Errorf("%s: %v, want %v", filter, err, want)
		}
	}
}

func TestPages(t *testing.T) {
	var all []User
	for i := range 450 {
		all = append(all, User{ID: fmt.Sprint(i), UserName: fmt.Sprint("u", i)})
	}
	for query, want := range map[string]struct{ start, items int }{
		"":                              {1, 100},
		"count=0":                       {1, 0},
		"count=-3":                      {1, 0},
		"count=1000&startIndex=0":       {1, 200},
		"startIndex=401&count=200":      {401, 50},
		"startIndex=451":                {451, 0},
		"startIndex=999999999&count=10": {999999999, 0},
		"startIndex=-7&count=1":         {1, 1},
	} {
		t.Run(query, func(t *testing.T) {
			q := must.Value(ParseQuery(query))(t)
			var got listResponse
			must.Succeed(t, json.Unmarshal(writer.Users(all, q), &got))
			if got.TotalResults != len(all) || got.StartIndex != want.start || got.ItemsPerPage != want.items || len(got.Resources) != want.items {
				t.Errorf("%d of %d from %d", got.ItemsPerPage, got.TotalResults, got.StartIndex)
			}
		})
	}
	for _, query := range []string{"count=many", "startIndex=1.5", "count=99999999999999999999", "filter=%zz", "count=1&count=2", "filter=a&startIndex=1&filter=b"} {
		if _, err := ParseQuery(query); err == nil {
			t.Errorf("%s is taken", query)
		}
	}
}

func TestAPageOfLargeGroupsIsShorter(t *testing.T) {
	big := Group{DisplayName: "big", Members: make([]string, MaxMembers)}
	var got listResponse
	must.Succeed(t, json.Unmarshal(writer.Groups([]Group{big, big, big}, Query{StartIndex: 1, Count: 3}), &got))
	if got.TotalResults != 3 || got.ItemsPerPage != 2 {
		t.Errorf("%d of %d", got.ItemsPerPage, got.TotalResults)
	}
	without := Query{StartIndex: 1, Count: 3, Selection: Selection{except: setOf(attrMembers)}}
	if err := json.Unmarshal(writer.Groups([]Group{big, big, big}, without), &got); err != nil || got.ItemsPerPage != 3 {
		t.Errorf("%d without members: %v", got.ItemsPerPage, err)
	}
}

func TestAttributesAreChosen(t *testing.T) {
	for query, want := range map[string]string{
		"attributes=userName":                        `{"schemas":["` + coreUser + `"],"id":"` + annaID + `","userName":"anna"}`,
		"attributes=USERNAME,name.givenName":         `{"schemas":["` + coreUser + `"],"id":"` + annaID + `","userName":"anna"}`,
		"attributes=" + coreUser + ":active":         `{"schemas":["` + coreUser + `"],"id":"` + annaID + `","active":true}`,
		"attributes=active[value+eq+%22a:b%22]":      `{"schemas":["` + coreUser + `"],"id":"` + annaID + `","active":true}`,
		"excludedAttributes=id,meta,userName,active": `{"schemas":["` + coreUser + `"],"id":"` + annaID + `","externalId":"sub-anna","displayName":"Anna"}`,
	} {
		q := must.Value(ParseQuery(query))(t)
		if diff := cmp.Diff(want, string(writer.User(anna, q.Selection))); diff != "" {
			t.Errorf("%s:\n%s", query, diff)
		}
	}
}

func TestWhatIsServedIsDescribed(t *testing.T) {
	for name, text := range map[string]json.RawMessage{"config": writer.ServiceProviderConfig(), "types": writer.ResourceTypes(), "schemas": writer.Schemas()} {
		if !json.Valid(text) || !strings.Contains(string(text), writer.URL+Base+"/") {
			t.Errorf("%s: %s", name, text)
		}
	}
	for _, id := range []string{coreUser, coreGroup} {
		if _, err := writer.Schema(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"User", "Group"} {
		if _, err := writer.ResourceType(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := writer.Schema(enterpriseUser); err == nil {
		t.Error("a schema that is not served is described")
	}
}

func TestVersionsMatch(t *testing.T) {
	for field, want := range map[string]bool{`W/"7"`: true, `"7"`: true, `*`: true, `W/"6", W/"7"`: true, `W/"6"`: false, ``: false, `7`: false} {
		if Matches([]string{field}, `W/"7"`) != want {
			t.Errorf("%q matches: %v", field, !want)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, seed := range []string{`userName eq "a"`, `members eq "x" and id eq "y"`, `active eq true`, `a[b`, `id eq "\`, "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, filter string) {
		parsed, err := UserFilter(filter)
		if err != nil {
			refused(t, err, invalidFilter)
			return
		}
		parsed.User(&anna)
		if n := len(parsed.root.terms()); n > maxComparisons || n > 0 && len(filter) > maxFilter {
			t.Errorf("%d comparisons of %d bytes", n, len(filter))
		}
		if parsed, err := GroupFilter(filter); err == nil {
			parsed.Group(&Group{ID: teamID, Members: []string{annaID}})
		}
	})
}

func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		`{"op":"replace","path":"active","value":false}`, `{"op":"add","value":{"members":[{"value":"` + annaID + `"}]}}`,
		`{"op":"Remove","path":"members[value eq \"x\"]"}`, `{"op":"add","path":"emails[type eq \"work\"].value","value":"a"}`,
	} {
		f.Add(seed)
	}
	team := Group{ID: teamID, DisplayName: "Team", Members: []string{annaID}}
	f.Fuzz(func(t *testing.T, list string) {
		u, _, err := PatchUser(anna, operationsOf(list))
		if err == nil && (u.ID != anna.ID || u.ExternalID != anna.ExternalID || !isText(u.UserName, maxText) || u.DisplayName != "" && !isText(u.DisplayName, maxText)) {
			t.Errorf("the user becomes %+v", u)
		}
		g, _, err := PatchGroup(team, operationsOf(list), isID)
		if err == nil && (g.ID != team.ID || !isText(g.DisplayName, maxText) || !slices.IsSorted(g.Members) || slices.ContainsFunc(g.Members, func(m string) bool { return !isID(m) })) {
			t.Errorf("the group becomes %+v", g)
		}
	})
}
