// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// limited is an API server with a quota for one HostedBridge's Secrets.
type limited struct {
	secretstore.Secrets

	name string
}

func (l limited) CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	if secret.Name == l.name {
		return nil, apierrors.NewForbidden(corev1.Resource("secrets"), l.name, errors.New("exceeded quota: few, requested: count/secrets=1"))
	}
	return l.Secrets.CreateSecret(ctx, secret)
}

// What is wrong with one HostedBridge is no reason not to restore the others.
func TestOneThatIsRefusedDoesNotEndARestoration(t *testing.T) {
	for _, test := range []struct {
		name    string
		cluster func(t *testing.T, c *cluster)
		outcome Outcome
		reason  string
	}{
		{"a salt in the cluster that is none", func(t *testing.T, c *cluster) {
			alice := c.bridges[0].Bridge
			c.set(t, alice, map[string]string{"A": "x"})
			c.Remove("team", v1alpha1.EnvelopesSecretName("alice"))
			c.Stored["team/"+v1alpha1.SaltSecretName("alice")].Data = nil
		}, Refused, "its salt in the cluster is not one"},
		{"a quota for the salt", func(_ *testing.T, c *cluster) {
			c.Secrets = limited{c.Secrets, v1alpha1.SaltSecretName("alice")}
		}, Refused, "exceeded quota: few"},
		{"a quota for the envelopes", func(_ *testing.T, c *cluster) {
			c.Secrets = limited{c.Secrets, v1alpha1.EnvelopesSecretName("alice")}
		}, Refused, "exceeded quota: few"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, b := today(t), backedUp(t, unchangedBackup)
			test.cluster(t, c)
			got := c.restore(t, b, false)
			if got["alice"].Outcome != test.outcome || !strings.Contains(got["alice"].Reason, test.reason) {
				t.Errorf("%+v, want %s because %q", got["alice"], test.outcome, test.reason)
			}
			if got["bob"].Outcome != Restored {
				t.Errorf("bob's: %+v", got["bob"])
			}
		})
	}
}

func TestAHostedBridgeThatMayNotBeReadIsSkipped(t *testing.T) {
	c, b := today(t), backedUp(t, unchangedBackup)
	r := Restoration{Store: c.Store, Bridge: func(ctx context.Context, namespace, name string) (*Bridge, error) {
		if name == "alice" {
			return nil, fmt.Errorf("get HostedBridge: %w", apierrors.NewForbidden(corev1.Resource("hostedbridges"), name, errors.New("no such right")))
		}
		return c.bridge(ctx, namespace, name)
	}}
	report, err := r.Run(t.Context(), b)
	if err != nil || report.Count(Skipped) != 1 || report.Count(Restored) != 1 {
		t.Errorf("%+v, error %v", report, err)
	}
}

func TestTheReasonIsTheSameEachTime(t *testing.T) {
	for _, test := range []struct {
		errs   []error
		reason string
	}{
		{[]error{secretstore.ErrUnreadable, secretstore.ErrSaltMissing}, "its salt is gone"},
		{[]error{secretstore.ErrUnreadable, secretstore.ErrSaltInvalid}, "its salt in the cluster is not one"},
		{[]error{secretstore.ErrUnreadable, secretstore.ErrNotOwned}, "belongs to something else"},
	} {
		for range 100 {
			if got := refusedBy(errors.Join(test.errs...)); !strings.Contains(got.Error(), test.reason) {
				t.Fatalf("%v: %v, want %q", test.errs, got, test.reason)
			}
		}
	}
	// Nothing is said of a HostedBridge where something is away.
	for _, err := range []error{nil, errors.Join(secretstore.ErrUnreadable, secretstore.ErrUnavailable)} {
		if got := refusedBy(err); !errors.Is(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}
