// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

func TestWhatAPersonChangedIsAnEvent(t *testing.T) {
	keys := func(all ...v1alpha1.APIKey) func(*v1alpha1.HostedBridge) {
		return func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = all }
	}
	laptop, phone := v1alpha1.APIKey{ID: "laptop00", Hash: "user-sha256:1"}, v1alpha1.APIKey{ID: "phone000", Hash: "user-sha256:2"}
	desired := func(s v1alpha1.DesiredState) func(*v1alpha1.HostedBridge) {
		return func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = s }
	}
	for name, tt := range map[string]struct {
		before, after func(*v1alpha1.HostedBridge)
		want          []string
	}{
		"nothing":                   {keys(laptop), keys(laptop), nil},
		"a server":                  {keys(), func(b *v1alpha1.HostedBridge) { b.Spec.Servers = []v1alpha1.Server{{Name: "one"}} }, nil},
		"it shall run always":       {desired(v1alpha1.StateOnDemand), desired(v1alpha1.StateRunning), nil},
		"it is suspended":           {desired(v1alpha1.StateOnDemand), desired(v1alpha1.StateSuspended), []string{"Normal Suspended spec.desiredState is Suspended: the pod ends, and calls are refused"}},
		"it is resumed":             {desired(v1alpha1.StateSuspended), desired(v1alpha1.StateOnDemand), []string{"Normal Resumed spec.desiredState is OnDemand: calls are accepted"}},
		"another tier":              {keys(), func(b *v1alpha1.HostedBridge) { b.Spec.Tier = "pro" }, []string{"Normal TierChanged the tier was free and is pro"}},
		"a key more":                {keys(laptop), keys(phone, laptop), []string{"Normal KeyAdded API keys that work: phone000"}},
		"a key less":                {keys(phone, laptop), keys(laptop), []string{"Normal KeyRemoved API keys that no longer work: phone000"}},
		"two keys":                  {keys(), keys(phone, laptop), []string{"Normal KeyAdded API keys that work: laptop00, phone000"}},
		"keys in another order":     {keys(phone, laptop), keys(laptop, phone), nil},
		"another hash of a key":     {keys(laptop), keys(v1alpha1.APIKey{ID: laptop.ID, Hash: phone.Hash}), []string{"Normal KeyRemoved API keys that no longer work: laptop00", "Normal KeyAdded API keys that work: laptop00"}},
		"the name of a key":         {keys(laptop), keys(v1alpha1.APIKey{ID: laptop.ID, Hash: laptop.Hash, Name: "work"}), nil},
		"the status, which repeats": {nil, keys(laptop), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := &v1alpha1.HostedBridge{}, &v1alpha1.HostedBridge{}
			before.Generation, after.Generation = 1, 2
			before.Spec.Tier, after.Spec.Tier = "free", "free"
			if tt.before != nil {
				tt.before(before)
			} else {
				after.Generation = 1
			}
			tt.after(after)
			if diff := cmp.Diff(tt.want, emitted(closed(), func(r *Reconciler, elected chan struct{}) {
				r.emitChanges(elected).Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, nil)
			})); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANewBridgeIsAnEventOnce(t *testing.T) {
	b := &v1alpha1.HostedBridge{}
	b.Name, b.Spec.Tier = "alice", "free"
	create := func(elected chan struct{}) []string {
		return emitted(elected, func(r *Reconciler, elected chan struct{}) {
			r.emitChanges(elected).Create(t.Context(), event.CreateEvent{Object: b}, nil)
		})
	}
	if diff := cmp.Diff([]string{"Normal Created the bridge of user alice, of the tier free"}, create(closed())); diff != "" {
		t.Errorf("events of a new bridge (-want +got):\n%s", diff)
	}
	if got := create(make(chan struct{})); got != nil {
		t.Errorf("an operator that does not lead emits %q", got)
	}
	b.Status.Phase = v1alpha1.PhaseRunning
	if got := create(closed()); got != nil {
		t.Errorf("an operator that begins emits %q", got)
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// emitted returns the events that act emits.
func emitted(elected chan struct{}, act func(*Reconciler, chan struct{})) (all []string) {
	recorder := events.NewFakeRecorder(10)
	act(&Reconciler{Recorder: recorder}, elected)
	close(recorder.Events)
	for e := range recorder.Events {
		all = append(all, e)
	}
	return all
}
