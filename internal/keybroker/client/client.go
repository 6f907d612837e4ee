// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

const (
	// requestTimeout leaves the keybroker time for its four reads of the API
	// server, and ends well before the Source's longest backoff.
	requestTimeout = 15 * time.Second
	dialTimeout    = 5 * time.Second
	// maxAnswer is many times a certificate, which has less than 1 KiB.
	maxAnswer = 64 << 10
)

// Config is how to reach the keybroker.
type Config struct {
	// URL is the keybroker's, such as
	// https://hosted-bridge-keybroker.hosted-bridge-system.svc:8443.
	URL string
	// CAPEM is the keybroker's CA certificate. It is trusted for the keybroker
	// and, in a Source's configurations, for the peers.
	CAPEM []byte
	// TokenFile is the projected token. It is read anew for each request,
	// since the kubelet replaces it.
	TokenFile string
	Log       *slog.Logger
}

// Client talks to the keybroker. It is safe for concurrent use.
type Client struct {
	certificates string
	tokenFile    string
	roots        *x509.CertPool
	http         *http.Client
	log          *slog.Logger
}

// Refusal is an answer of the keybroker other than a certificate.
type Refusal struct {
	Status int
	// Code is one of the keybroker's stable codes, empty when the answer had
	// none.
	Code string
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("keybroker answers %d %s", r.Status, r.Code)
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
		certificates: base.JoinPath("v1", "certificates").String(),
		tokenFile:    c.TokenFile,
		roots:        roots,
		log:          c.Log,
		http: &http.Client{
			Timeout: requestTimeout,
			Transport: &http.Transport{
				// No proxy: the token is for the keybroker alone. No idle
				// connections: the next request is hours away.
				DialContext:       (&net.Dialer{Timeout: dialTimeout}).DialContext,
				TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13},
				DisableKeepAlives: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
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
	token, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	token = bytes.TrimSpace(token)
	if len(token) == 0 {
		return nil, fmt.Errorf("token file %s is empty", c.tokenFile)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.certificates, bytes.NewReader(csr))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Content-Type", "application/pkcs10")
	request.Header.Set("Accept", "application/pem-certificate-chain")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, &Refusal{Status: response.StatusCode, Code: stableCode(body)}
	}
	return body, nil
}

var codeForm = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// stableCode returns the code of a problem document. What stands in between
// may answer too, so nothing that does not look like a code gets into a log.
func stableCode(body []byte) string {
	var problem struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(body, &problem) != nil || !codeForm.MatchString(problem.Code) {
		return ""
	}
	return problem.Code
}
