// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundleimage

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

const (
	// dialTimeout and answerTimeout bound what a registry takes until it begins to answer. What
	// is sent has as long as its caller's context.
	dialTimeout   = 10 * time.Second
	answerTimeout = 2 * time.Minute
	// maxManifest is the length of a manifest in bytes: those of this package have some 800.
	maxManifest = 64 << 10
)

// Config says where a repository is.
type Config struct {
	// Name is the repository's with its host, such as registry.example.com/mcp/bundles.
	Name string
	// Credentials is the file in which docker login keeps the registry's credentials, or the file
	// of a Secret of the type kubernetes.io/dockerconfigjson. Without the file, requests are anonymous. If
	// it is empty, the user's own file is used, and the credential helpers that it names.
	Credentials string
	// Authorities are certificate authorities in PEM that are trusted besides those of the system.
	Authorities string
}

// Repository is a repository of a registry. It is safe for concurrent use.
type Repository struct {
	remote *remote.Repository
	name   string
	// remedy says what to do about refused credentials.
	remedy string
}

// Open returns a repository, and sends nothing yet.
func Open(c Config) (*Repository, error) {
	repository, err := remote.NewRepository(c.Name)
	if err != nil || repository.Reference.Reference != "" {
		return nil, fmt.Errorf("%.200q is no repository: name its host and its path without a tag, such as registry.example.com/mcp/bundles", c.Name)
	}
	transport, err := transport(c.Authorities)
	if err != nil {
		return nil, err
	}
	store, err := credentialsOf(c.Credentials)
	if err != nil {
		return nil, fmt.Errorf("read the credentials of registries: %w", err)
	}
	repository.Client = &auth.Client{
		Client: &http.Client{Transport: transport}, Cache: auth.NewCache(), Credential: credentials.Credential(store),
	}
	repository.SkipReferrersGC = true // What this package writes it never removes.
	remedy := "correct those of " + c.Credentials
	if c.Credentials == "" {
		remedy = "run docker login " + repository.Reference.Registry
	}
	return &Repository{repository, c.Name, remedy}, nil
}

// Name returns the repository's name with its host.
func (r *Repository) Name() string { return r.name }

func transport(authorities string) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM([]byte(authorities)) {
			return nil, errors.New("the registry's certificate authorities are not certificates in PEM")
		}
		config.RootCAs = pool
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig: config, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: answerTimeout, ForceAttemptHTTP2: true,
	}, nil
}

func credentialsOf(file string) (credentials.Store, error) {
	if file == "" {
		return credentials.NewStoreFromDocker(credentials.StoreOptions{})
	}
	return credentials.NewFileStore(file)
}

// explain returns the error of a call of the registry in words for an administrator. It quotes
// nothing of credentials.
func (r *Repository) explain(action string, err error) error {
	if errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return fmt.Errorf("%s: the registry wants credentials for %s, and there are none: %s", action, r.name, r.remedy)
	}
	if refused, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		switch refused.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Errorf("%s: the registry refuses these credentials for %s: %s: %w", action, r.name, r.remedy, err)
		case http.StatusNotFound:
			return fmt.Errorf("%s: the registry has no repository %s: create it, or correct its name: %w", action, r.name, err)
		case http.StatusRequestEntityTooLarge:
			return fmt.Errorf("%s: the registry takes no layer of this size: %w", action, err)
		}
	}
	return fmt.Errorf("%s %s: %w", action, r.name, err)
}

// readAll reads a document of at most most bytes.
func readAll(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("the registry's answer has more than %d bytes", most)
	}
	return text, err
}
