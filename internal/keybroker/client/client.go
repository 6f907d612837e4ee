// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

const (
	// requestTimeout leaves the keybroker time for its four reads of the API
	// server, and ends well before the Source's longest backoff.
	requestTimeout = 15 * time.Second
	dialTimeout    = 5 * time.Second
	// maxAnswer is many times a certificate, which has less than 1 KiB, or a
	// problem document.
	maxAnswer = 64 << 10
	// maxSecrets has room for all secrets of one user: at most 1 MiB, in base64.
	maxSecrets = 2 << 20
)

// Config is how to reach the keybroker.
type Config struct {
	// URL is the keybroker's, such as
	// https://hosted-bridge-keybroker.hosted-bridge-system.svc:8443.
	URL string
	// CAPEM is the keybroker's CA certificate. It is trusted for the keybroker
	// and, in a Source's configurations, for the peers.
	CAPEM []byte
	// TokenFile is the projected token. It is read again for each request,
	// since the kubelet replaces it.
	TokenFile string
	Log       *slog.Logger
}

// Client talks to the keybroker. It is safe for concurrent use.
type Client struct {
	base      *url.URL
	tokenFile string
	roots     *x509.CertPool
	http      *http.Client
	log       *slog.Logger
	// incomplete means that the last answer of Secrets had some that did not
	// open, so that the same revision may bring more.
	incomplete atomic.Bool
	// revision is the revision in the last answer of Secrets or SaveSecret, nil
	// before the first.
	revision atomic.Pointer[string]
}

// New returns a client, or an error that says which part of c is wrong.
func New(c Config) (*Client, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Scheme != "https" || base.Host == "" || base.User != nil || base.RawQuery != "" {
		return nil, errors.New("the keybroker's URL is not of the form https://host:port")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(c.CAPEM) {
		return nil, errors.New("the keybroker's CA holds no PEM certificate")
	}
	if c.TokenFile == "" || c.Log == nil {
		return nil, errors.New("keybroker client: token file or log is missing")
	}
	return &Client{
		base: base, tokenFile: c.TokenFile, roots: roots, log: c.Log,
		http: httpClient(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}),
	}, nil
}

// httpClient returns a client without idle connections: the next request is
// hours away, and each request presents the current certificate.
func httpClient(config *tls.Config) *http.Client {
	t := transportOf(config)
	t.DisableKeepAlives = true
	return clientBy(t)
}

// transportOf uses no proxy: the requests are for the keybroker alone.
func transportOf(config *tls.Config) *http.Transport {
	return &http.Transport{DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSClientConfig: config}
}

func clientBy(t *http.Transport) *http.Client {
	return &http.Client{
		Timeout: requestTimeout, Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Certificate makes a key and has the keybroker certify it for this process.
// The error is a *Refusal when the keybroker answered.
func (c *Client) Certificate(ctx context.Context) (*tls.Certificate, error) {
	key, csr, err := pki.NewRequest(rand.Reader)
	if err != nil {
		return nil, err
	}
	chain, err := c.post(ctx, csr)
	if err != nil {
		return nil, fmt.Errorf("request certificate: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, errors.New("encode private key")
	}
	// This form of it also checks that the certificate is for the key.
	pair, err := tls.X509KeyPair(chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		return nil, fmt.Errorf("read issued certificate: %w", err)
	}
	return &pair, nil
}

func (c *Client) post(ctx context.Context, csr []byte) ([]byte, error) {
	request, err := c.request(ctx, http.MethodPost, "certificates", bytes.NewReader(csr))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/pkcs10")
	request.Header.Set("Accept", "application/pem-certificate-chain")
	_, body, err := do(c.http, request, maxAnswer)
	return body, err
}

// request returns a request with the current token.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	token, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	token = bytes.TrimSpace(token)
	if len(token) == 0 {
		return nil, fmt.Errorf("token file %s is empty", c.tokenFile)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath("v1", path).String(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	return request, nil
}

// do sends the request and reads the answer, of at most limit bytes. An answer
// that is neither a success nor "not modified" is a *Refusal.
func do(client *http.Client, request *http.Request, limit int64) (status int, body []byte, err error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return 0, nil, fmt.Errorf("read answer: %w", err)
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent, http.StatusNotModified:
	default:
		return 0, nil, refusal(response.StatusCode, body)
	}
	if int64(len(body)) > limit {
		return 0, nil, errors.New("the answer is too long")
	}
	return response.StatusCode, body, nil
}
