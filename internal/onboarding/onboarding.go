// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package onboarding lets who logged in use a HostedBridge, at the API server:
// one that is there, when an invitation names it, or one that is made of the
// installation's template. It is a shell: who may be let in is decided before.
package onboarding

import (
	"context"
	"encoding/base32"
	"encoding/json"
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
	v1alpha1ac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// timeout bounds one act, which is at most two requests of the API server.
const timeout = 10 * time.Second

const (
	// managerPrefix begins the field managers of subjects. Each has one of its
	// own, so that adding one touches no other: 63 bytes with a subject's key,
	// of at most 128.
	managerPrefix = "hosted-bridge-login-"
	// creator is the field manager of what a first login makes.
	creator = "hosted-bridge-onboarding"
)

// Why somebody cannot be let in.
var (
	// ErrNoBridge says that the HostedBridge is gone or going, or that another
	// one of the same name is in its place.
	ErrNoBridge = errors.New("there is no such HostedBridge")
	// ErrTooMany says that spec.oauth.subjects is full.
	ErrTooMany = errors.New("the HostedBridge has as many subjects as one may have")
	// ErrRemoved says that there is a HostedBridge that a login of this subject
	// made, and that it is not for the subject any more: somebody took it away.
	ErrRemoved = errors.New("the HostedBridge that the subject's first login made is not for the subject any more")
	// ErrSubject says that a provider gave a subject or has an issuer that no
	// HostedBridge can name.
	ErrSubject = errors.New("the subject is not 1 to 255 printable characters, or the issuer not a URL of at most 512")
	// ErrOff says that no HostedBridge is made, as no namespace is for it.
	ErrOff = errors.New("no namespace is set for the HostedBridges that logins make")
)

// errNone is that there is none yet, or none any more.
var errNone = fmt.Errorf("%w of this subject", ErrNoBridge)

// Options say what a first login makes.
type Options struct {
	// Namespace is where. Where it is empty Create makes nothing.
	Namespace string
	// Template is what is made, beside the subject that it is for: tier, and
	// servers by recipe. The rest are the defaults of HostedBridges.
	Template v1alpha1.HostedBridgeSpec
}

// Bridge says which HostedBridge is meant. The UID keeps an act from reaching a
// later one of the same name.
type Bridge struct {
	types.NamespacedName

	UID types.UID
}

// Onboarding writes subjects into HostedBridges, and makes HostedBridges for
// them.
type Onboarding struct {
	client    client.Client
	namespace string
	template  v1alpha1.HostedBridgeSpec
}

// New returns the onboarding of the client's cluster. The client's scheme has the
// API's types. The error is of the options.
func New(c client.Client, o Options) (*Onboarding, error) {
	if err := check(o.Template); err != nil {
		return nil, fmt.Errorf("the template of onboarding: %w", err)
	}
	return &Onboarding{client: c, namespace: o.Namespace, template: o.Template}, nil
}

// Name returns the name of the HostedBridge that a subject's first login makes,
// which is its user: 80 bits of the subject's key, so that it is the same at each
// login and on each replica, and tells nobody who that is.
func Name(key oauth.SubjectKey) v1alpha1.UserID {
	return v1alpha1.UserID("u-" + strings.ToLower(base32.StdEncoding.EncodeToString(key[:10])))
}

// Manager returns the field manager under which the subject is added to a
// HostedBridge.
func Manager(key oauth.SubjectKey) string { return managerPrefix + key.String() }

// Bind adds the subject to those who may use the HostedBridge. One that is there
// already is left as it is. Its errors are ErrNoBridge, ErrTooMany, ErrSubject or
// the API server's. After an error of the API server's it may be done; doing it
// again does no harm.
func (o *Onboarding) Bind(ctx context.Context, of Bridge, issuer, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if !acceptable(issuer, subject) {
		return ErrSubject
	}
	b := &v1alpha1.HostedBridge{}
	err := o.client.Get(ctx, of.NamespacedName, b)
	switch {
	case apierrors.IsNotFound(err) || err == nil && (b.UID != of.UID || b.DeletionTimestamp != nil):
		return ErrNoBridge
	case err != nil:
		return fmt.Errorf("get HostedBridge: %w", err)
	case names(b, issuer, subject):
		return nil
	}
	return o.add(ctx, of, issuer, subject)
}

// add applies the subject under its own manager. It never creates a HostedBridge:
// the UID is one that the API server would have to give itself.
func (o *Onboarding) add(ctx context.Context, of Bridge, issuer, subject string) error {
	patch, err := json.Marshal(v1alpha1ac.HostedBridge(of.Name, of.Namespace).WithUID(of.UID).
		WithSpec(v1alpha1ac.HostedBridgeSpec().WithOAuth(v1alpha1ac.OAuthAccess().
			WithSubjects(v1alpha1ac.OAuthSubject().WithIssuer(issuer).WithSubject(subject)))))
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	owner := client.FieldOwner(Manager(oauth.KeyOf(issuer, subject)))
	err = o.client.Patch(ctx, b, client.RawPatch(types.ApplyPatchType, patch), owner)
	switch {
	case err == nil:
		return nil
	// Of one that is gone the API server says that it conflicts, and of another
	// one that its UID does not change.
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), refusedFor(err, "metadata.uid", field.ErrorTypeInvalid):
		return ErrNoBridge
	case refusedFor(err, "spec.oauth.subjects", field.ErrorTypeTooMany):
		return ErrTooMany
	}
	return fmt.Errorf("apply HostedBridge: %w", err)
}

// Offer returns the user of the HostedBridge that Create would make, or that it
// would find there. Its errors are those of Create.
func (o *Onboarding) Offer(ctx context.Context, issuer, subject string) (v1alpha1.UserID, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	user, err := o.named(issuer, subject)
	if err != nil {
		return "", err
	}
	found, err := o.existing(ctx, user, issuer, subject)
	if errors.Is(err, errNone) {
		return user, nil
	}
	return found, err
}

// named returns the name of the HostedBridge of a subject for whom one may be made.
func (o *Onboarding) named(issuer, subject string) (v1alpha1.UserID, error) {
	switch {
	case o.namespace == "":
		return "", ErrOff
	case !acceptable(issuer, subject):
		return "", ErrSubject
	}
	return Name(oauth.KeyOf(issuer, subject)), nil
}

// Create makes the HostedBridge of the subject's first login and returns its
// user. Where it is there already, and still is for the subject, that is no
// error: another replica was faster, or the route is not known yet. Its errors
// are ErrOff, ErrRemoved, ErrNoBridge for one that is being deleted, ErrSubject or
// the API server's.
func (o *Onboarding) Create(ctx context.Context, issuer, subject string) (v1alpha1.UserID, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	user, err := o.named(issuer, subject)
	if err != nil {
		return "", err
	}
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.namespace, Name: string(user), Labels: map[string]string{v1alpha1.LabelOnboarded: "true"},
		},
	}
	o.template.DeepCopyInto(&b.Spec)
	b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: issuer, Subject: subject}}}
	err = o.client.Create(ctx, b, client.FieldOwner(creator))
	switch {
	case err == nil:
		return user, nil
	case apierrors.IsAlreadyExists(err):
		return o.existing(ctx, user, issuer, subject)
	}
	return "", fmt.Errorf("create HostedBridge: %w", err)
}

// existing returns the user of the HostedBridge that was there before.
func (o *Onboarding) existing(ctx context.Context, user v1alpha1.UserID, issuer, subject string) (v1alpha1.UserID, error) {
	b := &v1alpha1.HostedBridge{}
	err := o.client.Get(ctx, types.NamespacedName{Namespace: o.namespace, Name: string(user)}, b)
	switch {
	case apierrors.IsNotFound(err):
		return "", errNone
	case err != nil:
		return "", fmt.Errorf("get HostedBridge: %w", err)
	case b.DeletionTimestamp != nil:
		return "", ErrNoBridge
	case !names(b, issuer, subject):
		return "", ErrRemoved
	}
	return b.User(), nil
}

func names(b *v1alpha1.HostedBridge, issuer, subject string) bool {
	return b.Spec.OAuth != nil && slices.Contains(b.Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: issuer, Subject: subject})
}

// refusedFor reports whether err says that of a field. A HostedBridge can also
// be refused for what else is in it, or by a webhook of the installation.
func refusedFor(err error, path string, why field.ErrorType) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return false
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == path && c.Type == metav1.CauseType(why)
	})
}
