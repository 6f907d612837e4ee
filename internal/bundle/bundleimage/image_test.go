// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundleimage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// serve returns a repository of a registry that has an API of referrers or not, and how many
// bytes were sent to it.
func serve(t *testing.T, referrers bool, wrap func(http.Handler) http.Handler) (*Repository, *atomic.Int64) {
	t.Helper()
	sent := &atomic.Int64{}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers))
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(max(0, r.ContentLength))
		wrap(handler).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return must.Value(Open(Config{
		Name: strings.TrimPrefix(server.URL, "https://") + "/mcp/bundles", Credentials: filepath.Join(t.TempDir(), "config.json"), Authorities: authority,
	}))(t), sent
}

func open(h http.Handler) http.Handler { return h }

// aBundle returns a bundle of one file.
func aBundle(t *testing.T) (*bundle.Record, *bytes.Reader) {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "index.js"), []byte(strings.Repeat("console.log(1)\n", 1000)), 0o600))
	var compressed bytes.Buffer
	result := must.Value(bundle.Pack(dir, &compressed, bundle.Limits{}))(t)
	return &bundle.Record{
		Source: bundle.Source{Method: "npx", Package: "@s/x", Version: "1.0.0", Architecture: "amd64", Runtime: "node:22"},
		Digest: result.Digest, Size: result.Size, CompressedSize: int64(compressed.Len()), Made: time.Unix(1, 0).UTC(),
		Bins: map[string]string{"x": "index.js"}, Packages: []bundle.Package{{Name: "@s/x", Version: "1.0.0"}}, Lock: "{}",
	}, bytes.NewReader(compressed.Bytes())
}

func TestABundleComesBackFromTheRegistryAsItWas(t *testing.T) {
	t.Parallel()
	for name, referrers := range map[string]bool{"with an API of referrers": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repository, sent := serve(t, referrers, open)
			record, compressed := aBundle(t)
			first := must.Value(repository.Push(t.Context(), "x-1", record, compressed))(t)
			sent.Store(0)
			if second := must.Value(repository.Push(t.Context(), "x-1", record, compressed))(t); second != first {
				t.Errorf("pushed again it is %s, and was %s", second, first)
			}
			if sent.Load() > 8<<10 {
				t.Errorf("pushed again it sends %d bytes", sent.Load())
			}
			found := must.Value(repository.Find(t.Context(), "x-1"))(t)
			if diff := cmp.Diff(*record, found.Record); diff != "" || found.Image != first {
				t.Errorf("%s (-want +got):\n%s", found.Image, diff)
			}
			content := must.Value(repository.Fetch(t.Context(), found))(t)
			defer content.Close()
			must.Succeed(t, bundle.Verify(t.Context(), content, record.Digest, record.Size))
		})
	}
}

func TestABundleThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	repository, _ := serve(t, true, open)
	if _, err := repository.Find(t.Context(), "x-1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestWhyARegistryTakesNoBundleIsSaidWithoutCredentials(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{http.StatusUnauthorized: "refuses these credentials for", http.StatusForbidden: "refuses these credentials for", http.StatusRequestEntityTooLarge: "takes no layer of this size"} {
		repository, _ := serve(t, true, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		})
		record, compressed := aBundle(t)
		if _, err := repository.Push(t.Context(), "x-1", record, compressed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", status, err)
		}
	}
	for _, name := range []string{"", "registry.example.com", "registry.example.com/a:tag", "https://registry.example.com/a"} {
		if _, err := Open(Config{Name: name, Credentials: "none"}); err == nil {
			t.Errorf("%q is a repository", name)
		}
	}
	if _, err := Open(Config{Name: "registry.example.com/a", Credentials: "none", Authorities: "none"}); err == nil {
		t.Error("a text is a certificate authority")
	}
}

func TestCredentialsOfASecretAreSent(t *testing.T) {
	t.Parallel()
	repository, _ := serve(t, true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name, password, _ := r.BasicAuth(); name != "me" || password != "secret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	record, compressed := aBundle(t)
	file := filepath.Join(t.TempDir(), "config.json")
	host, _, _ := strings.Cut(repository.Name(), "/")
	must.Succeed(t, os.WriteFile(file, []byte(`{"auths":{"`+host+`":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("me:secret"))+`"}}}`), 0o600))
	if _, err := repository.Push(t.Context(), "x-1", record, compressed); err == nil {
		t.Error("it is pushed without credentials")
	}
	withCredentials(t, repository, file)
	must.Value(repository.Push(t.Context(), "x-1", record, compressed))(t)
}

// TestASignatureIsWhereCosignLooksForIt has the form that cosign 3 verifies with a public key.
func TestASignatureIsWhereCosignLooksForIt(t *testing.T) {
	t.Parallel()
	repository, _ := serve(t, true, open)
	record, compressed := aBundle(t)
	image := must.Value(repository.Push(t.Context(), "x-1", record, compressed))(t)
	must.Succeed(t, repository.Sign(t.Context(), image, []byte(`{"critical":{}}`), []byte("signature")))
	_, from, err := repository.remote.FetchReference(t.Context(), "sha256-"+image[7:]+".sig")
	must.Succeed(t, err)
	manifest := must.Value(repository.read(from))(t)
	got := string(must.Value(json.Marshal(manifest.Layers))(t))
	want := `[{"mediaType":"application/vnd.dev.cosign.simplesigning.v1+json","digest":"` + manifest.Layers[0].Digest.String() +
		`","size":15,"annotations":{"dev.cosignproject.cosign/signature":"c2lnbmF0dXJl"}}]`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// withCredentials has a repository use the credentials of a file.
func withCredentials(t *testing.T, r *Repository, file string) {
	t.Helper()
	client := r.remote.Client.(*auth.Client)
	client.Credential = credentials.Credential(must.Value(credentials.NewFileStore(file))(t))
}
