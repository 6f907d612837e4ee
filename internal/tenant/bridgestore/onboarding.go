// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridgestore writes the parts of HostedBridges that belong to their users to the API
// server: choices, the subjects that may log in, bridges that a first login creates, and
// connected accounts. It is a shell.
package bridgestore

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	// timeout bounds one act, which is at most three requests to the API server.
	timeout = 10 * time.Second
	// managerPrefix begins the field managers of subjects. Each has one of its
	// own, so that adding one touches no other: 63 bytes with a subject's key,
	// of at most 128.
	managerPrefix = "hosted-bridge-login-"
	// creator is the field manager of objects that a first login creates.
	creator = "hosted-bridge-onboarding"
)

// The reasons why a person is not admitted.
var (
	// ErrNoBridge says that the HostedBridge is deleted or being deleted, or
	// was replaced by another one of the same name.
	ErrNoBridge = errors.New("there is no such HostedBridge")
	// ErrTooMany says that spec.oauth.subjects is full.
	ErrTooMany = errors.New("the HostedBridge has as many subjects as one may have")
	// ErrRemoved says that a login of this subject created a HostedBridge which
	// the subject may not use any more: somebody removed the subject.
	ErrRemoved = errors.New("the HostedBridge that the subject's first login made is not for the subject any more")
	// ErrSubject says that a HostedBridge cannot name the provider's subject or
	// issuer.
	ErrSubject = errors.New("the subject is not 1 to 255 printable characters, or the issuer not a URL of at most 512")
	// ErrOff says that no HostedBridge is created, since no namespace is
	// configured for it.
	ErrOff = errors.New("no namespace is set for the HostedBridges that logins make")
)

// errNone says that the HostedBridge does not exist, or not any more.
var errNone = fmt.Errorf("%w of this subject", ErrNoBridge)

// BridgeRef identifies a HostedBridge. The UID keeps an act from reaching a
// later one of the same name.
type BridgeRef struct {
	types.NamespacedName

	UID types.UID
}

// Onboarding writes subjects into HostedBridges, and makes HostedBridges for
// them.
type Onboarding struct {
	// Client is the cluster's. Its scheme has the API's types.
	Client client.Client
	// Namespace is the namespace of new HostedBridges. If it is empty, Create
	// makes nothing.
	Namespace string
}

// BridgeName returns the name of the HostedBridge that a subject's first login
// creates, which is its user: 80 bits of the subject's key, so that it is the
// same at each login and on each replica, and does not reveal the person.
func BridgeName(key oauth.SubjectKey) v1alpha1.UserID {
	return v1alpha1.UserID("u-" + strings.ToLower(base32.StdEncoding.EncodeToString(key[:10])))
}

// SubjectManager returns the field manager under which the subject is added to a
// HostedBridge.
func SubjectManager(key oauth.SubjectKey) string { return managerPrefix + key.String() }

// Bind adds the subject to those who may use the HostedBridge. A subject that
// it already has is not changed. Its errors are ErrNoBridge, ErrTooMany,
// ErrSubject or the API server's. After an error of the API server the subject
// may have been added; adding it again does no harm.
func (o *Onboarding) Bind(ctx context.Context, of BridgeRef, issuer, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if !isAcceptable(issuer, subject) {
		return ErrSubject
	}
	b := &v1alpha1.HostedBridge{}
	err := o.Client.Get(ctx, of.NamespacedName, b)
	switch {
	case apierrors.IsNotFound(err) || err == nil && (b.UID != of.UID || b.DeletionTimestamp != nil):
		return ErrNoBridge
	case err != nil:
		return fmt.Errorf("get HostedBridge: %w", err)
	case hasSubject(b, issuer, subject):
		return nil
	}
	return o.add(ctx, of, issuer, subject)
}

// add applies the subject under its own manager. It never creates a
// HostedBridge: the object has a UID, which only the API server may set on a
// new object.
func (o *Onboarding) add(ctx context.Context, of BridgeRef, issuer, subject string) error {
	patch := apply.Spec(v1alpha1.HostedBridgeSpec{OAuth: &v1alpha1.OAuthAccess{
		Subjects: []v1alpha1.OAuthSubject{{Issuer: issuer, Subject: subject}},
	}})
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, UID: of.UID}}
	owner := client.FieldOwner(SubjectManager(oauth.KeyOf(issuer, subject)))
	err := o.Client.Patch(ctx, b, patch, owner)
	switch {
	case err == nil:
		return nil
	// For a deleted one the API server reports a conflict, and for another one
	// that its UID cannot change.
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), refusedFor(err, "metadata.uid", field.ErrorTypeInvalid):
		return ErrNoBridge
	case refusedFor(err, "spec.oauth.subjects", field.ErrorTypeTooMany):
		return ErrTooMany
	}
	return fmt.Errorf("apply HostedBridge: %w", err)
}

// Offer returns the user of the HostedBridge that Create would make, or find.
// Its errors are those of Create.
func (o *Onboarding) Offer(ctx context.Context, issuer, subject string) (v1alpha1.UserID, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	user, err := o.nameFor(issuer, subject)
	if err != nil {
		return "", err
	}
	found, err := o.existing(ctx, user, issuer, subject)
	if errors.Is(err, errNone) {
		return user, nil
	}
	return found, err
}

// Made reports whether a HostedBridge is the one that the subject's first login makes.
func (o *Onboarding) Made(of types.NamespacedName, issuer, subject string) bool {
	made := types.NamespacedName{Namespace: o.Namespace, Name: string(BridgeName(oauth.KeyOf(issuer, subject)))}
	return o.Namespace != "" && of == made
}

// nameFor returns the name for the HostedBridge of a subject that may get one.
func (o *Onboarding) nameFor(issuer, subject string) (v1alpha1.UserID, error) {
	switch {
	case o.Namespace == "":
		return "", ErrOff
	case !isAcceptable(issuer, subject):
		return "", ErrSubject
	}
	return BridgeName(oauth.KeyOf(issuer, subject)), nil
}

// Create makes the HostedBridge of the subject's first login and returns its
// user. BridgeProfiles say what the bridge has. It is no error if it already exists and the subject may still use it:
// another replica was faster, or the route is not known yet. Its errors are
// ErrOff, ErrRemoved, ErrNoBridge for one that is being deleted, ErrSubject or
// the API server's.
func (o *Onboarding) Create(ctx context.Context, issuer, subject string) (v1alpha1.UserID, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	user, err := o.nameFor(issuer, subject)
	if err != nil {
		return "", err
	}
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: string(user), Labels: map[string]string{v1alpha1.LabelOnboarded: "true"},
		},
	}
	b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: issuer, Subject: subject}}}
	b.Spec.Groups = []string{v1alpha1.GroupOnboarded}
	err = o.Client.Create(ctx, b, client.FieldOwner(creator))
	switch {
	case err == nil:
		return user, nil
	case apierrors.IsAlreadyExists(err):
		return o.existing(ctx, user, issuer, subject)
	}
	return "", fmt.Errorf("create HostedBridge: %w", err)
}

// existing returns the user of the existing HostedBridge.
func (o *Onboarding) existing(ctx context.Context, user v1alpha1.UserID, issuer, subject string) (v1alpha1.UserID, error) {
	b := &v1alpha1.HostedBridge{}
	err := o.Client.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: string(user)}, b)
	switch {
	case apierrors.IsNotFound(err):
		return "", errNone
	case err != nil:
		return "", fmt.Errorf("get HostedBridge: %w", err)
	case b.DeletionTimestamp != nil:
		return "", ErrNoBridge
	case !hasSubject(b, issuer, subject):
		return "", ErrRemoved
	}
	return b.User(), nil
}

// maxIssuer is the CRD's limit. The installation's configuration was already
// checked for valid issuers.
const maxIssuer = 512

// isAcceptable reports whether a HostedBridge can name the subject. The API
// server would quote a subject that it refuses, and a logged error must not
// reveal who logs in.
func isAcceptable(issuer, subject string) bool {
	return issuer != "" && len(issuer) <= maxIssuer && oauth.ValidSubject(subject)
}

func hasSubject(b *v1alpha1.HostedBridge, issuer, subject string) bool {
	return b.Spec.OAuth != nil && slices.Contains(b.Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: issuer, Subject: subject})
}

// refusedFor reports whether err is about that field. The API server can also
// refuse a HostedBridge because of other content, or because of the
// installation's webhook.
func refusedFor(err error, path string, why field.ErrorType) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return false
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == path && c.Type == metav1.CauseType(why)
	})
}
