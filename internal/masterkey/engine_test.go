// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// rootToken may do everything at the engine.
const rootToken = "hvs.root-token-of-the-tests-0123456789"

// engine does what the transit engine of Vault and OpenBao does, as far as it
// is used here: keys derived by HKDF from a context, AES-256-GCM with
// associated data, versions, the lowest of which may be forbidden. Its answers
// are those of sdk/helper/keysutil and builtin/logical/transit.
type engine struct {
	mu     sync.Mutex
	mounts map[string]bool
	keys   map[string]*engineKey
	tokens map[string]bool
	logins int
	// earlier has it answer in the words of earlier releases.
	earlier bool
	// deaf has it not know associated data, as releases before them.
	deaf bool
	// intercept, if set, answers in its place when it returns true.
	intercept func(http.ResponseWriter, *http.Request) bool
	requests  []string
}

type engineKey struct {
	versions   map[int][]byte
	latest     int
	minimum    int
	minEncrypt int
	derived    bool
	convergent bool
	kind       string
	deletable  bool
}

func newEngine() *engine {
	return &engine{mounts: map[string]bool{}, keys: map[string]*engineKey{}, tokens: map[string]bool{rootToken: true}}
}

// serve runs an engine until the test ends.
func serve(t testing.TB) (*engine, server) {
	t.Helper()
	e := newEngine()
	ts := httptest.NewServer(e)
	t.Cleanup(ts.Close)
	s := server{address: ts.URL, token: rootToken}
	s.mount(t, "transit")
	return e, s
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, r.Method+" "+r.URL.Path)
	if e.intercept != nil && e.intercept(w, r) {
		return
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	var body map[string]any
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&body) != nil {
		refuse(w, 400, "error parsing JSON")
		return
	}
	if path[0] == "auth" {
		e.login(w, body)
		return
	}
	if !e.tokens[r.Header.Get("X-Vault-Token")] {
		refuse(w, 403, "permission denied")
		return
	}
	switch {
	case path[0] == "sys" && path[1] == "mounts":
		e.mounts[path[2]] = true
		w.WriteHeader(204)
	case !e.mounts[path[0]] || len(path) < 3:
		refuse(w, 404, fmt.Sprintf("no handler for route %q. route entry not found.", r.URL.Path))
	case path[1] == "keys":
		e.serveKey(w, r.Method, path[2:], body)
	case e.keys[path[2]] == nil:
		refuse(w, 400, "encryption key not found")
	case path[1] == "encrypt":
		e.encrypt(w, e.keys[path[2]], body)
	case path[1] == "decrypt":
		e.decrypt(w, e.keys[path[2]], body)
	}
}

func (e *engine) login(w http.ResponseWriter, body map[string]any) {
	if body["role"] != "keybroker" || body["jwt"] != "the.service.account" {
		refuse(w, 400, `invalid role name "`+fmt.Sprint(body["role"])+`"`)
		return
	}
	e.logins++
	token := fmt.Sprintf("hvs.login-%d", e.logins)
	e.tokens[token] = true
	reply(w, map[string]any{"auth": map[string]any{"client_token": token, "lease_duration": 60, "renewable": true}})
}

func (e *engine) serveKey(w http.ResponseWriter, method string, path []string, body map[string]any) {
	name, k := path[0], e.keys[path[0]]
	switch {
	case method == http.MethodPost && len(path) == 1:
		k = &engineKey{versions: map[int][]byte{}, minimum: 1, kind: "aes256-gcm96", derived: body["derived"] == true, convergent: body["convergent_encryption"] == true}
		if kind, ok := body["type"].(string); ok {
			k.kind = kind
		}
		k.rotate()
		e.keys[name] = k
		w.WriteHeader(204)
	case k == nil:
		refuse(w, 404)
	case method == http.MethodGet:
		versions := map[string]any{}
		for v := k.minimum; v <= k.latest; v++ {
			versions[strconv.Itoa(v)] = 1795000000
		}
		reply(w, map[string]any{"data": map[string]any{
			"name": name, "type": k.kind, "derived": k.derived, "convergent_encryption": k.convergent, "kdf": "hkdf_sha256",
			"latest_version": k.latest, "min_decryption_version": k.minimum, "min_encryption_version": k.minEncrypt, "keys": versions,
		}})
	case method == http.MethodDelete && !k.deletable:
		refuse(w, 400, "error deleting policy "+name+": deletion is not allowed for this policy")
	case method == http.MethodDelete:
		delete(e.keys, name)
		w.WriteHeader(204)
	case path[1] == "rotate":
		k.rotate()
		w.WriteHeader(204)
	case path[1] == "config":
		k.deletable = k.deletable || body["deletion_allowed"] == true
		if v, ok := body["min_decryption_version"].(float64); ok {
			k.minimum = int(v)
		}
		if v, ok := body["min_encryption_version"].(float64); ok {
			k.minEncrypt = int(v)
		}
		w.WriteHeader(204)
	}
}

func (k *engineKey) rotate() {
	k.latest++
	k.versions[k.latest] = make([]byte, 32)
	_, _ = rand.Read(k.versions[k.latest])
}

func (e *engine) encrypt(w http.ResponseWriter, k *engineKey, body map[string]any) {
	version := int(body["key_version"].(float64))
	switch {
	case version == 0:
		version = k.latest
	case version > k.latest:
		refuse(w, 400, "requested version for encryption is higher than the latest key version")
		return
	case version < k.minEncrypt:
		refuse(w, 400, "requested version for encryption is less than the minimum encryption key version")
		return
	}
	aead, message := k.aead(version, body)
	if message != "" {
		refuse(w, 400, message)
		return
	}
	nonce := make([]byte, 12)
	_, _ = rand.Read(nonce)
	sealed := aead.Seal(nonce, nonce, decode(body["plaintext"]), e.associated(body))
	reply(w, map[string]any{"data": map[string]any{
		"ciphertext": fmt.Sprintf("vault:v%d:%s", version, base64.StdEncoding.EncodeToString(sealed)), "key_version": version,
	}})
}

func (e *engine) decrypt(w http.ResponseWriter, k *engineKey, body map[string]any) {
	var version int
	var encoded string
	if _, err := fmt.Sscanf(body["ciphertext"].(string), "vault:v%d:%s", &version, &encoded); err != nil {
		refuse(w, 400, "invalid ciphertext: no prefix")
		return
	}
	switch {
	case version > k.latest:
		refuse(w, 400, "invalid ciphertext: version is too new")
		return
	case version < k.minimum:
		refuse(w, 400, "ciphertext or signature version is disallowed by policy (too old)")
		return
	}
	aead, message := k.aead(version, body)
	if message != "" {
		refuse(w, 400, message)
		return
	}
	sealed := decode(encoded)
	plaintext, err := aead.Open(nil, sealed[:12], sealed[12:], e.associated(body))
	if err != nil && e.earlier {
		refuse(w, 400, "invalid ciphertext: unable to decrypt")
		return
	}
	if err != nil {
		refuse(w, 400, err.Error())
		return
	}
	reply(w, map[string]any{"data": map[string]any{"plaintext": base64.StdEncoding.EncodeToString(plaintext)}})
}

func (e *engine) associated(body map[string]any) []byte {
	if e.deaf {
		return nil
	}
	return decode(body["associated_data"])
}

// aead is the cipher of a derived key.
func (k *engineKey) aead(version int, body map[string]any) (cipher.AEAD, string) {
	context := decode(body["context"])
	if len(context) == 0 {
		return nil, "missing 'context' for key derivation; the key was created using a derived key"
	}
	if k.versions[version] == nil {
		return nil, "no such key version"
	}
	derived, err := hkdf.Key(sha256.New, k.versions[version], nil, string(context), 32)
	if err != nil {
		return nil, err.Error()
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err.Error()
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err.Error()
	}
	return aead, ""
}

func decode(value any) []byte {
	s, _ := value.(string)
	b, _ := base64.StdEncoding.DecodeString(s)
	return b
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, texts ...string) {
	if texts == nil {
		texts = []string{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": texts})
}
