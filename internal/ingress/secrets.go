// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// maxSecret is the largest value of a secret, 64 KiB: that of the keybroker.
	maxSecret = 64 << 10
	// secretsTimeout bounds a call of the keybroker, further attempts included.
	secretsTimeout = 15 * time.Second
	// secretsAttempts and secretsPause are for a keybroker that nobody could
	// connect to. A replica that ends refuses connections for the moment until
	// every node knows; another attempt may reach another replica.
	secretsAttempts = 3
	secretsPause    = 100 * time.Millisecond
)

// UserSecrets keeps the secrets of users: the keybroker. An error is a
// *client.Refusal where it has answered.
type UserSecrets interface {
	List(ctx context.Context, of client.Ref) (client.SecretList, error)
	// Put does not use value after it has returned.
	Put(ctx context.Context, of client.Ref, name string, value []byte) (info client.SecretInfo, created bool, err error)
	Delete(ctx context.Context, of client.Ref, name string) error
}

// secretEntry is what a user sees of a secret. No answer has a value.
type secretEntry struct {
	client.SecretInfo
	// Servers are those that may use the secret.
	Servers []string `json:"servers"`
}

func entryOf(b route.Backend, info client.SecretInfo) secretEntry {
	servers := b.Grants.Servers(info.Name)
	if servers == nil {
		servers = []string{} // A list, and not null, for whoever reads it.
	}
	return secretEntry{info, servers}
}

// secretsOf returns the caller's bridge, in whatever state: its pod has no
// part in this, and nothing is woken.
func (s *Server) secretsOf(c *gin.Context) (route.Backend, client.Ref, error) {
	b, err := s.hold.lookup(principalOf(c), time.Now())
	if err != nil {
		return b, client.Ref{}, err
	}
	recordOf(c.Request.Context()).secret = c.Param("name")
	return b, client.Ref{Namespace: b.Namespace, Name: b.Name, UID: string(b.BridgeUID)}, nil
}

// listSecrets answers with what there is, without values.
func (s *Server) listSecrets(c *gin.Context) error {
	b, list, err := s.secretList(c)
	if err != nil {
		return err
	}
	entries := make([]secretEntry, len(list.Secrets))
	for i, info := range list.Secrets {
		entries[i] = entryOf(b, info)
	}
	return answerJSON(c, http.StatusOK, struct {
		Secrets []secretEntry `json:"secrets"`
		Limit   *int          `json:"limit"`
	}{entries, list.Limit})
}

// getSecret answers with what there is of one secret.
func (s *Server) getSecret(c *gin.Context) error {
	b, list, err := s.secretList(c)
	if err != nil {
		return err
	}
	for _, info := range list.Secrets {
		if info.Name == c.Param("name") {
			return answerJSON(c, http.StatusOK, entryOf(b, info))
		}
	}
	return errSecretNotFound
}

func (s *Server) secretList(c *gin.Context) (route.Backend, client.SecretList, error) {
	b, ref, err := s.secretsOf(c)
	if err != nil {
		return b, client.SecretList{}, err
	}
	var list client.SecretList
	err = askKeybroker(c.Request.Context(), func(ctx context.Context) (err error) {
		list, err = s.secrets.List(ctx, ref)
		return err
	})
	return b, list, err
}

// putSecret sets a secret to the request's body.
func (s *Server) putSecret(c *gin.Context) error {
	value, err := s.readSecret(c)
	// All that was read, also of a body that broke off. What net/http had in
	// its buffers is out of reach.
	defer clear(value[:cap(value)])
	if err != nil {
		return err
	}
	b, ref, err := s.secretsOf(c)
	if err != nil {
		return err
	}
	var info client.SecretInfo
	status := http.StatusOK
	err = askKeybroker(c.Request.Context(), func(ctx context.Context) error {
		set, created, err := s.secrets.Put(ctx, ref, c.Param("name"), value)
		if created {
			status = http.StatusCreated
		}
		info = set
		return err
	})
	if err != nil {
		return err
	}
	return answerJSON(c, status, entryOf(b, info))
}

// deleteSecret removes a secret.
func (s *Server) deleteSecret(c *gin.Context) error {
	_, ref, err := s.secretsOf(c)
	if err != nil {
		return err
	}
	err = askKeybroker(c.Request.Context(), func(ctx context.Context) error {
		return s.secrets.Delete(ctx, ref, c.Param("name"))
	})
	if err != nil {
		return err
	}
	c.Writer.Header().Set("Cache-Control", "no-store")
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}

// readSecret returns the request's body, or what there is of it with an error.
// It is read into one buffer, because one that grew would leave copies behind.
func (s *Server) readSecret(c *gin.Context) ([]byte, error) {
	r := c.Request
	if r.ContentLength > maxSecret {
		s.passOver(c)
		return nil, errSecretTooLarge
	}
	// One byte more than is allowed shows that more came.
	value, n := make([]byte, bodySize(r, maxSecret)+1), 0
	err := within(c, s.config.BodyTimeout, func() (more bool, err error) {
		for err == nil && n < len(value) {
			var m int
			m, err = r.Body.Read(value[n:])
			n += m
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return true, err
	})
	value = value[:n]
	switch {
	case err != nil:
		return value, fmt.Errorf("%w: %w", errBodyUnreadable, err)
	case n > maxSecret:
		s.passOver(c)
		return value, errSecretTooLarge
	case n == 0:
		return value, errSecretEmpty
	}
	return value, nil
}

// maxPassedOver is how much of a body that is too long is read all the same.
// Somebody who is still sending when the connection closes may never see why;
// nobody sends more than that by mistake.
const maxPassedOver = 1 << 20

// passOver reads the rest of a body that is refused.
func (s *Server) passOver(c *gin.Context) {
	_ = within(c, s.config.BodyTimeout, func() (more bool, err error) {
		_, err = io.CopyN(io.Discard, c.Request.Body, maxPassedOver)
		return !errors.Is(err, io.EOF), nil
	})
}

// askKeybroker calls, and calls again while nobody takes the connection: then
// nothing was sent. After any other failure the change may have been made, and
// whoever asked for it decides.
func askKeybroker(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, secretsTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := call(ctx)
		if err == nil {
			return nil
		}
		if attempt == secretsAttempts || !errors.Is(err, syscall.ECONNREFUSED) {
			return secretsProblem(err)
		}
		select {
		case <-ctx.Done():
			return secretsProblem(err)
		case <-time.After(secretsPause):
		}
	}
}

// answerJSON answers with what nobody may keep.
func answerJSON(c *gin.Context, status int, v any) error {
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	c.Status(status)
	// A failed write is the client's leaving.
	_, _ = c.Writer.Write(mustMarshal(v))
	return nil
}
