// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const issuer = "https://login.example.com"

// clusterFake is an API server that has at most one HostedBridge, and answers writes
// with what is said here.
type clusterFake struct {
	client.Client

	bridge *v1alpha1.HostedBridge
	get    error
	write  error
	writes int
}

func (s *clusterFake) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.get != nil {
		return s.get
	}
	if s.bridge == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "hostedbridges"}, key.Name)
	}
	s.bridge.DeepCopyInto(into.(*v1alpha1.HostedBridge))
	return nil
}

func (s *clusterFake) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	s.writes++
	return s.write
}

func (s *clusterFake) Create(context.Context, client.Object, ...client.CreateOption) error {
	s.writes++
	return s.write
}

// bridgeOf returns a HostedBridge that these people at the issuer may use.
func bridgeOf(people ...string) *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "alice", UID: "1"}}
	for _, name := range people {
		if b.Spec.OAuth == nil {
			b.Spec.OAuth = &v1alpha1.OAuthAccess{}
		}
		b.Spec.OAuth.Subjects = append(b.Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: issuer, Subject: name})
	}
	return b
}

func going(b *v1alpha1.HostedBridge) *v1alpha1.HostedBridge {
	b.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	return b
}

var (
	kind     = schema.GroupKind{Kind: "HostedBridge"}
	resource = schema.GroupResource{Resource: "hostedbridges"}
	errAway  = errors.New("connection reset by peer")
)

func TestWhatBecomesOfABinding(t *testing.T) {
	subjects := field.NewPath("spec", "oauth", "subjects")
	full := apierrors.NewInvalid(kind, "alice", field.ErrorList{field.TooMany(subjects, 33, 32)})
	for name, test := range map[string]struct {
		bridge  *v1alpha1.HostedBridge
		get     error
		write   error
		subject string
		want    error
		writes  int
	}{
		"somebody new":                       {bridge: bridgeOf("bob"), writes: 1},
		"somebody who is there":              {bridge: bridgeOf("bob", "alice")},
		"a bridge that is gone":              {want: ErrNoBridge},
		"a later bridge of the name":         {bridge: &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{UID: "2"}}, want: ErrNoBridge},
		"a bridge that is going":             {bridge: going(bridgeOf("alice")), want: ErrNoBridge},
		"a bridge that goes meanwhile":       {bridge: bridgeOf(), write: apierrors.NewNotFound(resource, "alice"), want: ErrNoBridge, writes: 1},
		"another one that comes meanwhile":   {bridge: bridgeOf(), write: apierrors.NewConflict(resource, "alice", errors.New("uid mismatch")), want: ErrNoBridge, writes: 1},
		"another one that came meanwhile":    {bridge: bridgeOf(), write: apierrors.NewInvalid(kind, "alice", field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "1", "field is immutable")}), want: ErrNoBridge, writes: 1},
		"a bridge that is full":              {bridge: bridgeOf(), write: full, want: ErrTooMany, writes: 1},
		"a bridge with too much else":        {bridge: bridgeOf(), write: apierrors.NewInvalid(kind, "alice", field.ErrorList{field.TooMany(field.NewPath("spec", "servers"), 65, 64)}), want: errAway, writes: 1},
		"a refusal without causes":           {bridge: bridgeOf(), write: &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity}}, want: errAway, writes: 1},
		"no right to it":                     {bridge: bridgeOf(), write: apierrors.NewForbidden(resource, "alice", errors.New("no")), want: errAway, writes: 1},
		"an API server that is away":         {get: errAway, want: errAway},
		"an API server that goes away":       {bridge: bridgeOf(), write: errAway, want: errAway, writes: 1},
		"a subject that no bridge can name":  {bridge: bridgeOf(), subject: "line\nline", want: ErrSubject},
		"a subject of nobody, who is no one": {bridge: bridgeOf(), subject: strings.Repeat("s", 256), want: ErrSubject},
	} {
		t.Run(name, func(t *testing.T) {
			s := &clusterFake{bridge: test.bridge, get: test.get, write: test.write}
			o := &Onboarding{Client: s}
			subject := test.subject
			if subject == "" {
				subject = "alice"
			}
			err := o.Bind(t.Context(), BridgeRef{NamespacedName: types.NamespacedName{Namespace: "team", Name: "alice"}, UID: "1"}, issuer, subject)
			expect(t, err, test.want)
			if s.writes != test.writes {
				t.Errorf("%d writes, want %d", s.writes, test.writes)
			}
		})
	}
}

func TestWhatBecomesOfAFirstLogin(t *testing.T) {
	there := apierrors.NewAlreadyExists(resource, "u-")
	for name, test := range map[string]struct {
		bridge  *v1alpha1.HostedBridge
		get     error
		write   error
		nowhere bool
		issuer  string
		want    error
		user    v1alpha1.UserID
	}{
		"a bridge is made":                        {user: BridgeName(oauth.KeyOf(issuer, "alice"))},
		"it is there already":                     {bridge: bridgeOf("alice"), write: there, user: "alice"},
		"it is there, and for others by now":      {bridge: bridgeOf("alice", "bob"), write: there, user: "alice"},
		"it was taken away from the subject":      {bridge: bridgeOf("bob"), write: there, want: ErrRemoved},
		"it was taken away from everybody":        {bridge: bridgeOf(), write: there, want: ErrRemoved},
		"it is going":                             {bridge: going(bridgeOf("alice")), write: there, want: ErrNoBridge},
		"it went meanwhile":                       {write: there, want: ErrNoBridge},
		"it is there and cannot be read":          {write: there, get: errAway, want: errAway},
		"there is no room":                        {write: apierrors.NewForbidden(resource, "u-", errors.New("exceeded quota")), want: errAway},
		"the API server is away":                  {write: errAway, want: errAway},
		"no namespace is set":                     {nowhere: true, want: ErrOff},
		"an issuer that no bridge can name":       {issuer: "https://" + strings.Repeat("a", 512), want: ErrSubject},
		"an issuer that was forgotten by a coder": {issuer: "-", want: ErrSubject},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Onboarding{Client: &clusterFake{bridge: test.bridge, get: test.get, write: test.write}, Namespace: "newcomers"}
			if test.nowhere {
				o.Namespace = ""
			}
			by := issuer
			if test.issuer != "" {
				by = strings.Trim(test.issuer, "-")
			}
			user, err := o.Create(t.Context(), by, "alice")
			expect(t, err, test.want)
			if user != test.user {
				t.Errorf("user %q, want %q", user, test.user)
			}
		})
	}
}

// expect compares an error with the one of this package that it should be, errAway
// for none of them.
func expect(t *testing.T, err, want error) {
	t.Helper()
	if (err == nil) != (want == nil) {
		t.Fatalf("error %v, want %v", err, want)
	}
	for _, known := range []error{ErrNoBridge, ErrTooMany, ErrRemoved, ErrSubject, ErrOff} {
		if errors.Is(err, known) != errors.Is(want, known) {
			t.Errorf("error %v, want %v", err, want)
		}
	}
}

func TestNamesTellNobodyWhoSomebodyIs(t *testing.T) {
	key := oauth.KeyOf(issuer, "alice@example.com")
	name, manager := BridgeName(key), SubjectManager(key)
	if _, err := v1alpha1.ParseUserID(string(name)); err != nil || len(name) != 18 || !strings.HasPrefix(string(name), "u-") {
		t.Errorf("%q: %v", name, err)
	}
	if name != BridgeName(oauth.KeyOf(issuer, "alice@example.com")) || name == BridgeName(oauth.KeyOf(issuer, "bob@example.com")) {
		t.Error("two logins of one person have two names, or two people one")
	}
	if strings.Contains(string(name)+manager, "alice") || len(manager) > 128 {
		t.Errorf("the manager is %q", manager)
	}
}
