// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlestore

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// world is a store that is served over mutual TLS.
type world struct {
	*Store
	clock     *clocktest.Clock
	authority *pki.Authority
	roots     *x509.CertPool
	url       string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{clock: clocktest.New(0), authority: must.Value(pki.NewAuthority([32]byte{1}))(t), roots: x509.NewCertPool()}
	w.roots.AppendCertsFromPEM(w.authority.CertificatePEM())
	w.Store = must.Value(Open(Config{Directory: t.TempDir(), MaxTotal: 1 << 20, MaxBundle: 512 << 10, Clock: w.clock}))(t)
	mux := http.NewServeMux()
	w.Register(mux, slog.New(slog.DiscardHandler))
	server := httptest.NewUnstartedServer(mux)
	server.TLS = &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pkitest.Certificate(t, w.authority, pki.StoreSubject())},
		ClientAuth: tls.RequireAnyClientCert, VerifyConnection: pki.VerifyBundleClient(w.roots, time.Now),
	}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// credentials are those of a client with the certificate of subject.
func (w *world) credentials(t *testing.T, subject pki.Subject) func() *tls.Config {
	t.Helper()
	own := pkitest.Certificate(t, w.authority, subject)
	return func() *tls.Config {
		return &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, InsecureSkipVerify: true,
			VerifyConnection: pki.VerifyPeer(w.roots, pki.StoreURI(), x509.ExtKeyUsageServerAuth, time.Now),
		}
	}
}

func (w *world) client(t *testing.T, subject pki.Subject) *bundle.Client {
	t.Helper()
	c := must.Value(bundle.NewClient(w.url, w.credentials(t, subject)))(t)
	t.Cleanup(c.Close)
	return c
}

// made returns a bundle of one file with this text, and its record.
func made(t *testing.T, text string) (*bundle.Record, []byte) {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "index.js"), []byte(text), 0o600))
	var b bytes.Buffer
	result := must.Value(bundle.Pack(dir, &b, bundle.Limits{}))(t)
	return &bundle.Record{
		Source: bundle.Source{Method: "npx", Package: "x", Version: "1.0.0"},
		Digest: result.Digest, Size: result.Size, CompressedSize: int64(b.Len()), Made: time.Unix(1, 0).UTC(),
		Bins: map[string]string{"x": "index.js"}, Packages: []bundle.Package{{Name: "x", Version: "1.0.0"}},
	}, b.Bytes()
}

// put uploads a bundle of a file with this text.
func (w *world) put(t *testing.T, text string) *bundle.Record {
	t.Helper()
	record, content := made(t, text)
	must.Succeed(t, w.client(t, pki.BundlerSubject()).Put(t.Context(), record, bytes.NewReader(content)))
	return record
}

// files returns the names in the store's directory.
func (w *world) names(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, e := range must.Value(os.ReadDir(w.config.Directory))(t) {
		names = append(names, e.Name())
	}
	return names
}

// codeOf returns the code of the store's answer, empty for a success.
func codeOf(err error) string {
	if e, ok := errors.AsType[*bundle.StoreError](err); ok {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestABundleGoesFromItsMakerToABridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	record := w.put(t, "one")
	bridge, ingress := w.client(t, pki.BridgeSubject("uid-1")), w.client(t, pki.IngressSubject())
	content := must.Value(bridge.Fetch(t.Context(), record.Digest))(t)
	dir := filepath.Join(t.TempDir(), "dir")
	must.Succeed(t, bundle.Unpack(t.Context(), content, dir, record.Digest, record.Size))
	must.Succeed(t, content.Close())
	if got := string(must.Value(os.ReadFile(filepath.Join(dir, "index.js")))(t)); got != "one" {
		t.Errorf("the file has %q", got)
	}
	if diff := cmp.Diff(*record, must.Value(ingress.Record(t.Context(), record.Digest))(t)); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	list := must.Value(ingress.List(t.Context()))(t)
	if len(list.Bundles) != 1 || list.Bundles[0].Digest != record.Digest || list.Bundles[0].Bytes != list.Bytes || list.Bytes <= record.CompressedSize || list.Limit != 1<<20 {
		t.Errorf("the list is %+v", list)
	}
	none := bundle.Digest("sha256:" + strings.Repeat("0", 64))
	for _, err := range []error{errOf(bridge.Fetch(t.Context(), none)), errOf(ingress.Record(t.Context(), none))} {
		if codeOf(err) != "bundle_not_found" {
			t.Errorf("a bundle that is not there: %v", err)
		}
	}
	if code := codeOf(errOf(bridge.Fetch(t.Context(), "sha256:../x"))); code != "digest_invalid" {
		t.Errorf("no digest: %s", code)
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestEachRouteIsForItsCallersAlone tries each route with each identity that an installation has.
func TestEachRouteIsForItsCallersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/v1/bundles/" + string(w.put(t, "one").Digest)
	callers := map[string]pki.Subject{"ingress": pki.IngressSubject(), "bundler": pki.BundlerSubject(), "bridge": pki.BridgeSubject("uid-1")}
	for name, subject := range callers {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: w.credentials(t, subject)()}}
		for route, allowed := range map[string]string{
			"PUT " + path + "/record": "bundler", "PUT " + path: "bundler", "GET " + path: "ingress bundler bridge", "HEAD " + path: "ingress bundler bridge",
			"GET " + path + "/record": "ingress bundler", "POST /v1/bundles/keep": "ingress", "GET /v1/bundles": "ingress",
		} {
			method, target, _ := strings.Cut(route, " ")
			request := must.Value(http.NewRequestWithContext(t.Context(), method, w.url+target, http.NoBody))(t)
			response := must.Value(c.Do(request))(t)
			text := must.Value(io.ReadAll(response.Body))(t)
			response.Body.Close()
			if refused := response.StatusCode == http.StatusForbidden; refused == strings.Contains(allowed, name) {
				t.Errorf("%s of the %s: %d %s", route, name, response.StatusCode, text)
			}
		}
		c.CloseIdleConnections()
	}
	for name, subject := range map[string]pki.Subject{
		"another store": pki.StoreSubject(), "the keybroker": pki.ServiceSubject("hosted-bridge-keybroker"),
		"the ingress's name in a server's certificate": {URI: pki.IngressURI(), Usage: x509.ExtKeyUsageServerAuth},
		"a bundler's name in a server's certificate":   {URI: pki.BundlerURI(), Usage: x509.ExtKeyUsageServerAuth},
		"a bridge's name in a client's certificate":    {URI: pki.BridgeURI("uid-1"), Usage: x509.ExtKeyUsageClientAuth},
	} {
		if _, err := w.client(t, subject).List(t.Context()); err == nil || codeOf(err) == "caller_not_allowed" {
			t.Errorf("%s is let in: %v", name, err)
		}
	}
}

func TestABundleThatIsNotWholeIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bundler := w.client(t, pki.BundlerSubject())
	record, content := made(t, strings.Repeat("one", 100))
	other, _ := made(t, strings.Repeat("two", 100))
	flipped := bytes.Clone(content)
	flipped[len(flipped)-1] ^= 1
	change := func(edit func(*bundle.Record)) *bundle.Record {
		changed := *record
		edit(&changed)
		return &changed
	}
	longer := append(bytes.Clone(content), "\x50\x2a\x4d\x18\x01\x00\x00\x00x"...) // A frame that decoders skip.
	for _, test := range []struct {
		name    string
		record  *bundle.Record
		content []byte
		code    string
	}{
		{"a flipped bit", record, flipped, "bundle_mismatch"},
		{"another digest", change(func(r *bundle.Record) { r.Digest = other.Digest }), content, "bundle_mismatch"},
		{"another size", change(func(r *bundle.Record) { r.Size++ }), content, "bundle_mismatch"},
		{"fewer bytes", change(func(r *bundle.Record) { r.CompressedSize-- }), content[:len(content)-1], "bundle_mismatch"},
		{"more bytes", change(func(r *bundle.Record) { r.CompressedSize += 8 }), longer[:len(longer)-1], "bundle_mismatch"},
		{"too large a tar", change(func(r *bundle.Record) { r.Size = 1 << 20 }), content, "bundle_too_large"},
	} {
		if code := codeOf(bundler.Put(t.Context(), test.record, bytes.NewReader(test.content))); code != test.code {
			t.Errorf("%s: %q", test.name, code)
		}
		for _, name := range w.names(t) {
			if !strings.HasSuffix(name, recordEnding) {
				t.Errorf("%s left %s", test.name, name)
			}
		}
	}
	// Now the right one, and then one that changes nothing.
	must.Succeed(t, bundler.Put(t.Context(), record, bytes.NewReader(content)))
	must.Succeed(t, bundler.Put(t.Context(), change(func(r *bundle.Record) { r.Package = "y" }), bytes.NewReader(nil)))
	if r := must.Value(w.client(t, pki.IngressSubject()).Record(t.Context(), record.Digest))(t); r.Package != "x" {
		t.Errorf("a second upload changed the record: %+v", r.Source)
	}
	if _, err := w.putContent(t.Context(), record.Digest, nil); err != nil {
		t.Errorf("the same bundle again: %v", err)
	}
	if _, err := w.putContent(t.Context(), "sha256:"+bundle.Digest(strings.Repeat("0", 64)), nil); !errors.Is(err, errNoRecord) {
		t.Errorf("a bundle without a record: %v", err)
	}
}

// TestAnUploadThatIsCutLeavesNothing has the client leave in the middle, and a process that ended
// in one.
func TestAnUploadThatIsCutLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	record, content := made(t, "one")
	ctx, cancel := context.WithCancel(t.Context())
	half, rest := io.Pipe()
	ended := make(chan error)
	go func() {
		ended <- w.client(t, pki.BundlerSubject()).Put(ctx, record, io.MultiReader(bytes.NewReader(content[:10]), half))
	}()
	wait.Until(t, "the upload", func() bool { return strings.Contains(strings.Join(w.names(t), " "), "upload-") })
	cancel()
	must.Succeed(t, rest.Close())
	if err := <-ended; err == nil {
		t.Error("an upload that was cut succeeds")
	}
	wait.Until(t, "its end", func() bool { return !strings.Contains(strings.Join(w.names(t), " "), "upload-") })

	must.Succeed(t, os.WriteFile(filepath.Join(w.config.Directory, "upload-killed"), content[:10], 0o600))
	must.Succeed(t, os.Mkdir(filepath.Join(w.config.Directory, "lost+found"), 0o700))
	_ = must.Value(Open(w.config))(t)
	if diff := cmp.Diff([]string{record.Digest.Hex() + ".json", "lost+found"}, w.names(t)); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

func TestAFullStoreTakesNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.put(t, "one")
	w.config.MaxTotal = must.Value(w.inventory())(t).Bytes + 10
	record, content := made(t, "two")
	bundler := w.client(t, pki.BundlerSubject())
	if code := codeOf(bundler.Put(t.Context(), record, bytes.NewReader(content))); code != "store_full" {
		t.Errorf("%q", code)
	}
	w.clock.Advance(2 * time.Hour)
	_ = must.Value(w.client(t, pki.IngressSubject()).Keep(t.Context(), []bundle.Digest{}))(t)
	must.Succeed(t, bundler.Put(t.Context(), record, bytes.NewReader(content)))
	if code := codeOf(errOf(w.client(t, pki.BridgeSubject("uid-1")).Fetch(t.Context(), first.Digest))); code != "bundle_not_found" {
		t.Errorf("the former bundle: %q", code)
	}
}

func TestOnlyBundlesThatNobodyNeedsOrUsedAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	needed, fetched, old := w.put(t, "needed"), w.put(t, "fetched"), w.put(t, "old")
	alone, _ := made(t, "a record alone")
	_ = must.Value(w.putRecord(t.Context(), alone, must.Value(alone.Encode())(t)))(t)
	upload := filepath.Join(w.config.Directory, "upload-old")
	must.Succeed(t, os.WriteFile(upload, []byte("x"), 0o600))
	must.Succeed(t, os.Chtimes(upload, w.clock.Now(), w.clock.Now()))
	w.clock.Advance(time.Hour + time.Minute)
	w.put(t, "new")
	again := w.put(t, "again")
	must.Succeed(t, must.Value(w.client(t, pki.BridgeSubject("uid-1")).Fetch(t.Context(), fetched.Digest))(t).Close())
	ingress := w.client(t, pki.IngressSubject())
	for name, body := range map[string]string{"no list": "{}", "no digests": `{"digests":["x"]}`, "null": `{"digests":null}`} {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: w.credentials(t, pki.IngressSubject())()}}
		response := must.Value(c.Post(w.url+"/v1/bundles/keep", "application/json", strings.NewReader(body)))(t)
		response.Body.Close()
		c.CloseIdleConnections()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", name, response.StatusCode)
		}
	}
	removed := must.Value(ingress.Keep(t.Context(), []bundle.Digest{needed.Digest}))(t)
	if removed.Bundles != 1 || removed.Bytes <= old.CompressedSize {
		t.Errorf("removed %+v", removed)
	}
	left := strings.Join(w.names(t), " ")
	for d, want := range map[bundle.Digest]int{needed.Digest: 2, fetched.Digest: 2, again.Digest: 2, old.Digest: 0, alone.Digest: 0} {
		if strings.Count(left, d.Hex()) != want {
			t.Errorf("%s: %s", d, left)
		}
	}
	if strings.Contains(left, "upload-") {
		t.Errorf("left: %s", left)
	}
}

// TestABridgeThatReadsSlowlyLeavesRoomForOthers has one caller hold all that it may.
func TestABridgeThatReadsSlowlyLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	g := newGate()
	for range maxOfOne {
		leave := must.Value(g.enter(t.Context(), "slow"))(t)
		defer leave()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for range maxWaiting {
		go func() { ended <- errOf(g.enter(ctx, "slow")) }()
	}
	wait.Until(t, "those that wait", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.callers["slow"].requests == maxOfOne+maxWaiting
	})
	if _, err := g.enter(t.Context(), "slow"); !errors.Is(err, errTooMany) {
		t.Errorf("one more: %v", err)
	}
	must.Value(g.enter(t.Context(), "other"))(t)()
	cancel()
	for range maxWaiting {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if g.callers["slow"].requests != maxOfOne || g.callers["other"] != nil || len(g.all) != maxOfOne {
		t.Errorf("%+v, %d", g.callers, len(g.all))
	}
}

func TestTheMetricsOfBundlesAreDocumented(t *testing.T) {
	t.Parallel()
	reg := metricstest.New()
	must.Succeed(t, newWorld(t).RegisterMetrics(reg))
	metricstest.Documented(t, "bundles", reg.Metrics())
}
