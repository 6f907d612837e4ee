// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlejob

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundlestore"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// installed is a tree as npm leaves it.
var installed = map[string]string{
	"package.json": `{"dependencies":{"@s/x":"^1.0.0"}}`,
	"package-lock.json": `{"lockfileVersion":3,"packages":{"":{},"node_modules/@s/x":{"version":"1.0.0","license":"MIT"},
		"node_modules/dep":{"version":"2.0.0","hasInstallScript":true}}}`,
	"node_modules/@s/x/package.json": `{"bin":"index.js"}`,
	"node_modules/@s/x/index.js":     "console.log(1)",
	"node_modules/dep/index.js":      "",
}

// world is a keybroker, a store, and what npm left.
type world struct {
	Options
	authority *pki.Authority
	roots     *x509.CertPool
	store     *httptest.Server
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{authority: must.Value(pki.NewAuthority([32]byte{1}))(t), roots: x509.NewCertPool()}
	w.roots.AppendCertsFromPEM(w.authority.CertificatePEM())
	broker := serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/images/sign" {
			must.Succeed(t, json.NewEncoder(rw).Encode(map[string][]byte{"payload": body, "signature": must.Value(w.authority.SignImage(body))(t)}))
			return
		}
		chain, err := w.authority.Issue(rand.Reader, body, pki.BundlerSubject(), time.Now())
		if err != nil {
			t.Error(err)
		}
		_, _ = rw.Write(chain)
	}), &tls.Config{Certificates: []tls.Certificate{pkitest.Certificate(t, w.authority, pki.ServiceSubject("localhost"))}, MinVersion: tls.VersionTLS13})
	bundles := must.Value(bundlestore.Open(bundlestore.Config{Directory: t.TempDir(), MaxTotal: 1 << 20, MaxBundle: 64 << 10, Clock: clock.System{}}))(t)
	mux := http.NewServeMux()
	bundles.Register(mux, slog.New(slog.DiscardHandler))
	w.store = serve(t, mux, &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pkitest.Certificate(t, w.authority, pki.StoreSubject())},
		ClientAuth: tls.RequireAnyClientCert, VerifyConnection: pki.VerifyBundleClient(w.roots, time.Now),
	})
	dir := t.TempDir()
	w.Declare(os.Getenv)
	w.Tree, w.Log, w.ExitCode = filepath.Join(dir, "tree"), filepath.Join(dir, "log"), filepath.Join(dir, "code")
	w.Package, w.Version, w.Architecture, w.Image = "@s/x", "1.0.0", "amd64", "node:22"
	w.Result, w.Temporary, w.TokenFile = filepath.Join(dir, "result"), t.TempDir(), filepath.Join(dir, "token")
	w.StoreURL, w.KeybrokerURL, w.KeybrokerCA = w.store.URL, strings.Replace(broker.URL, "127.0.0.1", "localhost", 1), string(w.authority.CertificatePEM())
	for name, text := range map[string]string{w.TokenFile: "token", w.ExitCode: "0\n", w.Log: "added 2 packages\n"} {
		must.Succeed(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for name, text := range files {
		must.Succeed(t, os.MkdirAll(filepath.Dir(filepath.Join(w.Tree, name)), 0o755))
		must.Succeed(t, os.WriteFile(filepath.Join(w.Tree, name), []byte(text), 0o600))
	}
	return w
}

func serve(t *testing.T, handler http.Handler, config *tls.Config) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// outcome returns what the packer wrote, and fails the test if it left anything else.
func (w *world) outcome(t *testing.T) bundle.Outcome {
	t.Helper()
	if left := must.Value(os.ReadDir(w.Temporary))(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	return must.Value(bundle.DecodeOutcome(must.Value(os.ReadFile(w.Result))(t)))(t)
}

func TestWhatNpmInstalledIsInTheStoreUnderTheDigestOfTheOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, installed)
	var first bundle.Outcome
	for range 2 { // A Job that begins again comes to the same.
		must.Succeed(t, run(t.Context(), &w.Options, slog.New(slog.DiscardHandler)))
		got := w.outcome(t)
		if first.Digest != "" && !cmp.Equal(first, got) {
			t.Error(cmp.Diff(first, got))
		}
		first = got
	}
	want := bundle.Outcome{
		Digest: first.Digest, Size: first.Size, CompressedSize: first.CompressedSize, Packages: 2, Scripts: []string{"dep@2.0.0"},
		Bins: map[string]string{"x": "node_modules/@s/x/index.js"}, Bin: "x",
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ingress := w.client(t, pki.IngressSubject())
	record := must.Value(ingress.Record(t.Context(), first.Digest))(t)
	if record.Source != (bundle.Source{Method: "npx", Package: "@s/x", Version: "1.0.0", Architecture: "amd64", Runtime: "node:22"}) || record.Log != "added 2 packages\n" || record.Lock != installed["package-lock.json"] {
		t.Errorf("the record is %+v", record)
	}
	content := must.Value(ingress.Fetch(t.Context(), first.Digest))(t)
	defer content.Close()
	dir := filepath.Join(t.TempDir(), "dir")
	must.Succeed(t, bundle.Unpack(t.Context(), content, dir, first.Digest, first.Size))
	if got := string(must.Value(os.ReadFile(filepath.Join(dir, first.Bins[first.Bin])))(t)); got != "console.log(1)" {
		t.Errorf("the program is %q", got)
	}
}

// TestWhatUVInstalledIsInTheStoreWithItsHashes has a package that names itself in another form.
func TestWhatUVInstalledIsInTheStoreWithItsHashes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{
		"bin/my-notes": "#!/usr/bin/python3\n", "my_notes.py": "", "my_notes-1.0.dist-info/METADATA": "Name: My-Notes\nVersion: 1.0\n",
		"my_notes-1.0.dist-info/WHEEL": "Tag: py3-none-any\n", "my_notes-1.0.dist-info/RECORD": "bin/my-notes,,\n",
		"pylock.toml": `wheels = [{ url = "https://files.example/my_notes-1.0-py3-none-any.whl", hashes = { sha256 = "` + strings.Repeat("ab", 32) + `" } }]`,
	})
	w.Method, w.Package, w.Image = "uvx", "my-notes", "python:3.11"
	must.Succeed(t, run(t.Context(), &w.Options, slog.New(slog.DiscardHandler)))
	got := w.outcome(t)
	if got.Bin != "my-notes" || got.Bins["my-notes"] != "bin/my-notes" || got.Packages != 1 {
		t.Errorf("%+v", got)
	}
	record := must.Value(w.client(t, pki.IngressSubject()).Record(t.Context(), got.Digest))(t)
	if record.Method != "uvx" || !strings.HasPrefix(record.Packages[0].Integrity, "sha256-") || !strings.Contains(record.Lock, "files.example") {
		t.Errorf("the record is %+v", record)
	}
}

func (w *world) client(t *testing.T, subject pki.Subject) *bundle.Client {
	t.Helper()
	own := pkitest.Certificate(t, w.authority, subject)
	c := must.Value(bundle.NewClient(w.StoreURL, func() *tls.Config {
		return &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, InsecureSkipVerify: true,
			VerifyConnection: pki.VerifyPeer(w.roots, pki.StoreURI(), x509.ExtKeyUsageServerAuth, time.Now),
		}
	}))(t)
	t.Cleanup(c.Close)
	return c
}

func TestAFailureThatAnotherTryRepeatsIsAnOutcome(t *testing.T) {
	t.Parallel()
	with := func(name, text string) map[string]string {
		files := maps.Clone(installed)
		files[name] = text
		return files
	}
	for _, test := range []struct {
		name  string
		files map[string]string
		edit  func(t *testing.T, w *world)
		code  bundle.Code
	}{
		{"npm failed", nil, func(t *testing.T, w *world) {
			must.Succeed(t, os.WriteFile(w.ExitCode, []byte("1"), 0o600))
			must.Succeed(t, os.WriteFile(w.Log, []byte(strings.Repeat("noise\n", 100_000)+"npm error code E404\n"), 0o600))
		}, bundle.PackageNotFound},
		{"uv failed", nil, func(t *testing.T, w *world) {
			w.Method = "uvx"
			must.Succeed(t, os.WriteFile(w.ExitCode, []byte("1"), 0o600))
			must.Succeed(t, os.WriteFile(w.Log, []byte("Because x has no usable wheels and you require x"), 0o600))
		}, bundle.NoWheel},
		{"uv installed nothing", nil, func(_ *testing.T, w *world) { w.Method = "uvx" }, bundle.BadTree},
		{"npm was ended", nil, func(t *testing.T, w *world) { must.Succeed(t, os.WriteFile(w.ExitCode, nil, 0o600)) }, bundle.InstallFailed},
		{"npm installed nothing", nil, func(*testing.T, *world) {}, bundle.BadTree},
		{"another version", installed, func(_ *testing.T, w *world) { w.Version = "1.0.1" }, bundle.VersionNotFound},
		{"no program", with("node_modules/@s/x/package.json", "{}"), func(*testing.T, *world) {}, bundle.NoProgram},
		{"more than this bundle may have", installed, func(_ *testing.T, w *world) { w.MaxBytes = 2048 }, bundle.TooLarge},
		{"more than a bundle of the store may have", with("big", strings.Repeat("x", 100<<10)), func(*testing.T, *world) {}, bundle.TooLarge},
		{"a link that leads outside", installed, func(t *testing.T, w *world) {
			must.Succeed(t, os.Symlink("/etc", filepath.Join(w.Tree, "node_modules", "etc")))
		}, bundle.BadTree},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.files)
			must.Succeed(t, os.MkdirAll(w.Tree, 0o755))
			test.edit(t, w)
			must.Succeed(t, run(t.Context(), &w.Options, slog.New(slog.DiscardHandler)))
			if got := w.outcome(t); got.Code != test.code || got.Message == "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWithoutStoreOrKeybrokerThereIsNoOutcome(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(w *world, cancel func()){
		"no store":     func(w *world, _ func()) { w.store.Close() },
		"no keybroker": func(w *world, cancel func()) { w.KeybrokerURL = w.StoreURL; cancel() },
	} {
		w := newWorld(t, installed)
		ctx, cancel := context.WithCancel(t.Context())
		edit(w, cancel)
		err := run(ctx, &w.Options, slog.New(slog.DiscardHandler))
		if _, there := os.Stat(w.Result); err == nil || there == nil {
			t.Errorf("%s: error %v, outcome %v", name, err, there)
		}
		cancel()
	}
}

func TestThePackersOptions(t *testing.T) {
	t.Parallel()
	all := []string{"--tree=t", "--log=l", "--exit-code=e", "--package=p", "--version=1", "--runtime=node", "--architecture=amd64", "--store-url=https://store:8444", "--keybroker-url=https://keybroker:8443"}
	ca := func(string) string { return "pem" }
	o, err := parse(all, ca, io.Discard)
	if err != nil || o.StoreURL != "https://store:8444" || o.KeybrokerURL != "https://keybroker:8443" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, more := range []string{"--tree=", "--version=", "--architecture=", "--runtime=", "--method=pip", "--max-bytes=0", "--store-url=http://store", "more"} {
		if _, err := parse(append(slices.Clip(all), more), ca, io.Discard); err == nil {
			t.Errorf("%s is accepted", more)
		}
	}
	if _, err := parse(all, func(string) string { return "" }, io.Discard); err == nil || !strings.Contains(err.Error(), envKeybrokerCA) {
		t.Errorf("without a certificate: %v", err)
	}
}
