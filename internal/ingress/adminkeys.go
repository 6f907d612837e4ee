// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// maxKeyRequest holds a name and a lifetime many times over.
const maxKeyRequest = 4 << 10

// UserKeys are the keys in users' HostedBridges. Errors other than those that
// package userkey has are of the API server. An act of which nobody knows what
// became of it ends with a *userkey.UnsureError.
type UserKeys interface {
	Create(ctx context.Context, of userkey.Bridge, name string, lifetime time.Duration) (*userkey.Minted, error)
	List(ctx context.Context, of userkey.Bridge) ([]userkey.Info, error)
	Revoke(ctx context.Context, of userkey.Bridge, id string) error
}

// createdKey is the one and only view of a key.
type createdKey struct {
	Key       string     `json:"key"`
	ID        string     `json:"id"`
	Name      string     `json:"name,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// createKey mints a key for a user and answers with it, once.
func (s *Server) createKey(c *gin.Context) error {
	name, lifetime, err := s.readKeyRequest(c)
	if err != nil {
		return err
	}
	of, err := s.keysOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := actContext(c)
	defer cancel()
	minted, err := s.keys.Create(ctx, of, name, lifetime)
	if err != nil {
		return s.actFailed(c, actCreateKey, err)
	}
	if err := s.auditAdmin(c, actCreateKey, c.Param("userId"), minted.ID); err != nil {
		return err
	}
	created := createdKey{Key: minted.Key, ID: minted.ID, Name: name, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if !minted.ExpiresAt.IsZero() {
		created.ExpiresAt = &minted.ExpiresAt
	}
	return answerJSON(c, http.StatusCreated, created)
}

// listKeys answers with what may be told of a user's keys.
func (s *Server) listKeys(c *gin.Context) error {
	of, err := s.keysOf(c)
	if err != nil {
		return err
	}
	keys, err := s.keys.List(c.Request.Context(), of)
	if err != nil {
		return keysProblem(err)
	}
	if err := s.auditAdmin(c, actListKeys, c.Param("userId"), ""); err != nil {
		return err
	}
	return answerJSON(c, http.StatusOK, struct {
		Keys  []userkey.Info `json:"keys"`
		Limit int            `json:"limit"`
	}{keys, userkey.MaxKeys})
}

// revokeKey removes a key that was added as one of its own.
func (s *Server) revokeKey(c *gin.Context) error {
	of, err := s.keysOf(c)
	if err != nil {
		return err
	}
	id := c.Param("keyId")
	ctx, cancel := actContext(c)
	defer cancel()
	if err := s.keys.Revoke(ctx, of, id); err != nil {
		return s.actFailed(c, actRevokeKey, err)
	}
	if err := s.auditAdmin(c, actRevokeKey, c.Param("userId"), id); err != nil {
		return err
	}
	c.Writer.Header().Set("Cache-Control", "no-store")
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}

// actTimeout bounds an act, above what the API server has for it.
const actTimeout = 15 * time.Second

// actContext returns the context of an act, which goes on when its caller
// leaves: what was begun is done, and told in the audit trail.
func actContext(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.Request.Context()), actTimeout)
}

// actFailed returns what the caller may know of err. An act that may have been
// done is one for the audit trail.
func (s *Server) actFailed(c *gin.Context, act string, err error) error {
	unsure, ok := errors.AsType[*userkey.UnsureError](err)
	if ok {
		if err := s.auditUnsure(c, act, c.Param("userId"), unsure.KeyID); err != nil {
			return err
		}
	}
	return keysProblem(err)
}

// keysOf returns whose keys the path is about.
func (s *Server) keysOf(c *gin.Context) (userkey.Bridge, error) {
	t := s.routes.Current()
	if t == nil {
		return userkey.Bridge{}, errNotReady
	}
	b, ok := t.Lookup(v1alpha1.UserID(c.Param("userId")))
	if !ok {
		return userkey.Bridge{}, errNotFound
	}
	return bridgeOfKeys(b), nil
}

func bridgeOfKeys(b route.Backend) userkey.Bridge {
	of := userkey.Bridge{UID: b.BridgeUID}
	of.Namespace, of.Name = b.Namespace, b.Name
	return of
}

// readKeyRequest returns what the body asks for. No body asks for a key without
// a name that does not expire.
func (s *Server) readKeyRequest(c *gin.Context) (name string, lifetime time.Duration, err error) {
	r := c.Request
	if r.ContentLength == 0 {
		return "", 0, nil
	}
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return "", 0, errMediaType
	}
	if r.ContentLength > maxKeyRequest {
		return "", 0, errKeyRequestTooLarge
	}
	body, err := readWithin(c, maxKeyRequest+1, s.config.BodyTimeout)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", errBodyUnreadable, err)
	}
	if len(body) > maxKeyRequest {
		return "", 0, errKeyRequestTooLarge
	}
	return parseKeyRequest(body)
}

// parseKeyRequest reads {"name": "laptop", "expires": "90d"}.
func parseKeyRequest(body []byte) (name string, lifetime time.Duration, err error) {
	var asked struct {
		Name    string `json:"name"`
		Expires string `json:"expires"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return "", 0, errKeyRequest
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return "", 0, errKeyRequest
	}
	if err := userkey.CheckName(asked.Name); err != nil {
		return "", 0, errKeyRequest.saying(err.Error())
	}
	if lifetime, err = userkey.ParseLifetime(asked.Expires); err != nil {
		return "", 0, errKeyRequest.saying("expires: " + err.Error())
	}
	return asked.Name, lifetime, nil
}

// keysProblem returns err of the keys as the caller may know it.
func keysProblem(err error) error {
	managed, isManaged := errors.AsType[*userkey.ManagedError](err)
	p := errKeysAway
	switch {
	case isManaged:
		p = errKeyManaged.saying("The key is held by " + strings.Join(managed.By, ", ") + "; remove it from spec.apiKeys where they have it from.")
	case errors.Is(err, userkey.ErrNoBridge):
		p = errNotFound
	case errors.Is(err, userkey.ErrNoKey):
		p = errKeyNotFound
	case errors.Is(err, userkey.ErrTooMany):
		p = errKeyLimit
	}
	return fmt.Errorf("%w: %w", p, err)
}
