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
	"strings"
	"time"
)

// Ref names a HostedBridge, or with Shared a SharedServer, which needs no namespace. The UID
// distinguishes it from a later one of that name.
type Ref struct {
	Namespace, Name, UID string
	Shared               bool
}

// SecretInfo describes a secret without its value.
type SecretInfo struct {
	Name string `json:"name"`
	// Size is the value's in bytes.
	Size int `json:"size"`
	// Created and Updated are zero if they are not known.
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	// KeyVersion is the version of the master key under which it is sealed.
	KeyVersion uint32 `json:"keyVersion"`
	// Source is the Secret of spec.secretRefs that it comes from, empty for a
	// secret that the user set. The user cannot change a secret with a source.
	Source string `json:"source,omitempty"`
	// Origin is where a SharedServer's secret may be sent, and Usable whether its server is
	// there now.
	Origin string `json:"origin,omitempty"`
	Usable *bool  `json:"usable,omitempty"`
}

// SecretList lists a user's secrets.
type SecretList struct {
	// Secrets are sorted by name.
	Secrets []SecretInfo `json:"secrets"`
	// Limit is how many the user's tier allows; nil means no limit.
	Limit    *int   `json:"limit"`
	Revision string `json:"revision"`
	// Missing are the secrets of a SharedServer that have no value for its present Origin.
	Missing []string `json:"missing"`
	Origin  string   `json:"origin"`
}

// UserSecrets are the users' secrets as the ingress changes them. It is safe
// for concurrent use.
type UserSecrets struct {
	base *url.URL
	http *http.Client
}

// NewUserSecrets returns the secrets at the keybroker of c. This process
// presents the certificate of s there, which is the ingress's.
func NewUserSecrets(c *Client, s *Source) *UserSecrets {
	return &UserSecrets{base: c.base, http: httpClient(s.serviceTLS())}
}

// List returns the secrets of the bridge's user. The error is a *Refusal when
// the keybroker answered.
func (u *UserSecrets) List(ctx context.Context, ref Ref) (SecretList, error) {
	var list SecretList
	_, err := u.do(ctx, http.MethodGet, u.path(ref), nil, &list)
	if err == nil && list.Secrets == nil {
		err = errAnswer
	}
	if err != nil {
		return SecretList{}, fmt.Errorf("list secrets: %w", err)
	}
	return list, nil
}

// Put sets a secret and reports whether it is new. The error is a *Refusal when
// the keybroker answered.
func (u *UserSecrets) Put(ctx context.Context, ref Ref, name string, value []byte) (info SecretInfo, created bool, err error) {
	status, err := u.do(ctx, http.MethodPut, u.path(ref, name), value, &info)
	if err == nil && info.Name != name {
		err = errAnswer
	}
	if err != nil {
		return SecretInfo{}, false, fmt.Errorf("set secret: %w", err)
	}
	return info, status == http.StatusCreated, nil
}

// Delete removes a secret. The error is a *Refusal when the keybroker answered;
// its status is 404 if the secret does not exist.
func (u *UserSecrets) Delete(ctx context.Context, ref Ref, name string) error {
	if _, err := u.do(ctx, http.MethodDelete, u.path(ref, name), nil, nil); err != nil {
		return fmt.Errorf("remove secret: %w", err)
	}
	return nil
}

var errAnswer = errors.New("the answer is not one of the keybroker's")

// path returns the URL of the secrets, or of the one that is named.
func (u *UserSecrets) path(ref Ref, name ...string) string {
	parts, kind := []string{ref.Namespace, ref.Name, ref.UID, "secrets"}, "bridges"
	if ref.Shared {
		parts, kind = parts[1:], "shared"
	}
	parts = append(parts, name...)
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return u.base.JoinPath("v1", kind).String() + "/" + strings.Join(parts, "/")
}

// do sends one request and decodes the answer into answer unless that is nil.
func (u *UserSecrets) do(ctx context.Context, method, path string, value []byte, answer any) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, path, http.NoBody)
	if err != nil {
		return 0, err
	}
	if len(value) > 0 {
		request.Body, request.ContentLength = newSecretBody(value), int64(len(value))
	}
	status, content, err := do(u.http, request, maxSecrets)
	if err != nil {
		return 0, err
	}
	if answer == nil {
		if status != http.StatusNoContent {
			return 0, errAnswer
		}
		return status, nil
	}
	if status != http.StatusOK && status != http.StatusCreated || json.Unmarshal(content, answer) != nil {
		return 0, errAnswer
	}
	return status, nil
}
