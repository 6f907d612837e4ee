// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsoncall

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// dialTimeout is for a connection within a cluster, with one lost packet.
	dialTimeout = 2 * time.Second
	// handshakeTimeout leaves a server that is short of CPU time to sign.
	handshakeTimeout = 5 * time.Second
	// maxIdle is how many connections wait for the next call, about as many as
	// there are calls at a time under load.
	maxIdle = 64
	// IdleTimeout is how long they wait. A server has to wait longer, or calls
	// meet connections that it is about to close.
	IdleTimeout = time.Minute
	// maxAnswer is many times the largest answer, of some 10 MiB.
	maxAnswer = 64 << 20
	// maxReason is how much of an error's text is read.
	maxReason = 1 << 10
)

// ErrNoCertificate says that a call was not made, since there is no certificate
// yet.
var ErrNoCertificate = errors.New("no certificate yet")

// Client calls one server. It is safe for concurrent use.
type Client struct {
	base *url.URL
	http *http.Client
}

// New returns a client of the server at base, an http or https URL. For https,
// credentials returns the configuration of each new connection, nil while it is not
// known.
func New(base string, credentials func() *tls.Config) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the URL is not of the form https://host:port")
	}
	if u.Scheme == "https" && credentials == nil {
		return nil, errors.New("an https URL needs a certificate")
	}
	return &Client{base: u, http: HTTP(credentials)}, nil
}

// HTTP returns a client that follows no redirect and uses no proxy. credentials returns the
// configuration of each new connection over https, nil while it is not known.
func HTTP(credentials func() *tls.Config) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext,
			DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return dialTLS(ctx, dialer, address, credentials())
			},
			MaxIdleConnsPerHost:   maxIdle,
			IdleConnTimeout:       IdleTimeout,
			ExpectContinueTimeout: handshakeTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func dialTLS(ctx context.Context, dialer *net.Dialer, address string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return nil, ErrNoCertificate
	}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}

// Call sends question to path and reads the answer.
func (c *Client) Call(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(response.Body, maxReason))
		return fmt.Errorf("%s answers %d: %s", path, response.StatusCode, strings.TrimSpace(string(reason)))
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	if len(text) > maxAnswer {
		return fmt.Errorf("the answer of %s is too long", path)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return nil
}

// Close ends the connections that no call uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }
