// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
)

const (
	// callTimeout is for calls whose bodies are some MiB at most, within a cluster.
	callTimeout = 30 * time.Second
	// maxProblem is how much of an error's document is read, in bytes.
	maxProblem = 4 << 10
	// maxInventory has room for the list of 400,000 bundles, in bytes.
	maxInventory = 64 << 20
)

// StoreError is the store's answer that it does not do what it was asked for.
type StoreError struct {
	Status int
	// Code never changes its meaning, such as bundle_not_found.
	Code, Detail string
}

// Error implements error.
func (e *StoreError) Error() string {
	return fmt.Sprintf("the store answers %d %s: %s", e.Status, e.Code, e.Detail)
}

// Client calls the part of the store that keeps bundles. It is safe for concurrent use.
type Client struct {
	base *url.URL
	http *http.Client
}

// NewClient returns a client of the store at base, such as
// https://hosted-bridge-store.hosted-bridge-system.svc:8444. credentials returns the
// configuration of each new connection, nil while there is no certificate; it is
// Source.ClientTLS(pki.StoreURI()) of the keybroker's client, by which the peer has
// to be the store.
func NewClient(base string, credentials func() *tls.Config) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || credentials == nil {
		return nil, errors.New("the store's URL is not of the form https://host:port")
	}
	return &Client{base: u, http: jsoncall.HTTP(credentials)}, nil
}

// Close ends the connections that no call uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Fetch returns the bytes of a bundle, compressed, for bundle.Unpack. The caller
// closes them. It waits while the store sends others as many as it may.
func (c *Client) Fetch(ctx context.Context, digest Digest) (io.ReadCloser, error) {
	response, err := c.do(ctx, http.MethodGet, c.path(digest), nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// Record returns what is known of a bundle.
func (c *Client) Record(ctx context.Context, digest Digest) (Record, error) {
	text, err := c.call(ctx, http.MethodGet, c.path(digest)+"/record", nil, MaxRecord)
	if err != nil {
		return Record{}, err
	}
	return DecodeRecord(text)
}

// Put uploads a bundle, whose bytes are compressed, with its record. It sends nothing more
// if the store has the bundle.
func (c *Client) Put(ctx context.Context, record *Record, content io.Reader) error {
	text, err := record.Encode()
	if err != nil {
		return fmt.Errorf("encode the record: %w", err)
	}
	response, err := c.do(ctx, http.MethodPut, c.path(record.Digest)+"/record", &requestBody{bytes.NewReader(text), int64(len(text))})
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	response, err = c.do(ctx, http.MethodPut, c.path(record.Digest), &requestBody{content, record.CompressedSize})
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Keep has the store remove all other bundles that nobody uploaded or fetched in the last hour.
func (c *Client) Keep(ctx context.Context, digests []Digest) (Removed, error) {
	text, err := json.Marshal(Needed{Digests: digests})
	if err != nil {
		return Removed{}, err
	}
	var removed Removed
	answer, err := c.call(ctx, http.MethodPost, "/v1/bundles/keep", text, maxProblem)
	if err != nil {
		return removed, err
	}
	return removed, json.Unmarshal(answer, &removed)
}

// List returns what the store has.
func (c *Client) List(ctx context.Context) (Inventory, error) {
	var inventory Inventory
	answer, err := c.call(ctx, http.MethodGet, "/v1/bundles", nil, maxInventory)
	if err != nil {
		return inventory, err
	}
	return inventory, json.Unmarshal(answer, &inventory)
}

func (c *Client) path(digest Digest) string {
	return "/v1/bundles/" + url.PathEscape(string(digest))
}

// requestBody is what a request sends, with its length in bytes.
type requestBody struct {
	io.Reader
	length int64
}

// call sends a short body and reads an answer of at most limit bytes.
func (c *Client) call(ctx context.Context, method, path string, text []byte, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := c.do(ctx, method, path, &requestBody{bytes.NewReader(text), int64(len(text))})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(answer)) > limit {
		err = errors.New("the store's answer is too long")
	}
	return answer, err
}

// do sends a request. An answer that is no success is an *Error.
func (c *Client) do(ctx context.Context, method, path string, b *requestBody) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	if b != nil && b.length > 0 {
		request.Body, request.ContentLength = io.NopCloser(b.Reader), b.length
		// A bundle that the store does not take is not sent.
		request.Header.Set("Expect", "100-continue")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusMultipleChoices {
		return response, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxProblem))
	var problem struct{ Code, Detail string }
	if json.Unmarshal(text, &problem) != nil {
		problem.Detail = "no reason given"
	}
	return nil, &StoreError{Status: response.StatusCode, Code: problem.Code, Detail: problem.Detail}
}
