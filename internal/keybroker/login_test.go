// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	loginKeysPath = "/v1/login/keys"
	loginSignPath = "/v1/login/sign"
)

// loginClaims are those of a token that begins now, of this person.
func loginClaims(subject string) []byte {
	now := time.Now().Unix()
	return fmt.Appendf(nil, `{"iss":"https://bridges.example.com","sub":%q,"aud":["https://bridges.example.com/mcp"],"jti":"1","iat":%d,"exp":%d}`, subject, now, now+900)
}

// verified returns what a token says if a key of the set has signed it.
func verified(token string, set jose.JSONWebKeySet) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return nil, err
	}
	keys := set.Key(signed.Signatures[0].Header.KeyID)
	if len(keys) != 1 {
		return nil, errors.New("it is signed by no key of the set")
	}
	return signed.Verify(keys[0])
}

// loginKeys asks for the public keys as the ingress does.
func loginKeys(t *testing.T, h http.Handler) jose.JSONWebKeySet {
	t.Helper()
	w := ask(t, h, "GET", loginKeysPath, ingressCertificate, "", nil)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/jwk-set+json" {
		t.Fatalf("%d, header %v", w.Code, w.Header())
	}
	if bytes.Contains(w.Body.Bytes(), []byte(`"d"`)) {
		t.Error("a private key is in the answer")
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(w.Body.Bytes(), &set); err != nil || len(set.Keys) != 3 {
		t.Fatalf("%d keys, error %v", len(set.Keys), err)
	}
	return set
}

func TestTheIngressHasAccessTokensSigned(t *testing.T) {
	var log bytes.Buffer
	s, registry := testServer(t, newWorld(), &log)
	h := s.handler()
	w := ask(t, h, "POST", loginSignPath, ingressCertificate, "application/json", loginClaims(canary))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/jwt" || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s, header %v", w.Code, w.Body, w.Header())
	}
	token := w.Body.String()
	if said, err := verified(token, loginKeys(t, h)); err != nil || !bytes.Contains(said, []byte(canary)) {
		t.Errorf("the token says %s, error %v", said, err)
	}
	// Another replica has the same keys.
	other, _ := testServer(t, newWorld(), io.Discard)
	if _, err := verified(token, loginKeys(t, other.handler())); err != nil {
		t.Errorf("by another replica's keys: %v", err)
	}
	ask(t, h, "POST", loginSignPath, ingressCertificate, "application/json", []byte("{}"))
	want := map[string]float64{"login_keys 200 ": 1, "login_sign 200 ": 1, "login_sign 400 claims_invalid": 1}
	if diff := cmp.Diff(want, requests(t, registry)); diff != "" {
		t.Errorf("hostedbridge_keybroker_requests_total (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"": 1}, counters(t, registry, "hostedbridge_keybroker_login_signatures_total")); diff != "" {
		t.Errorf("hostedbridge_keybroker_login_signatures_total (-want +got):\n%s", diff)
	}
	if strings.Contains(log.String(), canary) || strings.Contains(log.String(), token) || strings.Contains(log.String(), token[:20]) {
		t.Error("a token or what it says is in the log")
	}
	if !strings.Contains(log.String(), `"route":"login_sign","status":200,"duration":`) || !strings.Contains(log.String(), `"caller":"ingress"`) {
		t.Errorf("log: %s", log.String())
	}
}

func TestWhatIsWrongWithClaimsIsSaidAndNotQuoted(t *testing.T) {
	var log bytes.Buffer
	s, _ := testServer(t, newWorld(), &log)
	now := time.Now().Unix()
	body := fmt.Appendf(nil, `{"iss":%q,"sub":"a","aud":["b"],"jti":"c","iat":%d,"exp":%d}`, canary, now, now+3601)
	code, detail := refusal(t, ask(t, s.handler(), "POST", loginSignPath, ingressCertificate, "application/json", body))
	if code != "claims_invalid" || !strings.Contains(detail, "exp") || strings.Contains(detail+log.String(), canary) {
		t.Errorf("%s: %s, log %s", code, detail, log.String())
	}
	_, detail = refusal(t, ask(t, s.handler(), "POST", loginSignPath, ingressCertificate, "text/plain", body))
	if detail != "Send Content-Type: application/json." {
		t.Errorf("of another type: %s", detail)
	}
}

func TestAnotherGenerationEndsAllTokens(t *testing.T) {
	deps := testDeps(t, newWorld(), newWorld(), io.Discard)
	m, _ := deps.MasterKey.(*master)
	s := must.Value(New(Config{Namespace: system}, deps))(t)
	h := s.handler()
	signed := func() string {
		t.Helper()
		return ask(t, h, "POST", loginSignPath, ingressCertificate, "application/json", loginClaims("a")).Body.String()
	}
	before := signed()
	m.login = 1
	if _, err := verified(before, loginKeys(t, h)); err == nil {
		t.Error("a token of the generation before is verified")
	}
	if _, err := verified(signed(), loginKeys(t, h)); err != nil {
		t.Errorf("a token of this generation: %v", err)
	}
}

// TestTheClientHasTokensSignedOverTLS goes the whole way, and looks at who gets
// no token.
func TestTheClientHasTokensSignedOverTLS(t *testing.T) {
	var log logtest.Log
	s, registry := testServer(t, newWorld(), &log)
	url := listen(t, s)
	login := client.NewLogin(newClient(t, s, url, "token"), started(t, s, url, "token-of-ingress-1"))
	token, err := login.Sign(t.Context(), loginClaims(canary))
	if err != nil {
		t.Fatal(err)
	}
	set := must.Value(login.Keys(t.Context()))(t)
	if _, err := verified(token, set); err != nil {
		t.Error(err)
	}
	_, err = login.Sign(t.Context(), []byte(`{"iss":"`+canary+`"}`))
	if refusal, ok := errors.AsType[*client.Refusal](err); !ok || refusal.Code != "claims_invalid" || refusal.Detail == "" || strings.Contains(err.Error(), canary) {
		t.Errorf("error %v", err)
	}
	bridge := client.NewLogin(newClient(t, s, url, "token"), started(t, s, url, "token-of-alice-pod"))
	if token, err := bridge.Sign(t.Context(), loginClaims(canary)); err == nil || token != "" {
		t.Error("a bridge has a token signed")
	}
	if _, err := bridge.Keys(t.Context()); err == nil {
		t.Error("a bridge gets the keys")
	}
	if got := counters(t, registry, "hostedbridge_keybroker_login_signatures_total"); got[""] != 1 {
		t.Errorf("%v signatures", got)
	}
	if strings.Contains(log.String(), canary) {
		t.Error("claims are in the log")
	}
}

func TestWhoGetsNoToken(t *testing.T) {
	s, registry := testServer(t, newWorld(), io.Discard)
	for _, test := range []struct {
		name      string
		authority byte
		subject   pki.Subject
	}{
		{"a bridge", 1, pki.BridgeSubject("uid-alice")},
		{"a service", 1, pki.ServiceSubject("hosted-bridge-keybroker.ns.svc")},
		{"the ingress of another installation", 2, pki.IngressSubject()},
	} {
		t.Run(test.name, func(t *testing.T) {
			for path, r := range map[string]*http.Request{
				loginKeysPath: httptest.NewRequestWithContext(t.Context(), "GET", loginKeysPath, http.NoBody),
				loginSignPath: httptest.NewRequestWithContext(t.Context(), "POST", loginSignPath, bytes.NewReader(loginClaims("a"))),
			} {
				r.TLS = shown(t, testAuthority(t, test.authority), test.subject)
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				s.handler().ServeHTTP(w, r)
				if code, _ := refusal(t, w); code != "caller_not_allowed" {
					t.Errorf("%s: %d %s", path, w.Code, code)
				}
			}
		})
	}
	if got := counters(t, registry, "hostedbridge_keybroker_login_signatures_total"); got[""] != 0 {
		t.Errorf("%v signatures", got)
	}
}
