// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// attack is a token that must not be good, and why it is not.
type attack struct {
	token string
	want  Reason
}

// der and pemOf are how programs have a public key that confuse it with a secret.
func der(t *testing.T, key crypto.PublicKey) []byte {
	t.Helper()
	return must.Value(x509.MarshalPKIXPublicKey(key))(t)
}

func pemOf(t *testing.T, key crypto.PublicKey) []byte {
	t.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der(t, key)})
}

func jwkOf(t *testing.T, key crypto.PublicKey) string {
	t.Helper()
	return string(must.Value(json.Marshal(jose.JSONWebKey{Key: key}))(t))
}

// certificateOf returns a certificate that an attacker makes of a key.
func certificateOf(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bridges"}, NotAfter: now.Add(time.Hour)}
	b := must.Value(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return base64.StdEncoding.EncodeToString(b)
}

// byAlgorithm are attacks on how a token is verified: an attacker has public keys
// alone, or tokens that were issued to them.
func byAlgorithm(t *testing.T) map[string]attack {
	k := keys()
	header, claims := theirHeader.text(), theirClaims.text()
	good := strings.Split(own(ownHeader, ownClaims), ".")
	unsigned := func(algorithm string) string {
		return encode(ownHeader.with(object{"alg": algorithm}).text()) + "." + good[1] + "."
	}
	secret := func(algorithm string, key []byte) string {
		return signed(jose.HS256, key, theirHeader.with(object{"alg": algorithm}).text(), claims)
	}
	publicRSA := k.rsa.Public()
	return map[string]attack{
		"no algorithm at all":                               {unsigned("none"), BadAlgorithm},
		"no algorithm in other letters":                     {unsigned("nOnE"), BadAlgorithm},
		"no algorithm, with another's signature":            {unsigned("none") + good[2], BadAlgorithm},
		"an empty algorithm":                                {unsigned(""), BadAlgorithm},
		"a header without an algorithm":                     {signed(jose.ES256, k.p256, ownHeader.with(object{"alg": nil}).text(), ownClaims.text()), BadAlgorithm},
		"an algorithm that is no text":                      {signed(jose.ES256, k.p256, ownHeader.with(object{"alg": 1}).text(), ownClaims.text()), BadAlgorithm},
		"the public key as a secret, in PEM":                {secret("HS256", pemOf(t, publicRSA)), BadAlgorithm},
		"the public key as a secret, in DER":                {secret("HS256", der(t, publicRSA)), BadAlgorithm},
		"the public key as a secret, in JSON":               {secret("HS256", []byte(jwkOf(t, publicRSA))), BadAlgorithm},
		"a secret that is published by mistake":             {signed(jose.HS256, theKeys()[theirs][6].Key, theirHeader.with(object{"alg": "HS256", "kid": "secret"}).text(), claims), BadAlgorithm},
		"a secret's signature under a public algorithm":     {signed(jose.HS256, pemOf(t, publicRSA), header, claims), BadSignature},
		"a secret's signature by a published secret":        {signed(jose.HS256, theKeys()[theirs][6].Key, theirHeader.with(object{"kid": "secret"}).text(), claims), BadSignature},
		"an algorithm of another issuer":                    {signed(jose.RS256, k.rsa, ownHeader.with(object{"alg": "RS256"}).text(), ownClaims.text()), BadAlgorithm},
		"an algorithm that is not configured":               {signed(jose.ES256, k.p384, theirHeader.with(object{"alg": "ES384", "kid": "p384"}).text(), claims), BadAlgorithm},
		"an algorithm other than its key's":                 {signed(jose.PS256, k.rsa, theirHeader.with(object{"alg": "PS256", "kid": "rs256"}).text(), claims), BadSignature},
		"another algorithm's signature":                     {signed(jose.PS256, k.rsa, header, claims), BadSignature},
		"an algorithm of another kind of key":               {signed(jose.RS256, k.rsa, theirHeader.with(object{"alg": "ES256"}).text(), claims), BadSignature},
		"EdDSA with an RSA key":                             {signed(jose.RS256, k.rsa, theirHeader.with(object{"alg": "EdDSA"}).text(), claims), BadSignature},
		"Ed25519 with an RSA key":                           {signed(jose.RS256, k.rsa, theirHeader.with(object{"alg": "Ed25519"}).text(), claims), BadSignature},
		"Ed25519 with another's signature":                  {signed(jose.RS256, k.rsa, theirHeader.with(object{"alg": "Ed25519", "kid": "ed"}).text(), claims), BadSignature},
		"a curve other than the algorithm's":                {signed(jose.ES256, k.p384, theirHeader.with(object{"alg": "ES256", "kid": "p384"}).text(), claims), BadSignature},
		"an RSA key that is too short":                      {signed(jose.RS256, k.smallRSA, theirHeader.with(object{"kid": "small"}).text(), claims), BadSignature},
		"a key for encryption":                              {signed(jose.RS256, k.rsa, theirHeader.with(object{"kid": "encryption"}).text(), claims), BadSignature},
		"a private key that is published by mistake":        {signed(jose.ES256, k.p256, theirHeader.with(object{"alg": "ES256", "kid": "private"}).text(), claims), BadSignature},
		"a key without a key":                               {signed(jose.RS256, k.rsa, theirHeader.with(object{"kid": "nothing"}).text(), claims), BadSignature},
		"a key that is not known":                           {signed(jose.RS256, k.rsa, theirHeader.with(object{"kid": "new"}).text(), claims), BadSignature},
		"a key's id that is a path":                         {signed(jose.HS256, []byte{}, theirHeader.with(object{"kid": "../../dev/null"}).text(), claims), BadSignature},
		"a key's id that is no text":                        {signed(jose.RS256, k.rsa, theirHeader.with(object{"kid": []string{"rsa"}}).text(), claims), Malformed},
		"another's key of the same id":                      {signed(jose.RS256, k.otherRSA, header, claims), BadSignature},
		"another's key and no id":                           {signed(jose.ES256, k.otherP256, theirHeader.with(object{"alg": "ES256", "kid": nil}).text(), claims), BadSignature},
		"a signature of zeros":                              {good[0] + "." + good[1] + "." + encode(string(make([]byte, 64))), BadSignature},
		"a signature in ASN.1":                              {good[0] + "." + good[1] + "." + encode(asn1Of(t, good[0]+"."+good[1])), BadSignature},
		"a signature that is cut off":                       {good[0] + "." + good[1] + "." + good[2][:40], BadSignature},
		"no signature":                                      {good[0] + "." + good[1] + ".", BadSignature},
		"the signature of another token":                    {good[0] + "." + good[1] + "." + strings.Split(own(ownHeader, ownClaims.with(object{"jti": "t2"})), ".")[2], BadSignature},
		"claims that were changed":                          {good[0] + "." + encode(ownClaims.with(object{"sub": KeyOf(theirs, "victim").String()}).text()) + "." + good[2], BadSignature},
		"a header that was changed":                         {encode(ownHeader.with(object{"kid": "own", "cty": "x"}).text()) + "." + good[1] + "." + good[2], BadSignature},
		"a key of its own in the header":                    {signed(jose.ES256, k.otherP256, strings.Replace(ownHeader.text(), "{", `{"jwk":`+jwkOf(t, k.otherP256.Public())+",", 1), ownClaims.text()), Malformed},
		"the right key in the header":                       {signed(jose.ES256, k.p256, strings.Replace(ownHeader.text(), "{", `{"jwk":`+jwkOf(t, k.p256.Public())+",", 1), ownClaims.text()), Malformed},
		"a private key in the header":                       {signed(jose.ES256, k.otherP256, strings.Replace(ownHeader.text(), "{", `{"jwk":{"kty":"oct","k":"AAAA"},`, 1), ownClaims.text()), Malformed},
		"a certificate of its own in the header":            {signed(jose.ES256, k.otherP256, ownHeader.with(object{"x5c": []string{certificateOf(t, k.otherP256)}}).text(), ownClaims.text()), BadSignature},
		"a place to take keys from":                         {own(ownHeader.with(object{"jku": "https://attacker.example.com/keys"}), ownClaims), Malformed},
		"a place to take a certificate from":                {own(ownHeader.with(object{"x5u": "https://attacker.example.com/chain"}), ownClaims), Malformed},
		"something that must be understood":                 {own(ownHeader.with(object{"crit": []string{"exp"}, "exp": 1}), ownClaims), Malformed},
		"nothing that must be understood":                   {own(ownHeader.with(object{"crit": []string{}}), ownClaims), Malformed},
		"a payload that is not encoded":                     {own(ownHeader.with(object{"b64": false}), ownClaims), Malformed},
		"a payload that is not encoded, which is critical":  {own(ownHeader.with(object{"b64": false, "crit": []string{"b64"}}), ownClaims), Malformed},
		"a payload that is compressed":                      {own(ownHeader.with(object{"zip": "DEF"}), ownClaims), Malformed},
		"a payload that is encrypted, by its header's word": {own(ownHeader.with(object{"enc": "A256GCM"}), ownClaims), Malformed},
	}
}

func asn1Of(t *testing.T, input string) string {
	t.Helper()
	h := crypto.SHA256.New()
	h.Write([]byte(input))
	return string(must.Value(ecdsa.SignASN1(rand.Reader, keys().p256, h.Sum(nil)))(t))
}

// byForm are attacks on how a token is read.
func byForm(*testing.T) map[string]attack {
	k := keys()
	good := own(ownHeader, ownClaims)
	parts := strings.Split(good, ".")
	raw := func(header, payload string) string { return signed(jose.ES256, k.p256, header, payload) }
	also := func(o object, member string) string { return strings.TrimSuffix(o.text(), "}") + "," + member + "}" }
	return map[string]attack{
		"nothing":                              {"", Malformed},
		"an API key":                           {"hb_u_0123456789_abcdef", Malformed},
		"dots":                                 {"..", BadAlgorithm},
		"one part":                             {parts[0], Malformed},
		"two parts":                            {parts[0] + "." + parts[1], Malformed},
		"four parts":                           {good + ".", Malformed},
		"five parts, as what is encrypted has": {good + ".." + parts[2], Malformed},
		"JSON":                                 {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, Malformed},
		"a line end within":                    {parts[0] + "\n." + parts[1] + "." + parts[2], Malformed},
		"a line end after it":                  {good + "\n", Malformed},
		"a space before it":                    {" " + good, Malformed},
		"padding":                              {parts[0] + "." + parts[1] + "." + parts[2] + "==", Malformed},
		"characters of other base64":           {parts[0] + "." + parts[1] + ".+/" + parts[2][2:], Malformed},
		"letters that look the same":           {strings.Replace(good, "e", "е", 1), Malformed}, // A Cyrillic one.
		"two tokens":                           {good + "," + good, Malformed},
		"a byte too many":                      {own(ownHeader, ownClaims.with(object{"pad": strings.Repeat("a", maxToken)})), Malformed},
		"a header that is a list":              {raw(`["alg","ES256"]`, ownClaims.text()), Malformed},
		"a header that is null":                {raw("null", ownClaims.text()), Malformed},
		"a header that is nothing":             {raw("", ownClaims.text()), BadAlgorithm},
		"a header with something after it":     {raw(ownHeader.text()+"{}", ownClaims.text()), Malformed},
		"claims that are a list":               {raw(ownHeader.text(), "[]"), Malformed},
		"claims that are null":                 {raw(ownHeader.text(), "null"), UnknownIssuer},
		"claims that are nothing":              {raw(ownHeader.text(), ""), Malformed},
		"claims that are no JSON":              {raw(ownHeader.text(), ownClaims.text()[1:]), Malformed},
		"claims with something after them":     {raw(ownHeader.text(), ownClaims.text()+ownClaims.text()), Malformed},
		"claims of many levels":                {raw(ownHeader.text(), also(ownClaims, `"deep":`+strings.Repeat("[", 5000))), Malformed},
		"two algorithms":                       {raw(also(ownHeader, `"alg":"none"`), ownClaims.text()), Malformed},
		"two algorithms, one escaped":          {raw(also(ownHeader, `"\u0061lg":"ES256"`), ownClaims.text()), Malformed},
		"two ids of keys":                      {raw(also(ownHeader, `"kid":"own-next"`), ownClaims.text()), Malformed},
		"two types":                            {raw(also(ownHeader, `"typ":"JWT"`), ownClaims.text()), Malformed},
		"two issuers":                          {raw(ownHeader.text(), also(ownClaims, `"iss":"`+theirs+`"`)), Malformed},
		"two subjects":                         {raw(ownHeader.text(), also(ownClaims, `"sub":"`+KeyOf(theirs, "victim").String()+`"`)), Malformed},
		"two audiences apart":                  {raw(ownHeader.text(), also(ownClaims, `"aud":"https://else.example.com"`)), Malformed},
		"two ends":                             {raw(ownHeader.text(), also(ownClaims, `"exp":9999999999`)), Malformed},
		"two scopes":                           {raw(ownHeader.text(), also(ownClaims, `"scope":"mcp:read"`)), Malformed},
		"two of what nobody reads":             {raw(ownHeader.text(), also(ownClaims, `"else":{"a":1,"a":2}`)), Malformed},
		"the members' names in capitals":       {raw(ownHeader.text(), strings.ToUpper(ownClaims.text())), UnknownIssuer},
	}
}

// byClaims are attacks with tokens that somebody really has issued.
func byClaims(*testing.T) map[string]attack {
	ours := func(changes object) string { return own(ownHeader, ownClaims.with(changes)) }
	other := func(changes object) string { return foreign(theirHeader, theirClaims.with(changes)) }
	typed := func(typ any) string { return own(ownHeader.with(object{"typ": typ}), ownClaims) }
	return map[string]attack{
		"an issuer that is not configured":        {ours(object{"iss": "https://attacker.example.com"}), UnknownIssuer},
		"no issuer":                               {ours(object{"iss": nil}), UnknownIssuer},
		"an issuer with a slash more":             {ours(object{"iss": publicURL + "/"}), UnknownIssuer},
		"an issuer in capitals":                   {ours(object{"iss": strings.ToUpper(publicURL)}), UnknownIssuer},
		"an issuer with something after it":       {ours(object{"iss": publicURL + ".attacker.example.com"}), UnknownIssuer},
		"several issuers":                         {ours(object{"iss": []string{publicURL, theirs}}), Malformed},
		"our issuer by another's key":             {foreign(ownHeader.with(object{"alg": "ES256"}), ownClaims), BadSignature},
		"another issuer by our key":               {own(ownHeader.with(object{"kid": "rsa"}), theirClaims), BadSignature},
		"one issuer by the key of a third":        {signed(jose.RS256, keys().otherRSA, theirHeader.text(), theirClaims.text()), BadSignature},
		"a token for another user's bridge":       {ours(object{"aud": []string{publicURL + "/u/bob/mcp"}}), BadAudience},
		"a token for the same bridge's other URL": {ours(object{"aud": []string{publicURL + "/u/alice/sse"}}), BadAudience},
		"a token for the URL of everyone":         {ours(object{"aud": []string{publicURL + "/mcp"}}), BadAudience},
		"a token for the installation":            {ours(object{"aud": []string{publicURL}}), BadAudience},
		"a token for two users' bridges":          {ours(object{"aud": []string{resource, publicURL + "/u/bob/mcp"}}), BadAudience},
		"a token for the same twice":              {ours(object{"aud": []string{resource, resource}}), BadAudience},
		"a token for a longer URL":                {ours(object{"aud": []string{resource + "/"}}), BadAudience},
		"a token for a URL in capitals":           {ours(object{"aud": []string{strings.ToUpper(resource)}}), BadAudience},
		"a token for a URL that is encoded":       {ours(object{"aud": []string{publicURL + "/u/%61lice/mcp"}}), BadAudience},
		"a token for nobody":                      {ours(object{"aud": nil}), BadAudience},
		"a token for an empty list":               {ours(object{"aud": []string{}}), BadAudience},
		"a token for an empty audience":           {ours(object{"aud": ""}), BadAudience},
		"a token for a number":                    {ours(object{"aud": 1}), Malformed},
		"a token for a list of numbers":           {ours(object{"aud": []int{1}}), Malformed},
		"a token for another of their services":   {other(object{"aud": "https://mail.example.com"}), BadAudience},
		"a token for their client":                {other(object{"aud": "client"}), BadAudience},
		"our token for another's audience":        {ours(object{"aud": []string{theirOther}}), BadAudience},
		"an ID token":                             {typed("JWT"), BadType},
		"a logout token":                          {typed("logout+jwt"), BadType},
		"a token without a type":                  {typed(nil), BadType},
		"a type that is no text":                  {typed([]string{"at+jwt"}), BadType},
		"a type with a parameter":                 {typed("at+jwt;v=1"), BadType},
		"a type with a prefix twice":              {typed("application/application/at+jwt"), BadType},
		"an end that was":                         {ours(object{"exp": now.Add(-Leeway).Unix()}), Expired},
		"an end in 1970":                          {ours(object{"exp": 0}), Expired},
		"an end before that":                      {ours(object{"exp": -1}), Expired},
		"no end":                                  {ours(object{"exp": nil}), Malformed},
		"an end that is text":                     {ours(object{"exp": "9999999999"}), Malformed},
		"an end beyond all time":                  {ours(object{"exp": json.RawMessage("1e300")}), Malformed},
		"a beginning that is to come":             {other(object{"nbf": now.Add(Leeway + time.Second).Unix()}), NotYetValid},
		"a beginning beyond all time":             {other(object{"nbf": json.RawMessage("1e19")}), Malformed},
		"a token of the future":                   {ours(object{"iat": now.Add(Leeway + time.Second).Unix()}), NotYetValid},
		"nobody's":                                {other(object{"sub": nil}), NoSubject},
		"an empty subject":                        {other(object{"sub": ""}), NoSubject},
		"a subject that is a number":              {other(object{"sub": 7}), Malformed},
		"a subject of many characters":            {other(object{"sub": strings.Repeat("a", maxSubject+1)}), NoSubject},
		"a subject with a line end":               {other(object{"sub": thePerson + "\n"}), NoSubject},
		"a subject that cannot be decoded":        {other(object{"sub": json.RawMessage(`"\ud800"`)}), NoSubject},
		"nobody's of our own":                     {ours(object{"sub": nil}), NoSubject},
		"a name of another server in our own":     {ours(object{"sub": thePerson}), NoSubject},
		"a subject of our own with a line end":    {ours(object{"sub": KeyOf(theirs, thePerson).String() + "\n"}), NoSubject},
		"our own without an id":                   {ours(object{"jti": nil}), Malformed},
		"our own without a client":                {ours(object{"client_id": nil}), Malformed},
		"our own for another's client":            {ours(object{"client_id": nil, "azp": "client"}), Malformed},
		"our own without a beginning":             {ours(object{"iat": nil}), Malformed},
		"our own with a user that is none":        {ours(object{ClaimUser: "../bob"}), Malformed},
		"our own with an empty user":              {ours(object{ClaimUser: ""}), Malformed},
		"our own with an empty bridge":            {ours(object{ClaimBridge: ""}), Malformed},
		"our own with bridges":                    {ours(object{ClaimBridge: []string{"uid-1", "uid-2"}}), Malformed},
		"our own with users":                      {ours(object{ClaimUser: []string{"alice", "bob"}}), Malformed},
		"a scope that is a number":                {ours(object{"scope": 1}), Malformed},
		"scopes that are numbers":                 {ours(object{"scope": []int{1}}), Malformed},
	}
}

func TestTokensOfAttackers(t *testing.T) {
	v := theVerifier(t, theIssuers(), theKeys())
	all := byAlgorithm(t)
	maps.Copy(all, byForm(t))
	maps.Copy(all, byClaims(t))
	for name, tt := range all {
		t.Run(name, func(t *testing.T) {
			got, err := v.Verify(t.Context(), tt.token, resource, now)
			if !errors.Is(err, tt.want) || !errors.Is(err, ErrToken) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if err != nil && err.Error() != tt.want.Error() {
				t.Errorf("the error says more than its reason: %v", err)
			}
			if got.Subject != (SubjectKey{}) || got.User != "" || got.Read || got.Call {
				t.Errorf("beside the error there is %+v", got)
			}
		})
	}
}

func TestNothingIsGoodAtNoResource(t *testing.T) {
	v := theVerifier(t, theIssuers(), theKeys())
	for _, token := range []string{
		own(ownHeader, ownClaims.with(object{"aud": ""})), foreign(theirHeader, theirClaims.with(object{"aud": theirOther})),
	} {
		if _, err := v.Verify(t.Context(), token, "", now); !errors.Is(err, BadAudience) {
			t.Errorf("got %v", err)
		}
	}
}
