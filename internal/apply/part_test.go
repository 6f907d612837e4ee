// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAPatchHasOnePartAndWhatIdentifiesTheObject(t *testing.T) {
	person := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{
		Namespace: "hosted-bridge", Name: "user-alice", UID: "u", ResourceVersion: "7", Generation: 3, Labels: map[string]string{"a": "b"},
	}}
	person.Spec.User, person.Status.ObservedGeneration = "alice", 2
	bridge := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "alice"}}
	const (
		aPerson = `{"kind":"BridgePerson","apiVersion":"hostedbridge.dev/v1alpha1","metadata":{"name":"user-alice","namespace":"hosted-bridge","uid":"u","resourceVersion":"7"}`
		aBridge = `{"kind":"HostedBridge","apiVersion":"hostedbridge.dev/v1alpha1","metadata":{"name":"alice","namespace":"team"}`
	)
	for name, tt := range map[string]struct {
		object client.Object
		patch  client.Patch
		want   string
	}{
		"a status": {person, Status(v1alpha1.BridgePersonStatus{Directory: &v1alpha1.PersonDirectoryGroups{Incarnation: 1}}), aPerson + `,"status":{"directory":{"incarnation":1}}}`},
		"a spec":   {person, Spec(v1alpha1.BridgePersonSpec{Access: v1alpha1.AccessSuspended}), aPerson + `,"spec":{"access":"Suspended"}}`},
		"nothing":  {person, Spec(nil), aPerson + `}`},
		"a number of which zero says something": {
			bridge, Status(v1alpha1.HostedBridgeStatus{Secrets: &v1alpha1.SecretsStatus{}}), aBridge + `,"status":{"secrets":{"count":0}}}`,
		},
		"what is false of a person's bridge": {
			person, Status(v1alpha1.BridgePersonStatus{Bridges: []v1alpha1.PersonBridge{{UID: "b", Namespace: "team", Name: "alice"}}}),
			aPerson + `,"status":{"bridges":[{"uid":"b","namespace":"team","name":"alice","shared":false,"stopped":false}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(must.Value(tt.patch.Data(tt.object))(t))); diff != "" || tt.patch.Type() != types.ApplyPatchType {
				t.Errorf("%s: %s", tt.patch.Type(), diff)
			}
		})
	}
}
