// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// interrupted is a reader of Secrets after whose first answer something else
// happens.
type interrupted struct {
	client.Reader
	then func()
}

func (r *interrupted) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, opts...)
	if then := r.then; then != nil {
		r.then = nil
		then()
	}
	return err
}

// A leader that lost its lease without noticing has read a source, which then
// changes, is sealed by the next leader, and deleted: the only copy of the
// later value is the one that the next leader sealed.
func TestAStateOfASourceThatIsOvertakenIsNotSealed(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "once", map[string]string{"TOKEN": "first"})
	b := f.bridge(t, "alice", deleteSource(v1alpha1.SecretRef{Name: "once"}))
	next := *f.Reconciler
	f.Live = &interrupted{f.Client, func() {
		f.write(t, source, map[string]string{"TOKEN": "second"})
		testenv.ExpectReconciled(t, &next, b)
		f.expect(t, b, "TOKEN=second")
	}}
	f.reconcile(t, b)
	f.expect(t, b, "TOKEN=second")
}

func TestASourceIsNotDeletedForABridgeThatIsNoLongerThere(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "once", map[string]string{"TOKEN": "x"})
	b := f.bridge(t, "alice", deleteSource(v1alpha1.SecretRef{Name: "once"}))
	f.Live = &interrupted{f.Client, func() {
		must.Succeed(t, f.Delete(t.Context(), b.DeepCopy()))
		b.ResourceVersion, b.UID = "", ""
		must.Succeed(t, f.Create(t.Context(), b))
	}}
	_ = f.reconcileError(t, b) // What was sealed is for the one that is gone.
	testenv.ExpectExists(t, f.Client, source)
}

func TestASourceThatAnotherBridgeNamesIsNotDeleted(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "shared", map[string]string{"TOKEN": "x"})
	alice := f.bridge(t, "alice", deleteSource(v1alpha1.SecretRef{Name: "shared"}))
	bob := f.bridge(t, "bob", v1alpha1.SecretRef{Name: "shared"})
	expectFailures(t, f.reconcile(t, alice), "shared: SourceInvalid: not deleted, because HostedBridge bob names it too")
	testenv.ExpectExists(t, f.Client, source)
	expectFailures(t, f.reconcile(t, bob))
	f.expect(t, bob, "TOKEN*=x")

	f.change(t, bob, func(s *v1alpha1.HostedBridgeSpec) { s.SecretRefs = nil })
	expectFailures(t, f.reconcile(t, alice))
	f.expect(t, alice, "TOKEN=x")
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(source), source); !apierrors.IsNotFound(err) {
		t.Errorf("nobody else names it and it is still there: %v", err)
	}
}

func TestWhatDoesNotOpenIsSealedFromASourceThatIsAsItWas(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "github", map[string]string{"TOKEN": "x"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	f.reconcile(t, b)
	f.damage(t, b, "TOKEN")
	expectFailures(t, f.reconcile(t, b))
	f.expect(t, b, "TOKEN*=x")
}

func TestWithoutItsSaltABridgeGetsAllOfItsSourcesAnew(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "github", map[string]string{"TOKEN": "x"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	f.set(t, b, "OWN", "mine")
	f.reconcile(t, b)
	f.loseSalt(t, "alice")
	const lost = ": SecretsUnreadable: does not open"
	expectFailures(t, f.reconcile(t, b), "OWN"+lost, "TOKEN"+lost)
	f.remove(t, b, "OWN")
	expectFailures(t, f.reconcile(t, b))
	f.expect(t, b, "TOKEN*=x")
}

func (f *fixture) loseSalt(t *testing.T, name string) {
	t.Helper()
	salt := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name + "-salt"}}
	must.Succeed(t, f.Delete(t.Context(), salt))
}

// remote is a ring that looks like a transit engine, which is not asked about
// what is known.
type remote struct{ *envelope.Keyring }

func (p remote) KeyID() envelope.KeyID {
	return envelope.KeyID{Algorithm: envelope.AlgorithmTransit, Version: p.Keyring.KeyID().Version}
}

func TestWhatATransitEngineOpenedBeforeIsLookedAtWhenItCanBeLost(t *testing.T) {
	for name, lose := range map[string]func(*fixture, *testing.T){
		"the salt is gone":       func(f *fixture, t *testing.T) { f.loseSalt(t, "alice") },
		"the version is retired": func(f *fixture, t *testing.T) { f.keys.use(t, remote{keyring(t, 2)}) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.keys.use(t, remote{keyring(t, 1)})
			b := f.bridge(t, "alice")
			f.set(t, b, "TOKEN", "mine")
			expectFailures(t, f.reconcile(t, b))
			lose(f, t)
			expectFailures(t, f.reconcile(t, b), "TOKEN: SecretsUnreadable: does not open")
		})
	}
}

// keyring has that version alone.
func keyring(t *testing.T, version uint32) *envelope.Keyring {
	t.Helper()
	return must.Value(envelope.NewKeyring(map[uint32][envelope.KeySize]byte{version: {byte(version), 1}}, version))(t)
}

// forbidding is an API server that lets nobody make a Secret, as one does whose
// quota for the namespace is used up.
type forbidding struct{ client.WithWatch }

func (c forbidding) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if _, secret := o.(*corev1.Secret); secret {
		return apierrors.NewForbidden(corev1.Resource("secrets"), o.GetName(), errors.New("exceeded quota: team"))
	}
	return c.WithWatch.Create(ctx, o, opts...)
}

func TestWhatTheAPIServerRefusesIsSaidAndTriedAgainSlowly(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "github", map[string]string{"TOKEN": "x"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	direct := f.Client
	f.use(t, forbidding{direct.(client.WithWatch)})
	result := testenv.ExpectReconciled(t, f.Reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	expectFailures(t, b.Status.Secrets, "alice-envelopes: ApplyFailed: refuses")
	if result.RequeueAfter <= 0 {
		t.Error("nothing tells when the quota is raised, and it is not tried again")
	}
	f.use(t, direct)
	expectFailures(t, f.reconcile(t, b))
	f.expect(t, b, "TOKEN*=x")
}
