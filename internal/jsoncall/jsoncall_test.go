// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsoncall

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// double answers with twice the number, and with errors for two of them.
func double(_ context.Context, n int) (int, error) {
	switch n {
	case 1:
		return 0, fmt.Errorf("%w: odd", ErrQuestion)
	case 3:
		return 0, errors.New("the disk is full")
	}
	return 2 * n, nil
}

func TestACallIsAnswered(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("POST /double", Handle(8, double))
	mux.Handle("POST /text", Handle(8, func(context.Context, int) (string, error) { return "two", nil }))
	server := httptest.NewServer(mux)
	defer server.Close()
	c := must.Value(New(server.URL, nil))(t)
	defer c.Close()
	for _, test := range []struct {
		name, path string
		question   any
		want       string
	}{
		{"an answer", "/double", 2, ""},
		{"a wrong question", "/double", 1, "answers 400: the question is wrong: odd"},
		{"a failure", "/double", 3, "answers 503: the disk is full"},
		{"a question of another form", "/double", "two", "answers 400: read the question"},
		{"a question that is too long", "/double", 1_000_000_000, "answers 400: read the question: http: request body too large"},
		{"an answer of another form", "/text", 2, "read the answer of /text"},
		{"nothing there", "/none", 2, "answers 404"},
		{"what cannot be sent", "/double", func() {}, "encode /double"},
	} {
		var got int
		err := c.Call(t.Context(), test.path, test.question, &got)
		switch {
		case test.want == "" && (err != nil || got != 4):
			t.Errorf("%s: %d, %v", test.name, got, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestEachConnectionHasTheCertificateOfItsTime(t *testing.T) {
	server := httptest.NewTLSServer(Handle(8, double))
	defer server.Close()
	var config *tls.Config
	c, err := New(server.URL, func() *tls.Config { return config })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got int
	if err := c.Call(t.Context(), "/", 2, &got); !errors.Is(err, ErrNoCertificate) {
		t.Errorf("without a certificate: %v", err)
	}
	config = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com", MinVersion: tls.VersionTLS13}
	if err := c.Call(t.Context(), "/", 2, &got); err == nil {
		t.Error("a server that nobody vouches for is called")
	}
	config = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.ServerName = "example.com"
	if err := c.Call(t.Context(), "/", 2, &got); err != nil || got != 4 {
		t.Errorf("%d, %v", got, err)
	}
}

func TestAURLThatCannotBeCalledIsRefused(t *testing.T) {
	for _, base := range []string{"", "store:8443", "ftp://store", "https://", "https://user@store", "https://store?x=y"} {
		if _, err := New(base, func() *tls.Config { return nil }); err == nil {
			t.Errorf("%q is taken", base)
		}
	}
	if _, err := New("https://store:8443", nil); err == nil {
		t.Error("https without a certificate is taken")
	}
}
