// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/hostedbridge"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// counting counts reconciliations by what each of them reads, whether or not it
// writes: all by the keybroker's certificate, and those of each bridge by its
// Deployment.
type counting struct {
	client.Client
	all  atomic.Int32
	each sync.Map
}

// of returns how often the Deployment of the bridge of that name was looked at.
func (c *counting) of(name string) int32 {
	n, _ := c.each.LoadOrStore(name, new(atomic.Int32))
	return n.(*atomic.Int32).Load()
}

func (c *counting) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	switch o.(type) {
	case *corev1.ConfigMap:
		c.all.Add(1)
	case *appsv1.Deployment:
		n, _ := c.each.LoadOrStore(strings.TrimSuffix(key.Name, "-bridge"), new(atomic.Int32))
		n.(*atomic.Int32).Add(1)
	}
	return c.Client.Get(ctx, key, o, opts...)
}

// start runs the fixture's controller as the operator does, with caches,
// indexes and watches, until the test ends.
func (f *fixture) start(t *testing.T) *counting {
	t.Helper()
	m, err := ctrl.NewManager(testenv.Config(), ctrl.Options{
		Scheme:  testenv.Scheme(),
		Cache:   f.cacheOptions(),
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{Client: m.GetClient()}
	r := &hostedbridge.Reconciler{
		Client: c, Live: m.GetAPIReader(), Recorder: m.GetEventRecorder("hosted-bridge-operator"),
		Clock: clock.RealClock{}, Settings: f.Settings,
	}
	must.Succeed(t, r.Setup(t.Context(), m))
	testenv.Run(t, m.Start)
	<-m.Elected() // Before this, what a person changes has no event.
	return c
}

// cacheOptions are those of an operator that looks after the fixture's namespaces alone.
func (f *fixture) cacheOptions() cache.Options {
	watched := namespaces.Set{f.namespace, f.Settings.Namespace}
	if f.elsewhere != "" {
		watched = append(watched, f.elsewhere)
	}
	return hostedbridge.CacheOptions(f.Settings.Namespace, watched)
}

func (f *fixture) eventually(t *testing.T, what string, o client.Object, ok func() bool) {
	t.Helper()
	eventually(t, f.Client, what, o, ok)
}

// eventually reads o until ok holds of it. It asks again and again because the
// test has no part in the controller's own watches.
func eventually(t *testing.T, from client.Reader, what string, o client.Object, ok func() bool) {
	t.Helper()
	wait.NoError(t, wait.Limit, what, func(ctx context.Context) error {
		err := from.Get(ctx, client.ObjectKeyFromObject(o), o)
		if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		if err == nil && !ok() {
			err = fmt.Errorf("it is %+v", o)
		}
		return err
	})
}

func reason(b *v1alpha1.HostedBridge, kind string) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

func TestTheControllerWatchesWhatItsDecisionsDependOn(t *testing.T) {
	f := newFixtureWithoutTrust(t)
	f.start(t)
	alice := f.bridge("alice")
	rival := f.bridge("rival", func(s *v1alpha1.HostedBridgeSpec) { s.UserID = alice.Spec.UserID })
	ready := func(b *v1alpha1.HostedBridge) func() bool {
		return func() bool {
			return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady) && b.Status.ObservedGeneration == b.Generation
		}
	}
	testenv.ExpectApplied(t, f.Client, alice)
	f.eventually(t, "no certificate", alice, func() bool { return reason(alice, v1alpha1.ConditionReady) == "TrustMissing" })
	f.publishTrust(t)
	f.eventually(t, "the certificate was published", alice, func() bool { return reason(alice, v1alpha1.ConditionReady) == "Progressing" })
	f.roll(t, alice)
	f.eventually(t, "the Deployment and its pod are available", alice, func() bool {
		return ready(alice)() && alice.Status.PodName == "alice-bridge-1"
	})

	account, d := f.children("alice")
	testenv.ExpectExists(t, f.Client, account)
	uid := account.UID
	must.Succeed(t, f.Delete(t.Context(), account))
	f.eventually(t, "a deleted object is made anew", account, func() bool { return account.UID != uid })

	f.keybroker(t, "a", new(true)) // Without one nothing is done to a pod that runs.
	told := f.configMap("alice")
	testenv.ExpectExists(t, f.Client, told)
	good := told.Data["config.json"]
	testenv.ExpectChanged(t, f.Client, told, func() { told.Data["config.json"] = "{}" })
	f.eventually(t, "a configuration of somebody else's is replaced", told, func() bool { return told.Data["config.json"] == good })

	testenv.ExpectApplied(t, f.Client, rival)
	f.eventually(t, "a rival is told", rival, func() bool { return reason(rival, v1alpha1.ConditionAccepted) == "UserIDConflict" })
	must.Succeed(t, f.Delete(t.Context(), alice))
	f.eventually(t, "the rival takes over", rival, func() bool { return reason(rival, v1alpha1.ConditionAccepted) == "Accepted" })

	// The garbage collector's part, which this API server lacks: the objects
	// of the old alice go only now, and the new one is waiting for it.
	testenv.ExpectApplied(t, f.Client, f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.UserID += "-2" }))
	f.eventually(t, "a namesake waits for its predecessor", alice, func() bool { return reason(alice, v1alpha1.ConditionReady) == "Progressing" })
	for _, o := range []client.Object{account, told, d} {
		must.Succeed(t, f.Delete(t.Context(), o))
	}
	f.eventually(t, "and is made when that is removed", d, func() bool { return d.OwnerReferences[0].UID == alice.UID })
}

// TestAGroupOfADirectoryIsKnownWhileItIsThere creates and deletes the group that a bridge names.
func TestAGroupOfADirectoryIsKnownWhileItIsThere(t *testing.T) {
	f := newFixture(t)
	f.start(t)
	alice := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Groups = []string{"sales"} })
	testenv.ExpectApplied(t, f.Client, alice)
	unknown := func() bool {
		return reason(alice, v1alpha1.ConditionProfilesApplied) == v1alpha1.ReasonUnknownGroup
	}
	f.eventually(t, "nothing names the group", alice, unknown)
	group := &v1alpha1.BridgeGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: "g-1"},
		Spec:       v1alpha1.BridgeGroupSpec{Issuer: "https://idp.example.com", Value: "sales", DisplayName: "Sales"},
	}
	testenv.ExpectApplied(t, f.Client, group)
	f.eventually(t, "a directory has the group", alice, func() bool { return !unknown() })
	must.Succeed(t, f.Delete(t.Context(), group))
	f.eventually(t, "the directory has it no more", alice, unknown)
}

func TestTheIngresssStatusDoesNotWakeTheController(t *testing.T) {
	f := newFixture(t)
	written := f.start(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	f.eventually(t, "made", b, func() bool { return reason(b, v1alpha1.ConditionReady) == "Progressing" })
	f.roll(t, b)
	f.eventually(t, "ready", b, func() bool { return b.Status.Phase == v1alpha1.PhaseRunning && b.Status.PodName != "" })

	before := written.all.Load()
	const patches = 20
	seen := b.DeepCopy()
	for i := range int32(patches) {
		body := fmt.Appendf(nil, `{"status":{"tools":%d}}`, i)
		if err := f.Status().Patch(t.Context(), b, client.RawPatch(types.MergePatchType, body), client.FieldOwner(v1alpha1.FieldOwnerIngress)); err != nil {
			t.Fatal(err)
		}
		eventually(t, written, "the controller's cache has it", seen, func() bool { return ptr.Deref(seen.Status.Tools, -1) == i })
	}
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = servers("one") })
	f.eventually(t, "the change was seen", b, func() bool { return b.Status.ObservedGeneration == b.Generation })
	// The change itself is one status, the Deployment's event another; what
	// was left of the roll may be one or two more.
	if n := written.all.Load() - before; n > 4 {
		t.Errorf("%d reconciliations for one change among %d patches of the ingress", n, patches)
	}
	if b.Status.Tools == nil || *b.Status.Tools != patches-1 {
		t.Errorf("tools are %v", b.Status.Tools)
	}
}

func TestTheCacheHoldsNoObjectsOfOthers(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, f.foreign("ServiceAccount"), b)
	f.start(t)
	f.eventually(t, "refused although no cache shows it", b, func() bool { return reason(b, v1alpha1.ConditionReady) == "NotOwned" })
	var events corev1.EventList
	f.eventually(t, "an event says so", b, func() bool {
		must.Succeed(t, f.List(t.Context(), &events, client.InNamespace(f.namespace)))
		for _, e := range events.Items {
			if e.Reason == string(v1alpha1.PhaseFailed) && e.Type == corev1.EventTypeWarning {
				return true
			}
		}
		return false
	})
}

// TestWhatAPersonChangesIsInTheEvents has a real controller, and reads events as
// kubectl does.
func TestWhatAPersonChangesIsInTheEvents(t *testing.T) {
	f := newFixture(t)
	f.start(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	f.eventually(t, "it is reconciled", b, func() bool { return b.Status.ObservedGeneration == b.Generation })
	for _, change := range []func(*v1alpha1.HostedBridgeSpec){
		func(s *v1alpha1.HostedBridgeSpec) { s.Tier = "pro" },
		func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateSuspended },
		func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateOnDemand },
	} {
		f.change(t, b, change)
		f.eventually(t, "it is reconciled", b, func() bool { return b.Status.ObservedGeneration == b.Generation })
	}
	want := []string{"Created", "Resumed", "Suspended", "TierChanged"}
	wait.NoError(t, wait.Limit, "the events", func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := f.Client.List(ctx, &list, client.InNamespace(b.Namespace)); err != nil {
			return err
		}
		var got []string
		for _, e := range list.Items {
			if e.Regarding.Kind == "HostedBridge" && e.Regarding.Name == b.Name && e.Action == "Change" {
				got = append(got, e.Reason)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("they are %q, want %q", got, want)
		}
		return nil
	})
}
