// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestASecretOfTheSpecIsSealedAndFollowsItsSource(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "github", map[string]string{"token": "first", "other": "x"})
	b := f.bridge(t, "alice", key("github", "token", "TOKEN"))

	s := f.reconcile(t, b)
	f.expect(t, b, "TOKEN*=first")
	first := s.Revision
	if s.Count != 1 || first == "" || len(s.Missing) > 0 || b.Status.KeyVersion == nil || *b.Status.KeyVersion != 1 {
		t.Errorf("report %+v, key version %v", s, b.Status.KeyVersion)
	}
	expectFailures(t, s)
	f.expectEvents(t, "Normal SecretsSealed")

	f.write(t, source, map[string]string{"token": "second"})
	s = f.reconcile(t, b)
	f.expect(t, b, "TOKEN*=second")
	if s.Revision == first {
		t.Error("the revision is the same though the value is not")
	}
	f.expectEvents(t, "Normal SecretsSealed")

	second := s.Revision
	f.write(t, source, map[string]string{"token": "second", "other": "y"})
	if s = f.reconcile(t, b); s.Revision != second {
		t.Error("a value that did not change was sealed again")
	}
	f.expectEvents(t)

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.SecretRefs = nil })
	s = f.reconcile(t, b)
	f.expect(t, b)
	if s.Count != 0 || s.Revision != "" || b.Status.KeyVersion != nil || len(s.Missing) != 1 || s.Missing[0] != "TOKEN" {
		t.Errorf("report %+v, key version %v", s, b.Status.KeyVersion)
	}
	if n := f.metric(t, "sealed", ""); n != 2 {
		t.Errorf("%v values were counted as sealed, want 2", n)
	}
	if strings.Contains(f.log.String(), "second") {
		t.Error("the log has a value")
	}
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "github", map[string]string{"TOKEN": "x", "lower": "y"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"}, key("absent", "A", ""))
	f.reconcile(t, b)
	f.set(t, b, "OWN", "mine")
	f.reconcile(t, b)

	c := &testenv.Crash{Limit: 1000}
	f.use(t, c.Client(f.Client.(client.WithWatch)))
	for range 3 {
		f.reconcile(t, b)
	}
	if c.Writes != 0 {
		t.Errorf("%d writes", c.Writes)
	}
}

func TestASourceIsDeletedOnceItIsSealed(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "github", map[string]string{"TOKEN": "first"})
	b := f.bridge(t, "alice", deleteSource(v1alpha1.SecretRef{Name: "github"}))
	f.reconcile(t, b)
	testenv.ExpectMissing(t, f.Client, source)
	expectFailures(t, f.reconcile(t, b))
	f.expect(t, b, "TOKEN=first")

	again := f.secret(t, "github", map[string]string{"TOKEN": "second"})
	f.reconcile(t, b)
	testenv.ExpectMissing(t, f.Client, again)
	f.expect(t, b, "TOKEN=second")

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.SecretRefs = nil })
	expectFailures(t, f.reconcile(t, b))
	f.expect(t, b, "TOKEN=second")
}

func TestASourceThatChangedWhileItWasSealedIsNotDeleted(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "github", map[string]string{"TOKEN": "first"})
	b := f.bridge(t, "alice", deleteSource(v1alpha1.SecretRef{Name: "github"}))
	sound := f.Client
	f.use(t, interceptor.NewClient(sound.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, inner client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			f.write(t, source, map[string]string{"TOKEN": "second"})
			return inner.Delete(ctx, o, opts...)
		},
	}))
	f.reconcile(t, b)
	testenv.ExpectExists(t, sound, source)

	f.use(t, sound)
	f.reconcile(t, b)
	testenv.ExpectMissing(t, f.Client, source)
	f.expect(t, b, "TOKEN=second")
}

func TestASourceThatMayNotBeDeletedIsSaid(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "github", map[string]string{"TOKEN": "x"})
	b := f.bridge(t, "alice", deleteSource(v1alpha1.SecretRef{Name: "github"}))
	f.use(t, interceptor.NewClient(f.Client.(client.WithWatch), interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return apierrors.NewForbidden(corev1.Resource("secrets"), "github", errors.New("no such right"))
		},
	}))
	expectFailures(t, f.reconcile(t, b), "github: SourceInvalid: delete it yourself")
	if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
		t.Error(err)
	}
	f.expect(t, b, "TOKEN=x")
}

func TestASourceThatIsNotSealedAsAWholeIsNotDeleted(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "github", map[string]string{"TOKEN": "x", "lower": "y"})
	b := f.bridge(t, "alice", deleteSource(v1alpha1.SecretRef{Name: "github"}))
	expectFailures(t, f.reconcile(t, b), `github: SourceInvalid: key "lower"`)
	testenv.ExpectExists(t, f.Client, source)
	f.expect(t, b, "TOKEN*=x")
	f.expectEvents(t, "Normal SecretsSealed", "Warning SealFailed")
}

func TestASourceThatVanishesLeavesWhatWasSealed(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "github", map[string]string{"TOKEN": "x"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	f.reconcile(t, b)
	must.Succeed(t, f.Delete(t.Context(), source))
	expectFailures(t, f.reconcile(t, b), "github: SourceMissing: does not exist")
	f.expect(t, b, "TOKEN*=x")
}

func TestSecretsThatNoBridgeMayBeGivenAreRefused(t *testing.T) {
	f := newFixture(t)
	other := f.bridge(t, "bob")
	f.set(t, other, "BOBS", "bob's")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "robot"}}
	testenv.ExpectApplied(t, f.Client, account)
	yes := true
	testenv.ExpectApplied(t, f.Client,
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "labelled", Labels: map[string]string{v1alpha1.LabelName: v1alpha1.NameValue}},
			StringData: map[string]string{"TOKEN": "x"},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "owned", OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "hostedbridge.dev/v1", Kind: "HostedBridge", Name: "bob", UID: other.UID, Controller: &yes,
			}}},
			StringData: map[string]string{"TOKEN": "x"},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "robot-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}},
			Type:       corev1.SecretTypeServiceAccountToken, StringData: map[string]string{"TOKEN": "x"},
		})
	b := f.bridge(t, "alice",
		key(v1alpha1.EnvelopesSecretName("bob"), "BOBS", ""), key(v1alpha1.SaltSecretName("bob"), "salt", "SALT"),
		key("labelled", "TOKEN", "A"), key("owned", "TOKEN", "B"), key("robot-token", "TOKEN", "C"))
	s := f.reconcile(t, b)
	const installation = ": SourceInvalid: it belongs to the installation"
	expectFailures(t, s, "bob-envelopes"+installation, "bob-salt"+installation, "labelled"+installation, "owned"+installation,
		"robot-token: SourceInvalid: it is the token of a ServiceAccount")
	f.expect(t, b)
}

func TestNothingOfTheInstallationsNamespaceIsSealed(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "hosted-bridge-master-key", map[string]string{"1": "x"})
	f.Settings.Namespace = f.namespace
	b := f.bridge(t, "alice", key("hosted-bridge-master-key", "1", "KEY"))
	f.use(t, interceptor.NewClient(f.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if key.Name == "hosted-bridge-master-key" {
				t.Error("the master key's Secret was read")
			}
			return inner.Get(ctx, key, o, opts...)
		},
	}))
	expectFailures(t, f.reconcile(t, b), "hosted-bridge-master-key: SourceInvalid: the installation's own namespace")
	f.expect(t, b)
}

func TestWhatTheUserSetIsNotReplaced(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "github", map[string]string{"TOKEN": "theirs", "B": "y"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	f.set(t, b, "TOKEN", "mine")
	expectFailures(t, f.reconcile(t, b), "github: SourceInvalid: TOKEN was set by the user and is not replaced")
	f.expect(t, b, "B*=y", "TOKEN=mine")
}

func TestATiersLimitIsFilledAndTheRestIsSaid(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "many", map[string]string{"A": "1", "B": "2", "C": "3", "D": "4", "E": "5", "F": "6"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "many"})
	s := f.reconcile(t, b)
	expectFailures(t, s, `many: TierLimitExceeded: F is not sealed: the tier "free" allows 5 secrets`)
	if s.Count != 5 {
		t.Errorf("%d secrets are sealed, want 5", s.Count)
	}
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Tier = "pro" })
	expectFailures(t, f.reconcile(t, b))
}

func TestMoreThanCanBeStoredIsSaidAndWhatIsStoredStays(t *testing.T) {
	f := newFixture(t)
	large := map[string]string{}
	for _, name := range "ABCDEFGHIJKLMNO" {
		large[string(name)] = strings.Repeat("x", envelope.MaxPlaintext)
	}
	f.secret(t, "first", large)
	f.secret(t, "second", map[string]string{"Y": large["A"], "Z": large["A"]})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "first"})
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Tier = "business" })
	expectFailures(t, f.reconcile(t, b))

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) {
		s.SecretRefs = append(s.SecretRefs, deleteSource(v1alpha1.SecretRef{Name: "second"}))
	})
	s := f.reconcile(t, b)
	expectFailures(t, s, "second: SourceInvalid: more than the 1048576 bytes")
	if s.Count != 15 {
		t.Errorf("%d secrets are sealed, want 15", s.Count)
	}
	testenv.ExpectExists(t, f.Client, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "second"}})
}

func TestASecretInTheWayOfTheEnvelopesIsSaidAndLeftAlone(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "github", map[string]string{"TOKEN": "x"})
	foreign := f.secret(t, "alice-envelopes", map[string]string{"somebodys": "own"})
	version := foreign.ResourceVersion
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	expectFailures(t, f.reconcile(t, b), "alice-envelopes: NotOwned: belongs to something else")
	testenv.ExpectExists(t, f.Client, foreign)
	if foreign.ResourceVersion != version {
		t.Error("it was written")
	}
	must.Succeed(t, f.Delete(t.Context(), foreign))
	expectFailures(t, f.reconcile(t, b))
	f.expect(t, b, "TOKEN*=x")
}

func TestASaltThatIsGoneIsSaidAndReplacedWithAllThatWasSealed(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "github", map[string]string{"TOKEN": "x", "B": "y"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	f.set(t, b, "OWN", "mine")
	f.reconcile(t, b)
	salt := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "alice-salt"}}
	must.Succeed(t, f.Delete(t.Context(), salt))
	const lost = ": SecretsUnreadable: does not open"
	expectFailures(t, f.reconcile(t, b), "B"+lost, "OWN"+lost, "TOKEN"+lost)
	f.keys.set(t, 1, 2)
	expectFailures(t, f.reconcile(t, b), "B"+lost, "OWN"+lost, "TOKEN"+lost)

	f.write(t, source, map[string]string{"TOKEN": "x", "B": "z"})
	expectFailures(t, f.reconcile(t, b), "B"+lost, "OWN"+lost, "TOKEN"+lost)
	f.remove(t, b, "OWN")
	expectFailures(t, f.reconcile(t, b))
	f.expect(t, b, "B*=z", "TOKEN*=x")
}

// remove does what a user's DELETE does.
func (f *fixture) remove(t *testing.T, b *v1alpha1.HostedBridge, name string) {
	t.Helper()
	_, err := f.store.Update(t.Context(), ref(b), func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		return []secretstore.Change{{Name: name, Delete: true}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnotherKeyVersionIsTakenUp(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "github", map[string]string{"TOKEN": "x"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	f.set(t, b, "OWN", "mine")
	before := f.reconcile(t, b).Revision
	f.expectEvents(t, "Normal SecretsSealed")
	if n := f.metric(t, "hostedbridge_envelopes", "local:1"); n != 2 {
		t.Errorf("%v envelopes under local:1, want 2", n)
	}

	f.keys.set(t, 1, 2)
	s := f.reconcile(t, b)
	if *b.Status.KeyVersion != 2 || s.Revision != before {
		t.Errorf("key version %d, revision %s and before %s", *b.Status.KeyVersion, s.Revision, before)
	}
	f.expectEvents(t, "Normal KeyRotated")
	old, now, written := f.metric(t, "hostedbridge_envelopes", "local:1"), f.metric(t, "hostedbridge_envelopes", "local:2"), f.metric(t, "hostedbridge_keybroker_rewrapped_total", "")
	if old != 0 || now != 2 || written != 2 {
		t.Errorf("%v envelopes under local:1, %v under local:2, %v rewrapped; want 0, 2, 2", old, now, written)
	}
	f.keys.set(t, 2, 2)
	f.expect(t, b, "OWN=mine", "TOKEN*=x")
}

func TestASecretThatDoesNotOpenIsNamedAndHoldsUpNoOther(t *testing.T) {
	f := newFixture(t)
	source := f.secret(t, "github", map[string]string{"TOKEN": "x"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	f.set(t, b, "OWN", "mine")
	f.set(t, b, "OTHER", "too")
	f.reconcile(t, b)
	must.Succeed(t, f.Delete(t.Context(), source))
	f.damage(t, b, "TOKEN", "OTHER")
	const (
		unreadable = ": SecretsUnreadable: does not open"
		gone       = "github: SourceMissing: does not exist"
	)
	expectFailures(t, f.reconcile(t, b), "OTHER"+unreadable, "TOKEN"+unreadable, gone)
	f.keys.set(t, 1, 2)
	expectFailures(t, f.reconcile(t, b), "OTHER"+unreadable, "TOKEN"+unreadable, gone)
	f.expect(t, b, "OWN=mine", "OTHER?", "TOKEN?")
	if *b.Status.KeyVersion != 1 {
		t.Errorf("key version %d, want that of the one that does not open", *b.Status.KeyVersion)
	}

	f.secret(t, "github", map[string]string{"TOKEN": "y"})
	f.set(t, b, "OTHER", "again")
	expectFailures(t, f.reconcile(t, b))
	f.expect(t, b, "OTHER=again", "OWN=mine", "TOKEN*=y")
}

// damage flips a bit of the wrapped keys.
func (f *fixture) damage(t *testing.T, b *v1alpha1.HostedBridge, names ...string) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: v1alpha1.EnvelopesSecretName(b.Name)}}
	testenv.ExpectChanged(t, f.Client, s, func() {
		for _, name := range names {
			s.Data[name][40] ^= 1
		}
	})
}

// away is a provider that cannot be asked.
type away struct{ envelope.KeyID }

func (p away) Minimum() uint32 { return 1 }

func (p away) Wrap(context.Context, io.Reader, envelope.Wrapping, []byte) (envelope.Wrapped, error) {
	return envelope.Wrapped{}, errors.New("sealed")
}

func (p away) Unwrap(context.Context, envelope.Wrapping, envelope.Wrapped) ([]byte, error) {
	return nil, errors.New("sealed")
}

// awayKey keeps the method and the field of the same name apart.
type awayKey struct{ away }

func (p awayKey) KeyID() envelope.KeyID { return p.away.KeyID }

func TestAProviderThatIsAwayIsTriedAgainAndAccusesNoSecret(t *testing.T) {
	f := newFixture(t)
	b := f.bridge(t, "alice")
	f.set(t, b, "TOKEN", "mine")
	f.reconcile(t, b)
	f.keys.use(t, awayKey{away{envelope.KeyID{Algorithm: envelope.AlgorithmLocal, Version: 2}}})
	if err := f.reconcileError(t, b); !errors.Is(err, secretstore.ErrUnavailable) {
		t.Errorf("error %v, so that it is not tried again", err)
	}
	testenv.ExpectExists(t, f.Client, b)
	expectFailures(t, b.Status.Secrets)
	f.keys.set(t, 1, 2)
	f.reconcile(t, b)
	if *b.Status.KeyVersion != 2 {
		t.Errorf("key version %d, want 2", *b.Status.KeyVersion)
	}
}

func TestABridgeThatGoesIsNotCountedAndNotWritten(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "github", map[string]string{"TOKEN": "x"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	f.reconcile(t, b)
	must.Succeed(t, f.Delete(t.Context(), b))
	must.Succeed(t, f.reconcileError(t, b))
	if n := f.metric(t, "hostedbridge_envelopes", "local:1"); n != 0 {
		t.Errorf("%v envelopes are counted, want none", n)
	}
}

func TestTheReportLeavesOthersPartsOfTheStatusAlone(t *testing.T) {
	f := newFixture(t)
	b := f.bridge(t, "alice")
	b.Status.Phase, b.Status.Servers = v1alpha1.PhaseRunning, "1/1"
	must.Succeed(t, f.Status().Update(t.Context(), b))
	f.set(t, b, "TOKEN", "x")
	f.reconcile(t, b)
	f.remove(t, b, "TOKEN")
	f.reconcile(t, b)
	if b.Status.Phase != v1alpha1.PhaseRunning || b.Status.Servers != "1/1" || b.Status.KeyVersion != nil {
		t.Errorf("status %+v", b.Status)
	}
	if bytes.Contains([]byte(b.Status.Secrets.Revision), []byte("x")) {
		t.Error("unexpected revision")
	}
}
