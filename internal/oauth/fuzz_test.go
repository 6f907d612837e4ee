// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// parts returns what a token says, before and after which nothing is.
func parts(t *testing.T, token string) (header, payload string) {
	t.Helper()
	all := strings.Split(token, ".")
	if len(all) != 3 {
		t.Fatalf("%q has %d parts", token, len(all))
	}
	var decoded [2]string
	for n := range decoded {
		b := must.Value(base64.RawURLEncoding.DecodeString(all[n]))(t)
		decoded[n] = string(b)
	}
	return decoded[0], decoded[1]
}

// FuzzVerify has tokens of people who have no key: none is good that says anything
// else than those which were issued.
func FuzzVerify(f *testing.F) {
	k := keys()
	issued := []string{
		own(ownHeader, ownClaims), foreign(theirHeader, theirClaims),
		signed(jose.EdDSA, k.ed, theirHeader.with(object{"alg": "EdDSA", "kid": "ed"}).text(), theirClaims.text()),
	}
	for _, token := range issued {
		f.Add(token)
		f.Add(token + ".")
	}
	f.Add("")
	f.Add("hb_u_0123456789_abcdef")
	f.Add(encode(`{"alg":"none"}`) + "." + encode(ownClaims.text()) + ".")
	v := theVerifier(f, theIssuers(), theKeys())
	f.Fuzz(func(t *testing.T, token string) {
		_, err := v.Verify(t.Context(), token, resource, now)
		if err != nil {
			if _, ok := errors.AsType[Reason](err); !ok {
				t.Errorf("the error is %v", err)
			}
			return
		}
		header, payload := parts(t, token)
		if !slices.ContainsFunc(issued, func(i string) bool { h, p := parts(t, i); return h == header && p == payload }) {
			t.Errorf("%q is good, and nobody issued it", token)
		}
	})
}

// FuzzClaims has tokens of a server that signs anything: of those that are good,
// another decoder reads the same as was relied on.
func FuzzClaims(f *testing.F) {
	edHeader := theirHeader.with(object{"alg": "EdDSA", "kid": "ed"})
	f.Add(edHeader.text(), theirClaims.text())
	f.Add(edHeader.with(object{"typ": "application/JWT"}).text(), theirClaims.with(object{"aud": []string{"x", theirOther}, "scp": []string{"read"}}).text())
	f.Add(`{"alg":"EdDSA","alg":"none"}`, `{"iss":"`+theirs+`","iss":"x","aud":null}`)
	f.Add(edHeader.text(), `{"ISS":"`+second+`",`+theirClaims.text()[1:])
	v := theVerifier(f, theIssuers(), theKeys())
	f.Fuzz(func(t *testing.T, header, payload string) {
		got, err := v.Verify(t.Context(), signed(jose.EdDSA, keys().ed, header, payload), resource, now)
		if err != nil {
			if _, ok := errors.AsType[Reason](err); !ok || got.Subject != (SubjectKey{}) {
				t.Errorf("the error is %v, beside %v", err, got)
			}
			return
		}
		var head, claims map[string]any
		must.Succeed(t, errors.Join(json.Unmarshal([]byte(header), &head), json.Unmarshal([]byte(payload), &claims)))
		audience, _ := claims["aud"].([]any)
		if one, ok := claims["aud"].(string); ok {
			audience = []any{one}
		}
		subject, _ := claims["sub"].(string)
		ends, _ := claims["exp"].(float64)
		switch {
		case head["alg"] != "EdDSA" && head["alg"] != "Ed25519", head["jku"] != nil, head["jwk"] != nil, head["x5u"] != nil, head["crit"] != nil:
			t.Errorf("the header is %s", header)
		case claims["iss"] != theirs, got.Issuer != theirs:
			t.Errorf("the issuer is %v", claims["iss"])
		case got.Subject != KeyOf(theirs, subject) || !ValidSubject(subject):
			t.Errorf("the subject is %q", subject)
		case !slices.Contains(audience, any(resource)) && !slices.Contains(audience, any(theirOther)):
			t.Errorf("the audience is %v", audience)
		case ends <= float64(now.Add(-Leeway).Unix()):
			t.Errorf("the end is %v, %s", ends, time.Unix(int64(ends), 0))
		}
	})
}
