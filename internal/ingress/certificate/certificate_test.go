// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// published is a certificate on disk and what reads it.
type published struct {
	*Certificate
	authority *pki.Authority
	dir       string
	said      *bytes.Buffer
}

func publish(t *testing.T) *published {
	t.Helper()
	authority, err := pki.NewAuthority([32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	p := &published{authority: authority, dir: t.TempDir(), said: &bytes.Buffer{}}
	p.replace(t)
	o := Options{CertFile: filepath.Join(p.dir, "tls.crt"), KeyFile: filepath.Join(p.dir, "tls.key")}
	if p.Certificate, err = o.Open(slog.New(slog.NewTextHandler(p.said, nil))); err != nil {
		t.Fatal(err)
	}
	return p
}

// replace writes another certificate, and returns its number.
func (p *published) replace(t *testing.T) string {
	t.Helper()
	pair := pkitest.Certificate(t, p.authority, pki.ServiceSubject("localhost"))
	key := must.Value(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	var chain bytes.Buffer
	for _, der := range pair.Certificate {
		must.Succeed(t, pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	p.write(t, "tls.crt", chain.Bytes())
	p.write(t, "tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return pair.Leaf.SerialNumber.String()
}

func (p *published) write(t *testing.T, name string, content []byte) {
	t.Helper()
	must.Succeed(t, os.WriteFile(filepath.Join(p.dir, name), content, 0o600))
}

// serve answers each request with its protocol, and returns the address.
func (p *published) serve(t *testing.T) string {
	t.Helper()
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &http.Server{ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	})}
	ended := make(chan struct{})
	secure := p.Protect(server, l)
	go func() { defer close(ended); _ = server.Serve(secure) }()
	t.Cleanup(func() { server.Close(); <-ended })
	return l.Addr().String()
}

// client trusts the authority and speaks as config says.
func (p *published) client(t *testing.T, config *tls.Config, http2 bool) *http.Client {
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AppendCertsFromPEM(p.authority.CertificatePEM())
	config.ServerName = "localhost"
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: http2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, c *http.Client, address string) (proto, serial string) {
	t.Helper()
	res := must.Value(c.Get("https://" + address))(t)
	defer res.Body.Close()
	body := must.Value(io.ReadAll(res.Body))(t)
	return string(body), res.TLS.PeerCertificates[0].SerialNumber.String()
}

func TestThePublicSurfaceSpeaksBothVersionsOfHTTPWithinTLS(t *testing.T) {
	p := publish(t)
	address := p.serve(t)
	for _, test := range []struct {
		name  string
		http2 bool
		max   uint16
		want  string
	}{
		{name: "HTTP/2 is agreed on where the client has it", http2: true, want: "HTTP/2.0"},
		{name: "a client without it has HTTP/1.1", want: "HTTP/1.1"},
		{name: "TLS 1.2 is enough", http2: true, max: tls.VersionTLS12, want: "HTTP/2.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, _ := get(t, p.client(t, &tls.Config{MaxVersion: test.max}, test.http2), address); got != test.want {
				t.Errorf("the request came as %s, want %s", got, test.want)
			}
		})
	}
	t.Run("TLS 1.1 is not", func(t *testing.T) {
		c := p.client(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false)
		if res, err := c.Get("https://" + address); err == nil {
			res.Body.Close()
			t.Error("TLS 1.1 is spoken")
		}
	})
	t.Run("who speaks HTTP is told", func(t *testing.T) {
		conn := must.Value(net.Dial("tcp", address))(t)
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /u/alice/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
		res := must.Value(http.ReadResponse(bufio.NewReader(conn), nil))(t)
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "HTTPS") {
			t.Errorf("%d %q", res.StatusCode, body)
		}
	})
}

func TestACertificateIsReplacedUnderOpenConnections(t *testing.T) {
	p := publish(t)
	address := p.serve(t)
	kept := p.client(t, &tls.Config{MinVersion: tls.VersionTLS12}, true)
	_, first := get(t, kept, address)

	p.write(t, "tls.key", []byte("no key"))
	said := p.follow(t.Context(), time.Now(), "")
	if said == "" || p.follow(t.Context(), time.Now(), said) != said {
		t.Errorf("a broken key is told of as %q", said)
	}
	if _, serial := get(t, p.client(t, &tls.Config{MinVersion: tls.VersionTLS12}, true), address); serial != first {
		t.Error("a broken file took the certificate away")
	}
	second := p.replace(t)
	if said = p.follow(t.Context(), time.Now(), said); said != "" {
		t.Error(said)
	}
	if _, serial := get(t, p.client(t, &tls.Config{MinVersion: tls.VersionTLS12}, true), address); serial != second {
		t.Error("a new connection has the certificate before")
	}
	if _, serial := get(t, kept, address); serial != first {
		t.Error("the open connection was not kept")
	}
	if log := p.said.String(); strings.Count(log, "cannot be read again") != 1 || strings.Count(log, "serving with the certificate") != 2 || strings.Contains(log, "PRIVATE") {
		t.Errorf("the log says %s", log)
	}
	must.Succeed(t, os.Remove(filepath.Join(p.dir, "tls.crt")))
	if said = p.follow(t.Context(), time.Now(), ""); !strings.Contains(said, "--tls-cert-file") {
		t.Errorf("a file that is gone is told of as %q", said)
	}
	expectNumbers(t, p.Certificate, 3)
}

// expectNumbers reads the metrics of a certificate of six hours.
func expectNumbers(t *testing.T, c *Certificate, failures float64) {
	t.Helper()
	metrics := prometheus.NewRegistry()
	must.Succeed(t, c.Register(metrics))
	families, err := metrics.Gather()
	if err != nil || len(families) != 2 {
		t.Fatalf("%d metrics (%v)", len(families), err)
	}
	left := time.Until(time.Unix(int64(families[0].GetMetric()[0].GetGauge().GetValue()), 0))
	if left < 5*time.Hour || left > 7*time.Hour {
		t.Errorf("the certificate expires in %s", left)
	}
	if got := families[1].GetMetric()[0].GetCounter().GetValue(); got != failures {
		t.Errorf("%v failures are counted, want %v", got, failures)
	}
}

func TestCertificatesThatCannotBeServed(t *testing.T) {
	p := publish(t)
	other := publish(t)
	good, key := p.options.CertFile, p.options.KeyFile
	broken := filepath.Join(p.dir, "broken")
	p.write(t, "broken", []byte("-----BEGIN CERTIFICATE-----"))
	for _, test := range []struct {
		name string
		o    Options
		want string
	}{
		{name: "a certificate that is not there", o: Options{CertFile: "/nowhere/tls.crt", KeyFile: key}, want: "read --tls-cert-file: open /nowhere/tls.crt"},
		{name: "a key that is not there", o: Options{CertFile: good, KeyFile: "/nowhere/tls.key"}, want: "read --tls-key-file: open /nowhere/tls.key"},
		{name: "a file that is none", o: Options{CertFile: broken, KeyFile: key}, want: "use --tls-cert-file"},
		{name: "the key of another", o: Options{CertFile: good, KeyFile: other.options.KeyFile}, want: "private key does not match"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := test.o.Open(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	if c, err := (&Options{}).Open(nil); c != nil || err != nil {
		t.Errorf("without files there is %v, %v", c, err)
	}
	for _, flag := range []string{"--tls-cert-file=" + good, "--tls-key-file=" + key} {
		s := setting.New("ingress", "")
		new(Options).Declare(s)
		if s.Parse([]string{flag}) == nil {
			t.Error("one file alone is taken")
		}
	}
}

func TestACertificateThatHasExpiredIsServedWithAWarning(t *testing.T) {
	p := publish(t)
	p.replace(t)
	if err := p.read(time.Now().Add(24 * time.Hour)); err != nil || !strings.Contains(p.said.String(), "not valid now") {
		t.Errorf("%v, and the log says %s", err, p.said)
	}
}

func TestTheCertificatesMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	must.Succeed(t, publish(t).Register(reg))
	metricstest.Documented(t, "ingress's public certificate", reg.Metrics())
}
