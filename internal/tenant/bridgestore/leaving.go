// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

const (
	// leavingManager is the field manager of what the ingress writes of people who leave. The
	// groups of a login have another one: each apply removes what its manager leaves out.
	leavingManager = "hosted-bridge-ingress-leaving"
	// spread is within which time the replicas begin with a person. The first one does the
	// work, and the others find it done.
	spread = 500 * time.Millisecond
	// firstLeaveRetry and lastLeaveRetry bound the pause after a failure.
	firstLeaveRetry = time.Second
	lastLeaveRetry  = time.Minute
)

// stepLoginsEnded is the step that ends keys and logins.
const stepLoginsEnded = "LoginsEnded"

// Records are all BridgePersons and HostedBridges.
type Records interface {
	Persons(ctx context.Context) ([]v1alpha1.BridgePerson, error)
	Bridges(ctx context.Context) ([]*effective.Bridge, error)
}

// People are the Records as they change: watch.Watcher.
type People interface {
	Records

	FollowPersons(ctx context.Context, told func(*v1alpha1.BridgePerson)) error
}

// Requests are what users have asked for.
type Requests interface {
	// DeleteOf removes those of a user.
	DeleteOf(ctx context.Context, user v1alpha1.UserID) error
}

// Leaving ends the keys and logins of people who are offboarded, and notes each step of
// people who lose their access in the audit trail. An administrator who takes the access away writes
// only spec.access of a BridgePerson: the routes refuse the person from then on, and
// Leaving does the rest, also after it was interrupted.
type Leaving struct {
	Client    client.Client
	Namespace string
	Known     People
	Keys      *keys.Cluster
	Requests  Requests
	// Note writes an entry of the audit trail.
	Note func(audit.Entry) error
	Now  func() time.Time
	Log  *slog.Logger
}

// Run follows the BridgePersons until ctx ends.
func (l *Leaving) Run(ctx context.Context) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstLeaveRetry, lastLeaveRetry))
	err := l.Known.FollowPersons(ctx, func(p *v1alpha1.BridgePerson) {
		if !isDone(p) {
			queue.AddAfter(p.Name, rand.N(spread)) //nolint:gosec // A pause is no secret.
		}
	})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	for {
		name, ended := queue.Get()
		if ended {
			return nil
		}
		if err := l.advance(ctx, name); err != nil && ctx.Err() == nil {
			l.Log.WarnContext(ctx, "a person who leaves has not left yet", slog.String("person", name), slog.Any("error", err))
			queue.AddRateLimited(name)
		} else {
			queue.Forget(name)
		}
		queue.Done(name)
	}
}

// isDone reports whether there is nothing to do about a person now.
func isDone(p *v1alpha1.BridgePerson) bool {
	step, _ := nextStep(p)
	return step == ""
}

// nextStep returns the next step of a person, and when it was done, zero for one that is to
// be done now. The step is empty if nothing can be done now.
func nextStep(p *v1alpha1.BridgePerson) (step string, done time.Time) {
	noted := func(step string) bool {
		return slices.ContainsFunc(p.Status.Audited, func(a v1alpha1.AuditedStep) bool { return a.Step == step })
	}
	switch p.Spec.Access {
	case v1alpha1.AccessAllowed, "":
		if len(p.Status.Audited) > 0 && !noted(string(v1alpha1.AccessAllowed)) {
			return string(v1alpha1.AccessAllowed), time.Time{}
		}
		return "", time.Time{}
	default:
		if !noted(string(p.Spec.Access)) {
			return string(p.Spec.Access), time.Time{}
		}
	}
	if p.Spec.Access == v1alpha1.AccessOffboarded && !noted(stepLoginsEnded) {
		return stepLoginsEnded, time.Time{}
	}
	for _, c := range p.Status.Conditions {
		if c.Type != v1alpha1.ConditionReconciling && c.Status == metav1.ConditionTrue && !noted(c.Type) {
			return c.Type, c.LastTransitionTime.Time
		}
	}
	return "", time.Time{}
}

// advance does and notes all steps of a person that can be done now.
func (l *Leaving) advance(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for noted := ""; ; {
		p := &v1alpha1.BridgePerson{}
		if err := l.Client.Get(ctx, types.NamespacedName{Namespace: l.Namespace, Name: name}, p); err != nil {
			return client.IgnoreNotFound(err)
		}
		step, done := nextStep(p)
		if step == "" {
			return nil
		}
		if done.IsZero() {
			done = l.Now().Truncate(time.Second)
		}
		status, err := l.do(ctx, p, step, done)
		if err != nil {
			return err
		}
		if id := entryID(p, step); id != noted {
			if err := l.note(ctx, p, step, done); err != nil {
				return err
			}
			noted = id
		}
		// The operator or another replica may have written meanwhile.
		if err := l.write(ctx, p, status); err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
}

// do does a step that is not the operator's, and returns the status of a person for whom it
// is done.
func (l *Leaving) do(ctx context.Context, p *v1alpha1.BridgePerson, step string, done time.Time) (*v1alpha1.BridgePersonStatus, error) {
	status := p.Status.DeepCopy()
	switch step {
	case string(v1alpha1.AccessAllowed), string(v1alpha1.AccessSuspended), string(v1alpha1.AccessOffboarded):
		status.Audited = nil // What follows is about this access.
	case stepLoginsEnded:
		if err := l.endKeys(ctx, p); err != nil {
			return nil, err
		}
		status.LoginsEndedTime = new(metav1.NewTime(done))
	}
	status.Audited = append(status.Audited, v1alpha1.AuditedStep{Step: step, Time: metav1.NewTime(done)})
	return status, nil
}

// entryID returns the id of the entry of a step. Two processes that do the same step at
// once, or one that ends before it has written the status, give the same id.
func entryID(p *v1alpha1.BridgePerson, step string) string {
	if c := meta.FindStatusCondition(p.Status.Conditions, step); c != nil {
		return audit.StepID(string(p.UID), step, c.LastTransitionTime.UTC().Format(time.RFC3339))
	}
	return audit.StepID(string(p.UID), step, strconv.FormatInt(p.Generation, 10))
}

// note writes the entry of a step.
func (l *Leaving) note(ctx context.Context, p *v1alpha1.BridgePerson, step string, done time.Time) error {
	user, bridge := string(p.Spec.User), ""
	if own, err := l.own(ctx, p); err == nil && len(own) > 0 {
		user, bridge = string(own[0].User()), string(own[0].UID)
	}
	return l.Note(audit.Entry{
		ID: entryID(p, step), Time: done, UserID: user, BridgeUID: bridge,
		Principal: audit.Principal{Kind: audit.KindInstallation}, ReportedBy: audit.Ingress,
		Call: audit.Call{Method: audit.AccessPrefix + strings.ToLower(step[:1]) + step[1:], Action: p.Name, Status: audit.Success},
	})
}

// own returns the bridges that nobody but the person may use.
func (l *Leaving) own(ctx context.Context, p *v1alpha1.BridgePerson) ([]*v1alpha1.HostedBridge, error) {
	persons, err := l.Known.Persons(ctx)
	if err != nil {
		return nil, err
	}
	bridges, err := l.Known.Bridges(ctx)
	if err != nil {
		return nil, err
	}
	// The person as read from the API server may be newer than what is known.
	persons = append(slices.DeleteFunc(slices.Clone(persons), func(o v1alpha1.BridgePerson) bool { return o.Name == p.Name }), *p)
	people := access.NewPeople(persons)
	var own []*v1alpha1.HostedBridge
	for _, b := range bridges {
		if people.Owns(p, b.HostedBridge) && people.Bridge(b.HostedBridge) != v1alpha1.AccessAllowed {
			own = append(own, b.HostedBridge)
		}
	}
	return own, nil
}

// endKeys removes the keys of the person's own bridges that were added as ones of their own,
// and what the person has asked for. A key in a manifest stays there: it is refused while the person has no access.
func (l *Leaving) endKeys(ctx context.Context, p *v1alpha1.BridgePerson) error {
	own, err := l.own(ctx, p)
	if err != nil {
		return err
	}
	for _, b := range own {
		if err := l.Requests.DeleteOf(ctx, b.User()); err != nil {
			return err
		}
		if err := l.Keys.RevokeAll(ctx, route.Backend{User: b.User(), Namespace: b.Namespace, Name: b.Name, BridgeUID: b.UID}); err != nil {
			return err
		}
	}
	return nil
}

// write writes the ingress's part of the status, unless the person has changed since.
func (l *Leaving) write(ctx context.Context, p *v1alpha1.BridgePerson, s *v1alpha1.BridgePersonStatus) error {
	own := v1alpha1.BridgePersonStatus{LoginsEndedTime: s.LoginsEndedTime, Audited: s.Audited}
	object := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, ResourceVersion: p.ResourceVersion}}
	if err := l.Client.Status().Patch(ctx, object, apply.Status(own), client.FieldOwner(leavingManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("write the status of a BridgePerson: %w", err)
	}
	return nil
}
