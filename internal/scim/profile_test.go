// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestWhatADirectorySaysOfAPersonComesBack has the operations by which directories change names
// and addresses.
func TestWhatADirectorySaysOfAPersonComesBack(t *testing.T) {
	const mail = `{"type":"work","value":"a@b.example"}`
	manyMails := ""
	for i := range 7 {
		manyMails += fmt.Sprintf(`{"value":"%d%s","display":"%[2]s"},`, i, strings.Repeat("x", 255))
	}
	for name, test := range map[string]struct{ former, list, want string }{
		"a new family name":              {`{"name":{"givenName":"A"}}`, `{"op":"Replace","path":"name.familyName","value":"B"}`, `{"name":{"familyName":"B","givenName":"A"}}`},
		"a path without an object":       {``, `{"op":"replace","value":{"name.givenName":"A","title":"T"}}`, `{"name":{"givenName":"A"},"title":"T"}`},
		"a part goes":                    {`{"name":{"givenName":"A"}}`, `{"op":"remove","path":"name.givenName"}`, ``},
		"an address that is not there":   {``, `{"op":"Add","path":"emails[type eq \"work\"].value","value":"a@b.example"}`, `{"emails":[` + mail + `]}`},
		"an address that is there":       {`{"emails":[{"type":"home","value":"x"},{"type":"work","value":"y"}]}`, `{"op":"Replace","path":"emails[type eq \"work\"].value","value":"a@b.example"}`, `{"emails":[{"type":"home","value":"x"},` + mail + `]}`},
		"the first address is primary":   {`{"emails":[` + mail + `]}`, `{"op":"Add","path":"emails[type eq \"work\"].primary","value":"True"}`, `{"emails":[{"primary":true,"type":"work","value":"a@b.example"}]}`},
		"another primary address":        {`{"emails":[{"primary":true,"type":"work","value":"a@b.example"}]}`, `{"op":"Add","path":"emails[type eq \"home\"].primary","value":"True"}`, `{"emails":[{"primary":false,"type":"work","value":"a@b.example"},{"primary":true,"type":"home"}]}`},
		"the primary address":            {``, `{"op":"replace","path":"emails[primary eq \"True\"].value","value":"a@b.example"},{"op":"replace","path":"emails[primary eq true].type","value":"work"}`, `{"emails":[{"primary":true,"type":"work","value":"a@b.example"}]}`},
		"two primary addresses":          {``, `{"op":"add","path":"emails","value":[{"primary":true,"value":"x"},{"primary":true,"value":"y"}]}`, `{"emails":[{"primary":false,"value":"x"},{"primary":true,"value":"y"}]}`},
		"an address twice":               {`{"emails":[` + mail + `]}`, `{"op":"add","path":"emails","value":[` + mail + `]}`, `{"emails":[` + mail + `]}`},
		"an address in a list":           {`{"emails":[` + mail + `]}`, `{"op":"replace","path":"emails[type eq \"work\"]","value":[{"display":"A"}]}`, `{"emails":[{"display":"A","type":"work","value":"a@b.example"}]}`},
		"values in lists":                {``, `{"op":"Add","path":"title","value":[{"$ref":null,"value":"T"}]},{"op":"Add","path":"name.givenName","value":[{"value":"A"}]}`, `{"name":{"givenName":"A"},"title":"T"}`},
		"one address goes":               {`{"emails":[{"type":"home","value":"x"},` + mail + `]}`, `{"op":"remove","path":"emails[type eq \"home\"]"}`, `{"emails":[` + mail + `]}`},
		"all addresses are replaced":     {`{"emails":[{"value":"x"}]}`, `{"op":"replace","path":"emails","value":[` + mail + `]}`, `{"emails":[` + mail + `]}`},
		"all addresses go":               {`{"emails":[{"value":"x"}]}`, `{"op":"remove","path":"emails"}`, ``},
		"a title goes":                   {`{"title":"T"}`, `{"op":"replace","path":"title","value":null}`, ``},
		"a title that is a list":         {`{"title":"T"}`, `{"op":"replace","path":"title","value":["x"]}`, ``},
		"a name with marks":              {``, `{"op":"add","path":"name.formatted","value":"A\u202e \u0007"}`, `{"name":{"formatted":"A"}}`},
		"a part that is not known":       {``, `{"op":"add","path":"name","value":{"nick":"x","givenName":"A"}}`, `{"name":{"givenName":"A"}}`},
		"no telephone numbers":           {``, `{"op":"add","path":"phoneNumbers[type eq \"work\"].value","value":"1"}`, ``},
		"no more than there is room for": {`{"title":"T"}`, `{"op":"add","path":"emails","value":[` + manyMails + `{"value":"x"}]}`, `{"title":"T"}`},
	} {
		t.Run(name, func(t *testing.T) {
			want, former := anna, anna
			want.Profile, former.Profile = test.want, test.former
			got, _, err := PatchUser(former, operationsOf(test.list))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestAProfileIsBounded(t *testing.T) {
	var emails []string
	for i := range 20 {
		emails = append(emails, fmt.Sprintf(`{"value":"a%d@b.example"}`, i))
	}
	u := must.Value(NewUser([]byte(`{"userName":"a","externalId":"e","emails":[` + strings.Join(emails, ",") + `],"title":"` + strings.Repeat("ä", 1000) + `"}`)))(t)
	if got := strings.Count(u.Profile, `"value"`); got != maxEmails || len(u.Profile) > MaxProfile {
		t.Errorf("%d addresses in %d bytes", got, len(u.Profile))
	}
}
