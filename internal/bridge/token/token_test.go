// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

const month = 30 * 24 * time.Hour

var issued = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// key returns a key that is n all over.
func key(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

func alice() *Keys { return NewKeys([][]byte{key(1)}, "alice/uid-1") }

func session() Session {
	return Session{
		Version:      "2025-11-25",
		Client:       json.RawMessage(`{"name":"test","version":"1"}`),
		Capabilities: json.RawMessage(`{"roots":{"listChanged":true},"elicitation":{}}`),
		Issued:       issued,
	}
}

func sign(t testing.TB, k *Keys, s Session) (id string, restorable bool) {
	t.Helper()
	return must.Values(k.SignSession(s, bytes.NewReader(bytes.Repeat([]byte{7}, nonceSize))))(t)
}

// The vectors hold the format fixed: ids outlive the process that gave them.
const (
	vectorSession    = "AQEAeyJ2IjoiMjAyNS0xMS0yNSIsImkiOnsibmFtZSI6InRlc3QiLCJ2ZXJzaW9uIjoiMSJ9LCJjIjp7InJvb3RzIjp7Imxpc3RDaGFuZ2VkIjp0cnVlfSwiZWxpY2l0YXRpb24iOnt9fSwidCI6MTc5MzUzNDQwMCwibiI6IkJ3Y0hCd2NIQndjSEJ3Y0hCd2NIQnc9PSJ9p7v5UVAqjL7q4U-6Xm7r92B4NllfSXrQ6Ulj-735gkE"
	vectorState      = "AQIBAAAAAAAAAAAAAAAAAAAAAgAAAAAAAAAAAAAAAAAAAAAAAAM7GW_UkHvt9RwwkOmDXy98th5-4bIpnqO4_tm0GDqCKpwsHwgIiPT_jV3hgC4qh35T_DeccpfiN_D5-yAztnI9"
	vectorCompressed = "AQEB7NI9ysMwDMbxq7w8swJxPnipIEu79BrBEakgtYutpkPw3UvI2CO0g_6IZ_5tWMFo6qavnKuaHgQFbwjjXcAwyQbCKilrDGA4ECbJPunDjmWJYf775auCQvA7kxSj5f1ZNNvlNoZZJrClpxSCLOrVxsPJVgrBwO7_1PZt19U1Yedzfvnr5w0DyjsAAP__iy9AGXpHHdnmRJpq1TMqy_XChCEJfSijM6nct5Y7bJE"
	vectorBridge     = "4a49acf8a6bd7277"
)

func TestASessionComesBackAsItWas(t *testing.T) {
	long := session()
	long.Client = json.RawMessage(`{"name":"test","version":"1","description":"` + strings.Repeat("long ", 200) + `"}`)
	bare := Session{Version: "2024-11-05", Issued: issued}
	for name, want := range map[string]Session{"a usual one": session(), "one that is compressed": long, "one without details": bare} {
		t.Run(name, func(t *testing.T) {
			id, restorable := sign(t, alice(), want)
			if !restorable || len(id) > 700 {
				t.Errorf("restorable %v with %d characters", restorable, len(id))
			}
			got := must.Value(alice().OpenSession(id, issued.Add(time.Hour), month))(t)
			want.Nonce = Nonce(bytes.Repeat([]byte{7}, nonceSize))
			want.Issued = want.Issued.Local()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("session (-want +got):\n%s", diff)
			}
		})
	}
}

// noise returns JSON of n bytes that does not become shorter.
func noise(n int) json.RawMessage {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(`{"name":"test","version":"1","noise":"`)
	for b.Len() < n {
		fmt.Fprintf(&b, "%016x", random.Uint64())
	}
	b.WriteString(`"}`)
	return json.RawMessage(b.String())
}

func TestALongSessionLosesDetails(t *testing.T) {
	tests := map[string]struct {
		client, capabilities json.RawMessage
		restorable           bool
		want                 string // of the client
	}{
		"a client that says much of itself":         {noise(20000), nil, true, `{"name":"test","version":"1"}`},
		"a client whose name is too long":           {json.RawMessage(`{"name":` + string(mustJSON(string(noise(20000)))) + `}`), nil, true, ``},
		"a client that says more than is looked at": {noise(2 * maxPayload), nil, true, `{"name":"test","version":"1"}`},
		"capabilities that are too long":            {session().Client, noise(20000), false, ``},
		"capabilities beyond all bounds":            {session().Client, noise(2 * maxPayload), false, ``},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := session()
			s.Client, s.Capabilities = tt.client, tt.capabilities
			id, restorable := sign(t, alice(), s)
			if restorable != tt.restorable || len(id) > MaxLength || len(id) < 22 {
				t.Fatalf("restorable %v with %d characters", restorable, len(id))
			}
			got, err := alice().OpenSession(id, issued, month)
			if !tt.restorable {
				if !errors.Is(err, ErrInvalid) {
					t.Errorf("a random id opens: %v", err)
				}
				return
			}
			if err != nil || string(got.Client) != tt.want || string(got.Capabilities) != string(tt.capabilities) {
				t.Errorf("client %s, capabilities of %d bytes, %v", got.Client, len(got.Capabilities), err)
			}
		})
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func TestWhatIsNotATokenIsRefused(t *testing.T) {
	id, _ := sign(t, alice(), session())
	changed := []byte(id)
	changed[20] ^= 1
	state := alice().SignState(State{Round: 1})
	tests := map[string]struct {
		keys *Keys
		id   string
		at   time.Time
	}{
		"nothing":                        {alice(), "", issued},
		"a random text":                  {alice(), "IFBEGZLEMZUW4ZLSEBUXGIDBEB", issued},
		"one with a changed character":   {alice(), string(changed), issued},
		"one that is cut off":            {alice(), id[:len(id)-1], issued},
		"one with more behind it":        {alice(), id + "A", issued},
		"one with padding":               {alice(), id + "=", issued},
		"one with a line break":          {alice(), id[:10] + "\n" + id[10:], issued},
		"one of another user":            {NewKeys([][]byte{key(1)}, "ben/uid-1"), id, issued},
		"one of another key":             {NewKeys([][]byte{key(2)}, "alice/uid-1"), id, issued},
		"one that is older than a month": {alice(), id, issued.Add(month + time.Second)},
		"one from the future":            {alice(), id, issued.Add(-time.Hour)},
		"the state of a call":            {alice(), state, issued},
		"one beyond the bound":           {alice(), strings.Repeat("A", MaxLength+1), issued},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if s, err := tt.keys.OpenSession(tt.id, tt.at, month); !errors.Is(err, ErrInvalid) {
				t.Errorf("opened as %+v, %v", s, err)
			}
		})
	}
	if _, err := alice().OpenState(id); !errors.Is(err, ErrInvalid) {
		t.Errorf("a session's id passes for the state of a call: %v", err)
	}
}

// TestASignedPayloadIsStillParsedStrictly signs what SignSession would not
// write.
func TestASignedPayloadIsStillParsedStrictly(t *testing.T) {
	nonce := `"BwcHBwcHBwcHBwcHBwcHBw=="`
	tests := map[string][]byte{
		"nothing":                 {},
		"no JSON":                 []byte("\x00{"),
		"another form":            []byte("\x02{}"),
		"no version":              []byte("\x00" + `{"t":1793534400,"n":` + nonce + `}`),
		"a short nonce":           []byte("\x00" + `{"v":"2025-11-25","t":1793534400,"n":"Bwc="}`),
		"an unknown field":        []byte("\x00" + `{"v":"2025-11-25","t":1793534400,"n":` + nonce + `,"x":1}`),
		"two objects":             []byte("\x00" + `{"v":"2025-11-25","t":1793534400,"n":` + nonce + `}{}`),
		"compressed garbage":      []byte("\x01\xff\xff"),
		"more than it may become": append([]byte{formDeflate}, deflate(bytes.Repeat([]byte(" "), maxPayload+1))...),
	}
	for name, payload := range tests {
		t.Run(name, func(t *testing.T) {
			if s, err := alice().OpenSession(alice().seal(purposeSession, payload), issued, month); !errors.Is(err, ErrInvalid) {
				t.Errorf("opened as %+v, %v", s, err)
			}
		})
	}
	if _, err := alice().OpenState(alice().seal(purposeState, make([]byte, stateSize+1))); !errors.Is(err, ErrInvalid) {
		t.Errorf("a long state opens: %v", err)
	}
}

func TestKeysRotate(t *testing.T) {
	old, _ := sign(t, alice(), session())
	both := NewKeys([][]byte{key(2), key(1)}, "alice/uid-1")
	if _, err := both.OpenSession(old, issued, month); err != nil {
		t.Errorf("the former key's id does not open: %v", err)
	}
	fresh, _ := sign(t, both, session())
	if _, err := NewKeys([][]byte{key(2)}, "alice/uid-1").OpenSession(fresh, issued, month); err != nil {
		t.Errorf("the first key did not sign: %v", err)
	}
}

func TestKeysAreCopied(t *testing.T) {
	secret := key(1)
	k := NewKeys([][]byte{secret}, "alice/uid-1")
	clear(secret)
	id, _ := sign(t, alice(), session())
	if _, err := k.OpenSession(id, issued, month); err != nil {
		t.Errorf("the keys changed with their source: %v", err)
	}
}

func TestAStateComesBackAsItWas(t *testing.T) {
	want := State{Process: Nonce{1}, Call: Nonce{2}, Round: 3, Request: Digest([]byte("a"), []byte("b"))}
	got, err := alice().OpenState(alice().SignState(want))
	if err != nil || got != want {
		t.Errorf("state = %+v, %v, want %+v", got, err, want)
	}
}

func TestDigestTellsPartsApart(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"", "ab"}, {"ab", ""}} {
		var b [][]byte
		for _, p := range parts {
			b = append(b, []byte(p))
		}
		d := Digest(b...)
		if other, ok := seen[d]; ok {
			t.Errorf("%q has the digest of %s", parts, other)
		}
		seen[d] = fmt.Sprintf("%q", parts)
	}
}

func TestVectors(t *testing.T) {
	id, _ := sign(t, alice(), session())
	if id != vectorSession {
		t.Errorf("session = %s, want %s", id, vectorSession)
	}
	state := alice().SignState(State{Process: Nonce{1}, Call: Nonce{2}, Round: 3, Request: Digest([]byte("a"))})
	if state != vectorState {
		t.Errorf("state = %s, want %s", state, vectorState)
	}
	// Compression may change with the toolchain; what was compressed must open.
	s, err := alice().OpenSession(vectorCompressed, issued, month)
	if err != nil || !strings.HasPrefix(string(s.Client), `{"name":"test","version":"1","description":"long long `) {
		t.Errorf("the compressed vector is %s, %v", s.Client, err)
	}
	if got := BridgeID("uid-1"); got != vectorBridge {
		t.Errorf("bridge id = %s, want %s", got, vectorBridge)
	}
}

func FuzzOpen(f *testing.F) {
	keys := alice()
	id, _ := sign(f, keys, session())
	known := map[string]bool{id: true, vectorSession: true, vectorCompressed: true}
	for k := range known {
		f.Add(k)
	}
	f.Add(keys.SignState(State{}))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := keys.OpenSession(text, issued, month); err == nil && !known[text] {
			t.Errorf("%q opens and was not signed", text)
		}
		if _, err := keys.OpenState(text); err == nil && text != keys.SignState(State{}) && text != vectorState {
			t.Errorf("%q opens and was not signed", text)
		}
	})
}

// FuzzPayload looks for a panic behind the signature.
func FuzzPayload(f *testing.F) {
	f.Add([]byte("\x00{}"))
	f.Add(append([]byte{formDeflate}, deflate([]byte(`{"v":"x"}`))...))
	f.Fuzz(func(t *testing.T, payload []byte) {
		w, err := decodeSession(payload)
		if err == nil && (w.Version == "" || len(w.Nonce) != nonceSize) {
			t.Errorf("%q is a session without what it needs", payload)
		}
	})
}
