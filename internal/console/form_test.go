// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/url"
	"testing"
)

func TestASecretIsTakenOutOfItsForm(t *testing.T) {
	for body, want := range map[string]string{
		"name=A&value=a+b%2B%25%26%3d&csrf=x": "a b+%&=", "value=": "", "value": "", "name=A": "", "value=%c3%A9": "é",
	} {
		form, value, err := splitSecret([]byte(body))
		if err != nil || string(value) != want || form.Has(fieldValue) {
			t.Errorf("%q: %q %v %v", body, value, form, err)
		}
	}
	for _, body := range []string{"value=%", "value=%2", "value=%zz", "value=a&value=b", "name=%zz"} {
		if _, _, err := splitSecret([]byte(body)); err == nil {
			t.Errorf("%q is a form", body)
		}
	}
}

func FuzzSplitSecret(f *testing.F) {
	f.Add("name=A&value=a+b%2B&csrf=x")
	f.Fuzz(func(t *testing.T, body string) {
		want, werr := url.ParseQuery(body)
		form, value, err := splitSecret([]byte(body))
		if err != nil || werr != nil || len(want[fieldValue]) > 1 {
			return
		}
		if got := want.Get(fieldValue); got != string(value) {
			t.Errorf("%q: %q, want %q", body, value, got)
		}
		if want.Del(fieldValue); want.Encode() != form.Encode() {
			t.Errorf("%q: %v, want %v", body, form, want)
		}
	})
}

func TestWhereALoginLeads(t *testing.T) {
	for asked, want := range map[string]string{
		"/": "/", "/keys": "/keys", "/servers/github": "/servers/github", "/tools/a_B.c-1": "/tools/a_B.c-1",
		"": "/", "//evil.example": "/", "/\\evil": "/", "https://evil.example": "/", "/keys?x": "/", "/a//b": "/", "keys": "/", "/.evil": "/", "/%2f": "/",
	} {
		if got := nextPage(asked); got != want {
			t.Errorf("%q leads to %q, want %q", asked, got, want)
		}
	}
	for path, want := range map[string]string{
		"/servers/github/choice": "/servers/github", "/servers/github/disconnect": "/servers/github", "/keys/abcdefgh/revoke": "/keys", "/secrets/A/delete": "/secrets",
		"/secrets": "/secrets", "/logout": "/", "/tools/choice": "/tools/choice", "/servers/github/tools/delete": "/servers/github/tools/delete",
	} {
		if got := formPage(path); got != want {
			t.Errorf("the form of %q is on %q, want %q", path, got, want)
		}
	}
}
