// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func read(t testing.TB, text string) jsondoc.Value {
	t.Helper()
	return must.Value(jsondoc.Parse([]byte(text)))(t)
}

// TestCanonicalIsWhatJavaScriptWrites holds texts that Node.js 20 made with
// JSON.stringify of the sorted objects.
func TestCanonicalIsWhatJavaScriptWrites(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"keys are sorted at every level":      {`{"b":{"z":1,"y":2},"a":[true,null,{"d":1,"c":2}]}`, `{"a":[true,null,{"c":2,"d":1}],"b":{"y":2,"z":1}}`},
		"numbers are the shortest of doubles": {`{"a":[1.0,1e21,1e20,123456789012345680000,0.000001,1e-7,-0,1.5e300,5e-324,100,1E2,0.1e1,9007199254740993]}`, `{"a":[1,1e+21,100000000000000000000,123456789012345680000,0.000001,1e-7,0,1.5e+300,5e-324,100,100,1,9007199254740992]}`},
		"only what JSON asks for is escaped":  {`{"a":"<>&\u2028\u2029\u007f\u0000\u001f\b\f\n\r\t\"\\/é😀"}`, "{\"a\":\"<>&\u2028\u2029\u007f\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\/é😀\"}"},
		"keys sort by UTF-16 code units":      {`{"a":{"\ue000":1,"😀":2,"é":3,"z":4,"Z":5,"10":6,"9":7}}`, "{\"a\":{\"10\":6,\"9\":7,\"Z\":5,\"z\":4,\"é\":3,\"😀\":2,\"\ue000\":1}}"},
		"members that are not signed":         {`{"x":1,"a":2}`, `{"a":2}`},
		"nothing":                             {`{"x":1}`, `{}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(Canonical(read(t, tt.in), []string{"a", "b", "missing"})); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

const signable = `{"schemaVersion":2,"id":"notes","name":"Notes","description":"Keeps notes","repository":"https://example.com",
	"transports":[{"type":"streamable-http","url":"https://notes.example.com/mcp"}],"metadata":{"costPerCall":1.0}}`

func signed(t testing.TB) (jsondoc.Value, ed25519.PrivateKey) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	doc := must.Value(Sign(read(t, signable), key, "example", time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)))(t)
	return doc, key
}

// declared returns the signature of doc, which says that it covers field too.
func declared(t *testing.T, doc jsondoc.Value, field string) jsondoc.Value {
	t.Helper()
	s := must.Value(signatureOf(doc))(t)
	s.SignedFields = append(s.SignedFields, field)
	return must.Value(jsondoc.Encode(s))(t)
}

func TestVerify(t *testing.T) {
	doc, private := signed(t)
	public, _ := private.Public().(ed25519.PublicKey)
	text := string(doc.Indented())
	replace := func(from, to string) jsondoc.Value {
		if !strings.Contains(text, from) {
			t.Fatalf("there is no %s in %s", from, text)
		}
		return read(t, strings.Replace(text, from, to, 1))
	}
	other := ed25519.NewKeyFromSeed(append(make([]byte, ed25519.SeedSize-1), 1)).Public().(ed25519.PublicKey)
	tests := map[string]struct {
		doc  jsondoc.Value
		key  ed25519.PublicKey
		want string
	}{
		"what was signed":                        {doc, public, ""},
		"a number that is spelt in another way":  {replace("1.0", "1"), public, ""},
		"a field that decides nothing":           {replace("https://example.com", "https://example.org"), public, ""},
		"another URL":                            {replace("notes.example.com/mcp", "evil.example.com/mcp"), public, "does not match"},
		"another name of the recipe":             {replace(`"notes"`, `"bank"`), public, "does not match"},
		"something that was added":               {replace(`"schemaVersion": 2`, `"schemaVersion": 2, "skill": {}`), public, "does not cover skill"},
		"something that was added, and declared": {replace(`"schemaVersion": 2`, `"schemaVersion": 2, "skill": {}`).With("signature", declared(t, doc, "skill")), public, "does not match"},
		"a key that signed nothing":              {doc, other, "does not match"},
		"no key":                                 {doc, nil, "does not match"},
		"no signature":                           {read(t, signable), public, "not signed"},
		"another algorithm":                      {replace(`"ed25519"`, `"none"`), public, "algorithm"},
		"a signature that is none":               {replace(`"value": "`, `"value": "!`), public, "base64"},
		"a list of fields that is no list":       {replace(`"publisherId": "example"`, `"publisherId": 1`), public, "publisherId"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := Verify(tt.doc, tt.key)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error = %v", err)
			}
		})
	}
	if err := Verify(read(t, signable), public); !errors.Is(err, ErrUnsigned) {
		t.Errorf("error = %v", err)
	}
}

func TestASignatureNamesItsFieldsAndTime(t *testing.T) {
	doc, _ := signed(t)
	s := must.Value(signatureOf(doc))(t)
	at, err := SignedAt(s)
	if err != nil || s.SignedAt != "2026-01-02T03:04:05.006Z" || at.Nanosecond() != 6e6 {
		t.Errorf("signed at %q, %v, %v", s.SignedAt, at, err)
	}
	if got := strings.Join(s.SignedFields, " "); got != "id name description transports metadata" || s.PublisherID != "example" {
		t.Errorf("fields %s, publisher %s", got, s.PublisherID)
	}
	if _, err := SignedAt(Signature{SignedAt: "yesterday"}); err == nil {
		t.Error("a time that is none was read")
	}
}

func TestParseKey(t *testing.T) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, _ := private.Public().(ed25519.PublicKey)
	pem := "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAO2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik=\n-----END PUBLIC KEY-----\n"
	for name, text := range map[string]string{"PEM": pem, "base64": FormatKey(public) + "\n"} {
		key, err := ParseKey(text)
		if err != nil || !key.Equal(public) {
			t.Errorf("%s: %x, %v", name, key, err)
		}
	}
	ec := "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n-----END PUBLIC KEY-----"
	for name, text := range map[string]string{"nothing": "", "too short": "AAAA", "another kind of key": ec, "PEM of something else": "-----BEGIN X-----\nAAAA\n-----END X-----"} {
		if _, err := ParseKey(text); err == nil {
			t.Errorf("%s was read as a key", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{signable, v1Recipe, serverJSONRecipe} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Parse(b)
		if err != nil {
			return
		}
		Warnings(d.Recipe, time.Time{})
		for _, kind := range defaultOrder {
			if c, err := Convert(d.Recipe, Choice{Transport: kind, Dir: "/src"}); err == nil && c.Server.Name != d.Recipe.ID {
				t.Errorf("the server is called %q", c.Server.Name)
			}
		}
	})
}
