// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Secrets are the secrets of the bridge that asks.
type Secrets struct {
	// Revision changes when a secret is set or removed. It is empty while there
	// are none.
	Revision string
	Values   map[string][]byte
	// Unreadable are the names of those that are set and do not open.
	Unreadable []string
}

// Secrets returns the secrets of the bridge that this process is, and nothing
// when they are still those of the revision, which may be empty. The error is
// a *Refusal when the keybroker answered. After an answer with secrets that
// did not open, the same revision counts as changed: they may open now.
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
		Revision   string            `json:"revision"`
		Secrets    map[string][]byte `json:"secrets"`
		Unreadable []string          `json:"unreadable"`
	}
	// The decoder's error could quote what it read.
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil || answer.Secrets == nil {
		return nil, errors.New("request secrets: the answer is not one of the keybroker's")
	}
	c.incomplete.Store(len(answer.Unreadable) > 0)
	return &Secrets{Revision: answer.Revision, Values: answer.Secrets, Unreadable: answer.Unreadable}, nil
}
