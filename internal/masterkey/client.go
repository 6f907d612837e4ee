// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/netguard"
)

const (
	defaultMount     = "transit"
	defaultAuthMount = "kubernetes"

	// defaultTimeout is for one call, its login included. The keybroker answers
	// within 15 seconds, and a bridge has tens of secrets: a server that needs
	// longer for one of them is away.
	defaultTimeout = 5 * time.Second

	// maxAnswer is the most bytes that are read of an answer. The longest is
	// the key's description, some 30 bytes for each version.
	maxAnswer = 256 << 10

	// maxToken is the most bytes of a token's file: a service account's token
	// has about 1 KiB.
	maxToken = 16 << 10
)

// TransitOptions say where the transit engine is, and which credentials to use.
type TransitOptions struct {
	// Address is for example "https://vault.example:8200". Data keys pass over
	// it, so it must be https, except on this machine or if Insecure.
	Address  string
	Insecure bool
	// CAFile has the certificates that vouch for the server, in PEM; the
	// system's if it is empty.
	CAFile string
	// Namespace is Vault Enterprise's or OpenBao's, if any.
	Namespace string
	// Mount is the engine's path, "transit" if it is empty.
	Mount string
	// Key is the key's name. It is of type aes256-gcm96 and derived.
	Key string
	// TokenFile has a token. It is read again for each call, so that an agent
	// can renew it. Without it the Kubernetes method is used: Role is logged in
	// to at AuthMount, "kubernetes" if it is empty, with the service account's
	// token in JWTFile.
	TokenFile string
	AuthMount string
	Role      string
	JWTFile   string
	// Timeout is for one call, 5 seconds if it is zero.
	Timeout time.Duration
}

// The names of mounts and keys may not be mistaken for another path.
var (
	mountName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$`)
	keyName   = regexp.MustCompile(`^\w(([\w.-]+)?\w)?$`)
)

// Validate reports all invalid options.
func (o TransitOptions) Validate() error {
	var errs []error
	check := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	errs = append(errs, o.validateAddress())
	check(o.Mount == "" || mountName.MatchString(o.Mount), "the mount is not a path such as transit")
	check(o.AuthMount == "" || mountName.MatchString(o.AuthMount), "the mount of the Kubernetes method is not a path such as kubernetes")
	check(keyName.MatchString(o.Key), "the key is not a name such as hosted-bridge")
	byRole := o.Role != "" && o.JWTFile != ""
	check((o.TokenFile != "") != byRole, "it needs either a token file, or a role and the file of a service account's token")
	return errors.Join(errs...)
}

func (o TransitOptions) validateAddress() error {
	u, err := url.Parse(o.Address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// The parser's own error would quote the address, which may have a
		// password in it.
		return errors.New("the address is not one such as https://vault.example:8200")
	}
	if u.Scheme == "https" || u.Scheme == "http" && (o.Insecure || netguard.IsLoopback(u.Hostname())) {
		return nil
	}
	return errors.New("the address is not https, and data keys pass over it")
}

// transitClient speaks the HTTP API that Vault and OpenBao share.
type transitClient struct {
	options TransitOptions
	base    *url.URL
	http    *http.Client
	token   tokens
}

func newTransitClient(o TransitOptions) (*transitClient, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Mount == "" {
		o.Mount = defaultMount
	}
	if o.AuthMount == "" {
		o.AuthMount = defaultAuthMount
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	base, err := url.Parse(o.Address)
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	roots, err := readRoots(o.CAFile)
	if err != nil {
		return nil, err
	}
	c := &transitClient{options: o, base: base, http: &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: o.Timeout,
			ForceAttemptHTTP2:   true,
			// As many as the keybroker has requests under way. Requests that
			// open several secrets at once also open some new connections.
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     90 * time.Second,
		},
		// A token is sent to the configured address only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if o.TokenFile != "" {
		c.token = tokenFile(o.TokenFile)
	} else {
		c.token = newLogin(c)
	}
	return c, nil
}

// readRoots returns nil, the system's, without a file.
func readRoots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("read the CA: %s has no certificate in PEM", path)
	}
	return roots, nil
}

// call requests an operation on the key. in and out may be nil.
func (c *transitClient) call(ctx context.Context, method, what string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	r := request{method: method, path: []string{c.options.Mount, what, c.options.Key}, body: in, opens: what == "decrypt"}
	if what == "rotate" {
		r.path = []string{c.options.Mount, "keys", c.options.Key, what}
	}
	var err error
	for range 2 {
		if r.token, err = c.token.get(ctx); err != nil {
			return unavailable(err)
		}
		err = c.send(ctx, r, &struct {
			Data any `json:"data"`
		}{out})
		if !errors.Is(err, errDenied) || !c.token.refused(r.token) {
			return err
		}
	}
	return err
}

// request is one HTTP request.
type request struct {
	method string
	path   []string
	token  string // None if it is empty.
	body   any    // None if it is nil.
	opens  bool   // An answer may say something of a ciphertext.
}

// send decodes the answer to a request into out. Every error is one of package
// envelope's, and contains nothing of the request or the answer.
func (c *transitClient) send(ctx context.Context, r request, out any) error {
	req, err := c.build(ctx, r)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return unavailable(connectionError(err))
	}
	defer res.Body.Close()
	content, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	defer clear(content)
	switch {
	case err != nil:
		return unavailable(connectionError(err))
	case len(content) > maxAnswer:
		return unavailable(fmt.Errorf("the answer has more than %d bytes", maxAnswer))
	case res.StatusCode == http.StatusNoContent:
		return nil
	case res.StatusCode != http.StatusOK:
		return statusError(r.opens, res.StatusCode, content)
	}
	if err := json.Unmarshal(content, out); err != nil {
		// The decoder's own error may quote the answer.
		return unavailable(errors.New("the answer is not of the expected form"))
	}
	return nil
}

func (c *transitClient) build(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		encoded, err := json.Marshal(r.body)
		if err != nil {
			return nil, unavailable(err)
		}
		body = bytes.NewReader(encoded)
	}
	u := c.base.JoinPath(append([]string{"v1"}, r.path...)...)
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, unavailable(err)
	}
	// An agent in between can be configured to refuse requests without it.
	req.Header.Set("X-Vault-Request", "true")
	req.Header.Set("Content-Type", "application/json")
	if r.token != "" {
		req.Header.Set("X-Vault-Token", r.token)
	}
	if c.options.Namespace != "" {
		req.Header.Set("X-Vault-Namespace", c.options.Namespace)
	}
	return req, nil
}
