// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package servicecheck

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// seen answers as the processes of an installation do, and otherwise where a
// test says so.
type seen struct {
	authority *pki.Authority
	answers   map[string]string
	statuses  map[string]int
	// host is the only one under which the ingress is called, if it is set.
	host string
	args []string
}

func see(t *testing.T) *seen {
	t.Helper()
	authority := must.Value(pki.NewAuthority([32]byte{7}))(t)
	s := &seen{
		authority: authority,
		answers:   map[string]string{"/openapi.json": `{"openapi":"3.1.0"}`, "/recipes": `{"recipes":[]}`},
		statuses:  map[string]int{"/u/helm-test/mcp": http.StatusUnauthorized, "/v1/certificates": http.StatusUnauthorized},
	}
	ingress := httptest.NewServer(http.HandlerFunc(s.public))
	broker := httptest.NewUnstartedServer(s)
	broker.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pkitest.Certificate(t, authority, pki.ServiceSubject("localhost"))}}
	broker.StartTLS()
	t.Cleanup(func() { ingress.Close(); broker.Close() })
	s.args = []string{
		"--url=" + ingress.URL, "--ca-file=" + writtenCA(t, authority),
		"--keybroker-url=" + strings.Replace(broker.URL, "127.0.0.1", "localhost", 1),
	}
	return s
}

// writtenCA returns the file of an authority's certificate.
func writtenCA(t *testing.T, authority *pki.Authority) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	must.Succeed(t, os.WriteFile(file, authority.CertificatePEM(), 0o600))
	return file
}

// writtenCertificate returns the file of a certificate.
func writtenCertificate(t *testing.T, pair tls.Certificate) string {
	t.Helper()
	var chain bytes.Buffer
	for _, der := range pair.Certificate {
		must.Succeed(t, pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	file := filepath.Join(t.TempDir(), "tls.crt")
	must.Succeed(t, os.WriteFile(file, chain.Bytes(), 0o600))
	return file
}

// public answers as the ingress, which may know its names.
func (s *seen) public(w http.ResponseWriter, r *http.Request) {
	if s.host != "" && r.Host != s.host {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.ServeHTTP(w, r)
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, ok := s.statuses[r.URL.Path]; ok {
		w.WriteHeader(status)
		return
	}
	_, _ = io.WriteString(w, s.answers[r.URL.Path])
}

func TestWhatACheckOfAnInstallationFinds(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*testing.T, *seen)
		want  string
	}{
		{name: "nothing where all is well", spoil: func(*testing.T, *seen) {}},
		{name: "nothing where the ingress is called by the one name that it knows",
			spoil: func(_ *testing.T, s *seen) {
				s.host, s.args = "mcp.example.com", append(s.args, "--host=mcp.example.com")
			}},
		{name: "an ingress that knows another name", want: "FAILED  the ingress refuses a call without a key: answered 403, not 401",
			spoil: func(_ *testing.T, s *seen) { s.host = "mcp.example.com" }},
		{name: "an ingress that lets anybody in", want: "FAILED  the ingress refuses a call without a key: answered 200, not 401",
			spoil: func(_ *testing.T, s *seen) { delete(s.statuses, "/u/helm-test/mcp") }},
		{name: "a catalog that is away", want: "FAILED  the catalog lists recipes: answered 503, not 200",
			spoil: func(_ *testing.T, s *seen) { s.statuses["/recipes"] = http.StatusServiceUnavailable }},
		{name: "another page in the catalog's place", want: "FAILED  the catalog lists recipes: the answer has no recipes",
			spoil: func(_ *testing.T, s *seen) { s.answers["/recipes"] = "{}" }},
		{name: "a document that is none", want: "FAILED  the ingress describes its API: the answer is no JSON object",
			spoil: func(_ *testing.T, s *seen) { s.answers["/openapi.json"] = "<html>" }},
		{name: "a keybroker that nobody trusts", want: "certificate signed by unknown authority",
			spoil: func(t *testing.T, s *seen) {
				other := must.Value(pki.NewAuthority([32]byte{8}))(t)
				s.args = append(s.args, "--ca-file="+writtenCA(t, other))
			}},
		{name: "a keybroker that is not there", want: "FAILED  a keybroker that is ready shows its certificate: Post",
			spoil: func(_ *testing.T, s *seen) { s.args = append(s.args, "--keybroker-url=https://localhost:1") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := see(t)
			test.spoil(t, s)
			o, err := parse(s.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var wrong []error
			for _, q := range o.questions() {
				wrong = append(wrong, q.ask(t.Context()))
			}
			var out strings.Builder
			err = tell(&out, o.questions(), wrong)
			if (err == nil) != (test.want == "") || !strings.Contains(out.String(), test.want) {
				t.Errorf("error %v, and it says\n%s", err, out.String())
			}
			if lines := strings.Count(out.String(), "\n"); lines != 4 {
				t.Errorf("it tells of %d checks", lines)
			}
			if test.want != "" { // The command repeats a check that fails until then.
				s.args = append(s.args, "--timeout=1ns")
			}
			if err := Run(t.Context(), s.args, io.Discard, io.Discard); (err == nil) != (test.want == "") {
				t.Errorf("the command ends with %v", err)
			}
		})
	}
}

// TestOneQuestionTakesNoTimeFromAnother has the first find no answer for as long
// as there is, and the last find one only at its second attempt.
func TestOneQuestionTakesNoTimeFromAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		questions := []question{
			{"never", func(context.Context) error { return errors.New("no answer") }},
			{"late", func(context.Context) error {
				if attempts++; attempts == 1 {
					return errors.New("not yet")
				}
				return nil
			}},
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		wrong := awaitAll(ctx, questions)
		if wrong[0] == nil || wrong[1] != nil || time.Since(begun) != time.Minute {
			t.Errorf("wrong are %v after %s", wrong, time.Since(begun))
		}
	})
}

func TestACheckKnowsTheCertificateOfTheIngress(t *testing.T) {
	authority := must.Value(pki.NewAuthority([32]byte{1}))(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	pair := pkitest.Certificate(t, authority, pki.ServiceSubject("localhost"))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	own, other := writtenCertificate(t, pair), writtenCertificate(t, pkitest.Certificate(t, authority, pki.ServiceSubject("localhost")))
	const host = "mcp.example.com"
	for _, test := range []struct {
		name, cert, public, want string
	}{
		{name: "its own, by the name that users type", cert: own, public: "https://localhost:8443"},
		{name: "its own, by another name", cert: own, public: "https://" + host, want: host},
		{name: "another's", cert: other, want: "another certificate"},
		{name: "none", cert: "/nowhere/tls.crt", want: "read --tls-cert-file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options{CertFile: test.cert, PublicURL: test.public, Host: host}
			if name := o.ingress().config.ServerName; name != host {
				t.Errorf("it asks for the certificate of %q", name)
			}
			_, body, err := ask(t.Context(), o.ingress(), http.MethodGet, "https://"+server.Listener.Addr().String())
			if test.want == "" && (err != nil || !strings.HasPrefix(string(body), "HTTP/")) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%q, error %v", body, err)
			}
		})
	}
}
