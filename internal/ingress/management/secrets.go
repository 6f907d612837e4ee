// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

const (
	// MaxSecret is the largest value of a secret, 64 KiB: that of the keybroker.
	MaxSecret = 64 << 10
	// secretsTimeout bounds a call of the keybroker, further attempts included.
	secretsTimeout = 15 * time.Second
	// SecretsAttempts and SecretsPause are for a keybroker that nobody could
	// connect to. A replica that ends refuses connections for the moment until
	// every node knows; another attempt may reach another replica.
	SecretsAttempts = 3
	// SecretsPause is between two of them.
	SecretsPause = 100 * time.Millisecond
)

// UserSecrets keeps the secrets of users: the keybroker. An error is a
// *client.Refusal where it has answered.
type UserSecrets interface {
	List(ctx context.Context, of client.Ref) (client.SecretList, error)
	// Put does not use value after it has returned.
	Put(ctx context.Context, of client.Ref, name string, value []byte) (info client.SecretInfo, created bool, err error)
	Delete(ctx context.Context, of client.Ref, name string) error
}

// secretOf returns what a user sees of a secret.
func secretOf(of route.Backend, i client.SecretInfo) selfservice.Secret {
	s := selfservice.Secret{Name: i.Name, Size: i.Size, Created: i.Created, Updated: i.Updated, KeyVersion: i.KeyVersion, Source: i.Source}
	return s.WithUses(of.Grants)
}

// secretName returns the name in the path.
func secretName(c httpapi.Call) (string, error) {
	name := c.Param("name")
	if !v1alpha1.ValidSecretName(name) {
		return "", problems.SecretName
	}
	return name, nil
}

// refOf returns the HostedBridge whose secrets are meant, in whatever state: its pod has no
// part in this, and nothing is woken.
func refOf(b route.Backend) client.Ref {
	return client.Ref{Namespace: b.Namespace, Name: b.Name, UID: string(b.BridgeUID)}
}

// Secrets implements selfservice.SecretActions.
func (s *secretsAPI) Secrets(ctx context.Context, of route.Backend) (selfservice.Secrets, error) {
	var list client.SecretList
	err := askKeybroker(ctx, func(ctx context.Context) (err error) {
		list, err = s.keeper.List(ctx, refOf(of))
		return err
	})
	if err != nil {
		return selfservice.Secrets{}, err
	}
	out := selfservice.Secrets{Secrets: make([]selfservice.Secret, len(list.Secrets)), Limit: list.Limit}
	for i, info := range list.Secrets {
		out.Secrets[i] = secretOf(of, info)
	}
	return out, nil
}

// SetSecret implements selfservice.SecretActions.
func (s *secretsAPI) SetSecret(ctx context.Context, by selfservice.Actor, of route.Backend, name string, value []byte) (set selfservice.Secret, created bool, err error) {
	if !v1alpha1.ValidSecretName(name) {
		return set, false, problems.SecretName
	}
	var info client.SecretInfo
	err = askKeybroker(ctx, func(ctx context.Context) (err error) {
		var first bool
		info, first, err = s.keeper.Put(ctx, refOf(of), name, value)
		created = created || first
		return err
	})
	act := httpapi.Act{Self: true, Name: "secrets.set", Target: name, User: string(of.User)}
	if err := noteSecret(by, act, err); err != nil {
		return set, false, err
	}
	return secretOf(of, info), created, nil
}

// DeleteSecret implements selfservice.SecretActions.
func (s *secretsAPI) DeleteSecret(ctx context.Context, by selfservice.Actor, of route.Backend, name string) error {
	if !v1alpha1.ValidSecretName(name) {
		return problems.SecretName
	}
	act := httpapi.Act{Self: true, Name: "secrets.delete", Target: name, User: string(of.User)}
	return noteSecret(by, act, s.remove(ctx, refOf(of), name))
}

func (s *secretsAPI) remove(ctx context.Context, of client.Ref, name string) error {
	return askKeybroker(ctx, func(ctx context.Context) error { return s.keeper.Delete(ctx, of, name) })
}

// noteSecret records a change of a secret in the audit trail, unless it was certainly not
// made, and returns the error to answer with. err is that of askKeybroker.
func noteSecret(by selfservice.Actor, act httpapi.Act, err error) error {
	if err == nil {
		return by.Audit(act)
	}
	refusal, answered := errors.AsType[*client.Refusal](err)
	if answered && refusal.Status < http.StatusInternalServerError || errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	act.Unsure = true
	if unwritten := by.Audit(act); unwritten != nil {
		return unwritten
	}
	return err
}

// listSecrets answers with what there is, without values.
func (s *secretsAPI) listSecrets(c httpapi.Call) error {
	return httpapi.AnswerOf(c, func(of route.Backend) (selfservice.Secrets, error) { return s.Secrets(c.Request().Context(), of) })
}

// getSecret answers with what there is of one secret.
func (s *secretsAPI) getSecret(c httpapi.Call) error {
	name, err := secretName(c)
	if err != nil {
		return err
	}
	return httpapi.AnswerOf(c, func(of route.Backend) (found selfservice.Secret, err error) {
		list, err := s.Secrets(c.Request().Context(), of)
		if err != nil {
			return found, err
		}
		for _, secret := range list.Secrets {
			if secret.Name == name {
				return secret, nil
			}
		}
		return found, problems.SecretNotFound
	})
}

// putSecret sets a secret to the request's body.
func (s *secretsAPI) putSecret(c httpapi.Call) error {
	name, err := secretName(c)
	if err != nil {
		return err
	}
	value, err := c.Secret()
	if err != nil {
		return err
	}
	of, err := c.Bridge()
	if err != nil {
		return err
	}
	set, created, err := s.SetSecret(c.Request().Context(), c, of, name, value)
	if err != nil {
		return err
	}
	if created {
		return httpapi.AnswerJSON(c, http.StatusCreated, set)
	}
	return httpapi.AnswerJSON(c, http.StatusOK, set)
}

// deleteSecret removes a secret.
func (s *secretsAPI) deleteSecret(c httpapi.Call) error {
	name, err := secretName(c)
	if err != nil {
		return err
	}
	return httpapi.Done(c, func(of route.Backend) error { return s.DeleteSecret(c.Request().Context(), c, of, name) })
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
		if attempt == SecretsAttempts || !errors.Is(err, syscall.ECONNREFUSED) {
			return secretsProblem(err)
		}
		select {
		case <-ctx.Done():
			return secretsProblem(err)
		case <-time.After(SecretsPause):
		}
	}
}

// secretsProblems are what the caller sees of the keybroker's refusals, by
// code. With its own words are those that say what nobody here knows: which
// Secret it is, and which limit.
var secretsProblems = map[string]struct {
	problem  *httpapi.Problem
	ownWords bool
}{
	"bridge_not_found":       {problems.NotFound, false}, // Deleted, and the table does not have it yet.
	"bridge_not_prepared":    {problems.SecretsBusy, false},
	"body_too_large":         {problems.SecretTooLarge, false},
	"body_unreadable":        {problems.SecretsBusy, false}, // Ours, to the keybroker.
	"busy":                   {problems.SecretsBusy, false},
	"cluster_unavailable":    {problems.SecretsAway, false}, // Of a write it may be the answer that did not come.
	"conflict":               {problems.SecretsBusy, false},
	"master_key_unavailable": {problems.SecretsAway, false},
	"salt_invalid":           {problems.SecretsDamaged, false},
	"salt_missing":           {problems.SecretsLost, false},
	"secret_limit_reached":   {problems.SecretLimit, true},
	"secret_managed":         {problems.SecretManaged, true},
	"secret_not_found":       {problems.SecretNotFound, false},
	"secret_not_owned":       {problems.SecretsDamaged, false},
	"secret_not_shared":      {problems.SecretNotShared, true},
	"shared_not_found":       {problems.NotFound, false}, // Deleted meanwhile.
	"secret_unreadable":      {problems.SecretsDamaged, false},
	"secrets_too_large":      {problems.SecretsFull, false},
	"tier_unknown":           {problems.TierUnknown, true},
}

// secretsProblem returns err of the keybroker as the caller may know it. Codes
// that are the ingress's own fault, such as that of a name that it should not
// have let in, stay internal errors.
func secretsProblem(err error) error {
	refusal, ok := errors.AsType[*client.Refusal](err)
	if !ok {
		return fmt.Errorf("%w: %w", problems.SecretsAway, err)
	}
	known, ok := secretsProblems[refusal.Code]
	p := known.problem
	switch {
	case ok && known.ownWords:
		p = p.Saying(refusal.Detail)
	case !ok && (refusal.Status == http.StatusServiceUnavailable || refusal.Status == http.StatusTooManyRequests):
		p = problems.SecretsAway
	case !ok:
		p = problems.Internal
	}
	return fmt.Errorf("%w: %w", p, err)
}
