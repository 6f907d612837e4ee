// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// timeout bounds one request to a provider. A person waits for two or three.
	timeout = 10 * time.Second
	// maxBody is the most that an answer may have: some claims, or some keys, with
	// chains of certificates.
	maxBody = 1 << 20
	// idleTimeout is shorter than the minute after which common load balancers
	// drop an idle connection without a word.
	idleTimeout = 50 * time.Second
)

// newClient returns a client by the given one's transport that believes short
// answers, of the one who was asked.
func newClient(c *http.Client) *http.Client {
	var next http.RoundTripper = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: timeout, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: idleTimeout,
	}
	if c != nil && c.Transport != nil {
		next = c.Transport
	}
	return &http.Client{
		Transport: bounded{next}, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded reads answers up to maxBody. What is got must be there: the libraries'
// own errors quote answers, in which there may be what we have sent.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodGet && resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("it answers with status %d", resp.StatusCode)
	}
	resp.Body = body{io.LimitReader(resp.Body, maxBody), resp.Body}
	return resp, nil
}

// body is one that ends early.
type body struct {
	io.Reader
	io.Closer
}
