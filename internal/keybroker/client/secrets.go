// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// Secrets are the secrets of the calling bridge.
type Secrets struct {
	// Revision changes when a secret is set or removed. It is empty while there
	// are no secrets.
	Revision string
	Values   map[string][]byte
	// Unreadable are the names of secrets that are set and do not open.
	Unreadable []string
	// SessionKeys sign the values that the bridge gives to its clients: the
	// first signs, all verify.
	SessionKeys [][]byte
}

// Secrets returns the secrets of the bridge that this process is, and nothing
// if they still have the given revision, which may be empty. The error is a
// *Refusal when the keybroker answered. After an answer with secrets that did
// not open, the same revision counts as changed: they may open now.
func (c *Client) Secrets(ctx context.Context, revision string) (*Secrets, error) {
	request, err := c.request(ctx, http.MethodGet, "secrets", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("request secrets: %w", err)
	}
	conditional := revision != "" && !c.incomplete.Load()
	if conditional {
		request.Header.Set("If-None-Match", `"`+revision+`"`)
	}
	request.Header.Set("Accept", "application/json")
	status, body, err := do(c.http, request, maxSecrets)
	if err != nil {
		return nil, fmt.Errorf("request secrets: %w", err)
	}
	defer clear(body)
	if status == http.StatusNotModified && conditional {
		return nil, nil
	}
	var answer struct {
		Revision    string            `json:"revision"`
		Secrets     map[string][]byte `json:"secrets"`
		Unreadable  []string          `json:"unreadable"`
		SessionKeys [][]byte          `json:"sessionKeys"`
	}
	// The decoder's error could quote what it read.
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil || answer.Secrets == nil || !validKeys(answer.SessionKeys) {
		return nil, errors.New("request secrets: the answer is not one of the keybroker's")
	}
	c.incomplete.Store(len(answer.Unreadable) > 0)
	c.revision.Store(&answer.Revision)
	return &Secrets{Revision: answer.Revision, Values: answer.Secrets, Unreadable: answer.Unreadable, SessionKeys: answer.SessionKeys}, nil
}

// The codes of a SaveSecret's Refusal.
const (
	// CodeRevisionChanged means that another change came first.
	CodeRevisionChanged = "revision_changed"
	// CodeSecretNotFound means that the user has no secret of this name, or not
	// any more.
	CodeSecretNotFound = "secret_not_found"
	// CodeSecretManaged means that the secret follows a Secret of the user.
	CodeSecretManaged = "secret_managed"
	// CodeSecretNotWritable means that no server of the bridge keeps its login
	// there.
	CodeSecretNotWritable = "secret_not_writable"
)

// SaveSecret stores a secret of the bridge that this process is: one that a
// server of it names as auth.oauth.tokenSecret. Nothing is stored if the
// secrets have changed since this client last fetched or stored any. The error
// is a *Refusal when the keybroker answered; after any other error the secret
// may be stored or not. The value is not kept.
func (c *Client) SaveSecret(ctx context.Context, name string, value []byte) error {
	body := newSecretBody(value)
	request, err := c.request(ctx, http.MethodPut, "secrets/"+url.PathEscape(name), body)
	if err != nil {
		_ = body.Close()
		return fmt.Errorf("save secret: %w", err)
	}
	request.ContentLength = int64(len(value))
	if revision := c.revision.Load(); revision != nil && *revision != "" {
		request.Header.Set("If-Match", `"`+*revision+`"`)
	}
	status, content, err := do(c.http, request, maxAnswer)
	if err != nil {
		return fmt.Errorf("save secret: %w", err)
	}
	var answer struct {
		Revision string `json:"revision"`
	}
	if status != http.StatusOK || json.Unmarshal(content, &answer) != nil || answer.Revision == "" {
		return fmt.Errorf("save secret: %w", errAnswer)
	}
	c.revision.Store(&answer.Revision)
	return nil
}

// validKeys reports whether the keys are long enough: signatures by a short key
// could not be relied on.
func validKeys(keys [][]byte) bool {
	return !slices.ContainsFunc(keys, func(key []byte) bool { return len(key) != pki.SessionKeySize })
}
