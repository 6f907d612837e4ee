// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTheKeyOfASubjectStaysWhatItIs(t *testing.T) {
	// Bridges name people, and grants are kept, by it: another one would lock
	// everybody out. Made with Python: the SHA-256 of both, each after its length
	// in 8 bytes, in base64url.
	const want = "uibqtjn3bVrjW5_Dx11A2y04xqDZV7tbkcQVvKomIfk"
	if got := KeyOf("https://login.example.com/tenant", "00u1a2b3").String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNoTwoPeopleHaveOneKey(t *testing.T) {
	seen := map[SubjectKey]string{}
	for _, pair := range [][2]string{
		{"https://a.example.com", "bc"}, {"https://a.example.comb", "c"}, {"https://a.example.com/", "bc"},
		{"bc", "https://a.example.com"}, {"", "https://a.example.combc"}, {"https://a.example.combc", ""}, {"", ""},
		{"https://a.example.com", "BC"}, {"https://A.example.com", "bc"}, {"https://a.example.com", "bc\x00"},
	} {
		key := KeyOf(pair[0], pair[1])
		if other, taken := seen[key]; taken {
			t.Errorf("%q has the key of %s", pair, other)
		}
		seen[key] = strings.Join(pair[:], " and ")
	}
}

func TestParseSubjectKey(t *testing.T) {
	key := KeyOf(theirs, thePerson)
	text := key.String()
	if len(text) != 43 {
		t.Errorf("%q has %d characters", text, len(text))
	}
	tests := map[string]struct {
		in string
		ok bool
	}{
		"its text":                           {text, true},
		"the key of zeros":                   {strings.Repeat("A", 43), true},
		"nothing":                            {"", false},
		"a character less":                   {text[:42], false},
		"a character more":                   {text + "A", false},
		"padding":                            {text + "=", false},
		"a line end after it":                {text + "\n", false},
		"a line end within":                  {text[:20] + "\n" + text[20:], false},
		"a line end in a character's place":  {text[:42] + "\n", false},
		"bits that would be dropped":         {strings.Repeat("A", 42) + "B", false},
		"characters of other base64":         {strings.Repeat("+", 43), false},
		"43 characters that are not of it":   {strings.Repeat(".", 43), false},
		"the digest of something as hex":     {strings.Repeat("0a", 32), false},
		"a provider's own name of a subject": {thePerson, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSubjectKey(tt.in)
			if tt.ok != (err == nil) || tt.ok && got.String() != tt.in || !tt.ok && got != (SubjectKey{}) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestASubjectIsStoredAsItsText(t *testing.T) {
	key := KeyOf(theirs, thePerson)
	raw, err := json.Marshal(key)
	if want := `"` + key.String() + `"`; err != nil || string(raw) != want {
		t.Errorf("got %s, %v, want %s", raw, err, want)
	}
	var got SubjectKey
	if err := json.Unmarshal(raw, &got); err != nil || got != key {
		t.Errorf("it is read as %s, %v", got, err)
	}
	for name, text := range map[string]string{"another spelling": `"` + key.String() + `="`, "numbers": "[1,2]", "nothing": `""`} {
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is read as %s", name, got)
		}
	}
}

func TestValidSubject(t *testing.T) {
	tests := map[string]struct {
		in string
		ok bool
	}{
		"a number":                {"1234567", true},
		"a UUID":                  {"5f2c3d8a-0000-4000-8000-000000000000", true},
		"Auth0's":                 {"auth0|5f7c8ec7", true},
		"a distinguished name":    {"uid=alice,ou=people,dc=example", true},
		"a space within":          {"Alice Example", true},
		"letters of other kinds":  {"zoë", true},
		"255 of them":             {strings.Repeat("ë", 255), true},
		"256":                     {strings.Repeat("a", 256), false},
		"nothing":                 {"", false},
		"a line end":              {"a\nb", false},
		"a NUL":                   {"a\x00", false},
		"a direction of writing":  {"a\u202eb", false},
		"bytes that are no text":  {"a\xff", false},
		"a character for unknown": {"a\ufffd", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ValidSubject(tt.in); got != tt.ok {
				t.Errorf("got %v", got)
			}
		})
	}
}

func FuzzParseSubjectKey(f *testing.F) {
	f.Add(KeyOf(theirs, thePerson).String())
	f.Add(strings.Repeat("A", 42) + "B")
	f.Fuzz(func(t *testing.T, s string) {
		if key, err := ParseSubjectKey(s); err == nil && key.String() != s {
			t.Errorf("%q is read as the key %q", s, key)
		}
	})
}
