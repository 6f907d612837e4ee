// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// call is a request of alice, or of an administrator, as the ingress hands it on.
type call struct {
	httpapi.Call // Nothing else is called.

	ctx      context.Context
	body     []byte
	bodyErr  error
	ends     time.Time
	acts     []httpapi.Act
	auditErr error
	answer   *httptest.ResponseRecorder
}

func newCall(t *testing.T) *call { return &call{ctx: t.Context(), answer: httptest.NewRecorder()} }

func (c *call) Request() *http.Request {
	return httptest.NewRequestWithContext(c.ctx, http.MethodPost, "/", nil)
}
func (c *call) Writer() http.ResponseWriter { return c.answer }
func (c *call) Body() ([]byte, error)       { return c.body, c.bodyErr }
func (c *call) KeyEnds() time.Time          { return c.ends }
func (c *call) Param(name string) string {
	return map[string]string{"userId": "alice", "keyId": "k1"}[name]
}
func (c *call) Bridge() (route.Backend, error) {
	b, _ := table().Current().Lookup("alice")
	return b, nil
}
func (c *call) Audit(a httpapi.Act) error {
	c.acts = append(c.acts, a)
	return c.auditErr
}

// fixed is a snapshot of routes, or nil.
type fixed struct{ *route.Table }

func (f fixed) Current() *route.Table { return f.Table }

// aliceBridge is the bridge of alice.
func aliceBridge() *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "alice", UID: "1"}}
	b.Spec.APIKeys = []v1alpha1.APIKey{{ID: "k1", Name: "laptop"}}
	return b
}

// table has alice's bridge.
func table() fixed { return fixed{route.Build([]*v1alpha1.HostedBridge{aliceBridge()}, nil)} }

// failing is a store whose every act ends with err, after during if that is not nil.
type failing struct {
	Store // Nothing else is called.

	err    error
	during func(context.Context) error
}

func (f failing) end(ctx context.Context) error {
	if f.during != nil {
		return f.during(ctx)
	}
	return f.err
}

func (f failing) Create(ctx context.Context, _ route.Backend, _ string, expiresAt time.Time) (*Minted, error) {
	return &Minted{Key: "hb_k1_secret", ID: "k1", ExpiresAt: expiresAt}, f.end(ctx)
}
func (f failing) List(ctx context.Context, _ route.Backend) ([]Info, error) {
	return []Info{{ID: "k1"}}, f.end(ctx)
}
func (f failing) Revoke(ctx context.Context, _ route.Backend, _ string) error { return f.end(ctx) }

// actors are a user and an administrator, as the actors on alice's keys.
var actors = map[string]func(*Keys, httpapi.Call) Actor{
	"a user":           (*Keys).Own,
	"an administrator": func(k *Keys, c httpapi.Call) Actor { return k.Of(c, "alice") },
}

// changes are what an actor does to a key, by the name in the audit trail.
var changes = map[string]func(Actor) error{
	"keys.create": func(a Actor) error {
		_, err := a.Create("laptop", time.Hour)
		return err
	},
	"keys.revoke": func(a Actor) error { return a.Revoke("k1") },
}

// expectProblem checks what the caller of an act may know.
func expectProblem(t *testing.T, what string, err error, status int, says string) {
	t.Helper()
	p, ok := errors.AsType[*httpapi.Problem](err)
	if !ok || p.Status != status || !strings.Contains(p.Code+" "+p.Detail, says) || strings.Contains(p.Detail, "10.0.0.1") {
		t.Errorf("%s: %v", what, err)
	}
}

func TestEachChangeIsInTheAuditTrailAndEachLookOfAnAdministrator(t *testing.T) {
	for name, actor := range actors {
		k, c := &Keys{Store: failing{}, Routes: table()}, newCall(t)
		a := actor(k, c)
		made, err := a.Create("laptop", time.Hour)
		listed, listErr := a.List()
		if err := errors.Join(err, listErr, a.Revoke("k1")); err != nil || made.Key != "hb_k1_secret" || made.Name != "laptop" || len(listed.Keys) != 1 || listed.Limit != Max {
			t.Errorf("%s: %+v, %+v: %v", name, made, listed, err)
		}
		own := name == "a user"
		want := []httpapi.Act{{Self: own, Name: "keys.create", User: "alice", Target: "k1"}, {Name: "keys.list", User: "alice"}, {Self: own, Name: "keys.revoke", User: "alice", Target: "k1"}}
		if own {
			want = append(want[:1:1], want[2])
		}
		if diff := cmp.Diff(want, c.acts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatKeepsAnActFromBeingDone(t *testing.T) {
	c := newCall(t)
	_, err := (&Keys{Store: failing{}, Routes: table()}).Of(c, "nobody").Create("", 0)
	expectProblem(t, "a key for nobody", err, http.StatusNotFound, "not_found")
	_, err = (&Keys{Store: failing{}, Routes: fixed{}}).Of(c, "alice").Create("", 0)
	expectProblem(t, "a key before the routes are known", err, http.StatusServiceUnavailable, "not_ready")
	known := func(context.Context, route.Backend) (*effective.Bridge, error) {
		return nil, errors.New("not known")
	}
	for _, test := range []struct {
		err    error
		status int
		says   string
	}{
		{ErrNoBridge, http.StatusNotFound, "not_found"},
		{ErrNoKey, http.StatusNotFound, "key_not_found"},
		{ErrTooMany, http.StatusConflict, "key_limit_reached"},
		{&ManagedError{By: []string{"argocd", "kubectl"}}, http.StatusConflict, "argocd, kubectl"},
		{errors.New("dial tcp 10.0.0.1: refused"), http.StatusServiceUnavailable, "cluster_unavailable"},
	} {
		for name, actor := range actors {
			a := actor(&Keys{Store: failing{err: test.err}, Routes: table(), Known: known}, c)
			for act, change := range changes {
				expectProblem(t, act+" of "+name, change(a), test.status, test.says)
			}
			_, err := a.List()
			expectProblem(t, "a look of "+name, err, test.status, test.says)
		}
	}
	if len(c.acts) != 0 {
		t.Errorf("entries of acts that were not done: %+v", c.acts)
	}
}

// TestUsersSeeTheirKeysWhileTheAPIServerIsAway has only the user told what is known.
func TestUsersSeeTheirKeysWhileTheAPIServerIsAway(t *testing.T) {
	k := &Keys{Store: failing{err: errors.New("away")}, Routes: table(), Known: func(context.Context, route.Backend) (*effective.Bridge, error) {
		return effective.Of(aliceBridge()), nil
	}}
	got, err := k.Own(newCall(t)).List()
	if diff := cmp.Diff(List{Keys: []Info{{ID: "k1", Name: "laptop"}}, Limit: Max, Partial: true}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, err = k.Of(newCall(t), "alice").List()
	expectProblem(t, "an administrator", err, http.StatusServiceUnavailable, "cluster_unavailable")
}

// TestAnActWhoseCallerLeavesHasItsEntry has the client leave when the API server has done what
// was asked.
func TestAnActWhoseCallerLeavesHasItsEntry(t *testing.T) {
	for name, actor := range actors {
		for act, change := range changes {
			ctx, leave := context.WithCancel(t.Context())
			c := newCall(t)
			c.ctx = ctx
			store := failing{during: func(ctx context.Context) error {
				leave()
				return ctx.Err()
			}}
			if err := change(actor(&Keys{Store: store, Routes: table()}, c)); err != nil || len(c.acts) != 1 || c.acts[0].Name != act || c.acts[0].Target != "k1" || c.acts[0].Unsure {
				t.Errorf("%s of %s: %v, %+v", act, name, err, c.acts)
			}
		}
	}
}

// TestAnActOfUnknownOutcomeHasItsEntry has acts of which it is not known whether they were done.
func TestAnActOfUnknownOutcomeHasItsEntry(t *testing.T) {
	for what, test := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"no answer":       {&UnsureError{KeyID: "k7", Err: errors.New("connection reset")}, http.StatusServiceUnavailable, "cluster_unavailable"},
		"held by another": {&UnsureError{KeyID: "k7", Err: &ManagedError{By: []string{"kubectl"}}}, http.StatusConflict, "key_managed"},
	} {
		for name, actor := range actors {
			for act, change := range changes {
				c := newCall(t)
				a := actor(&Keys{Store: failing{err: test.err}, Routes: table()}, c)
				expectProblem(t, act+" of "+name+", "+what, change(a), test.status, test.code)
				want := []httpapi.Act{{Self: name == "a user", Name: act, User: "alice", Target: "k7", Unsure: true}}
				if diff := cmp.Diff(want, c.acts); diff != "" {
					t.Errorf("%s of %s, %s (-want +got):\n%s", act, name, what, diff)
				}
			}
		}
	}
}

func TestAnActThatIsNotAuditedIsNotAnswered(t *testing.T) {
	full := errors.New("the disk is full")
	for name, actor := range actors {
		c := newCall(t)
		c.auditErr = full
		a := actor(&Keys{Store: failing{}, Routes: table()}, c)
		if made, err := a.Create("", 0); !errors.Is(err, full) || made.Key != "" {
			t.Errorf("%s: %+v, %v", name, made, err)
		}
		if err := a.Revoke("k1"); !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAKeyMakesNoneThatOutlivesIt(t *testing.T) {
	k, c := &Keys{Store: failing{}, Routes: table()}, newCall(t)
	c.ends = time.Now().Add(time.Hour)
	if made, err := k.Own(c).Create("", 0); err != nil || !made.ExpiresAt.Equal(c.ends) {
		t.Errorf("a key without a lifetime: %+v, %v", made, err)
	}
	if made, err := k.Own(c).Create("", time.Minute); err != nil || !made.ExpiresAt.Before(c.ends) {
		t.Errorf("a shorter one: %+v, %v", made, err)
	}
	_, err := k.Own(c).Create("", 2*time.Hour)
	expectProblem(t, "a longer one", err, http.StatusUnprocessableEntity, c.ends.UTC().Format(time.RFC3339))
	c.ends = time.Time{}
	if made, err := k.Own(c).Create("", 0); err != nil || made.ExpiresAt != nil {
		t.Errorf("by a key without an end: %+v, %v", made, err)
	}
}

func TestRequestsForKeys(t *testing.T) {
	const refused = http.StatusUnprocessableEntity
	for name, test := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"an empty object":         {"{}", 0, `"key":"hb_`},
		"a name and a lifetime":   {`{"name":"ci","expires":"90d"}`, 0, `"name":"ci"`},
		"no JSON":                 {"x", refused, "key_request_invalid"},
		"another field":           {`{"key":"x"}`, refused, "key: "},
		"another type":            {`{"expires":90}`, refused, "expires: "},
		"something behind it":     {`{} {}`, refused, "key_request_invalid"},
		"a list":                  {`[]`, refused, "key_request_invalid"},
		"a name that is none":     {`{"name":"a/b"}`, refused, "letters"},
		"a lifetime that is none": {`{"expires":"soon"}`, refused, "90d"},
	} {
		k, c := &Keys{Store: failing{}, Routes: table()}, newCall(t)
		c.body = []byte(test.body)
		for _, actor := range []func(httpapi.Call) Actor{k.Own, func(c httpapi.Call) Actor { return k.Of(c, "alice") }} {
			err := create(actor)(c)
			if test.status != 0 {
				expectProblem(t, name, err, test.status, test.says)
			} else if err != nil || c.answer.Code != http.StatusCreated || !strings.Contains(c.answer.Body.String(), test.says) {
				t.Errorf("%s: %v, %d %s", name, err, c.answer.Code, c.answer.Body)
			}
		}
	}
	c := newCall(t)
	c.bodyErr = httpapi.BodyTooLarge
	_, _, err := readRequest(c)
	expectProblem(t, "too much", err, http.StatusRequestEntityTooLarge, "4 KiB")
}
