// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1/recipefile"
)

// cached is a cache that has these bridges, by the recipes that they name.
type cached struct {
	client.Client
	bridges []v1alpha1.HostedBridge
}

func (c cached) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	found := list.(*v1alpha1.HostedBridgeList)
	for i := range c.bridges {
		if o.FieldSelector == nil {
			found.Items = append(found.Items, c.bridges[i])
			continue
		}
		for _, use := range recipeUses(&c.bridges[i]) {
			if o.FieldSelector.Matches(fields.Set{indexRecipe: use}) {
				found.Items = append(found.Items, c.bridges[i])
			}
		}
	}
	return nil
}

// asked writes down who is asked for, how late and how urgently.
type asked struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	after    map[string]time.Duration
	priority map[int]int
}

func (a *asked) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, r := range requests {
		a.after[r.Name] = o.After
		a.priority[*o.Priority]++
	}
}

// of returns a recipe of which these versions were accepted.
func of(change func(*v1alpha1.CatalogRecipe), versions ...string) *v1alpha1.CatalogRecipe {
	o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Name: "notes", UID: "uid"}}
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: recipefile.Recipe{ID: "notes"}}
	for _, v := range versions {
		o.Status.Versions = append(o.Status.Versions, v1alpha1.RecipeVersion{Version: v, Digest: "digest of " + v})
	}
	if change != nil {
		change(o)
	}
	return o
}

func TestARunningBridgesTurnComesBehindUsersAndOneAfterTheOther(t *testing.T) {
	var bridges []v1alpha1.HostedBridge
	for i := range 100 {
		b := v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%02d", i)}}
		b.Spec.Servers = []v1alpha1.Server{{Name: "mine", Recipe: &v1alpha1.RecipeReference{Name: "notes"}}}
		if i%2 == 0 {
			b.Status.PodName = b.Name + "-bridge-1"
		}
		bridges = append(bridges, b)
	}
	m := eventMapper{client: cached{bridges: bridges}}
	update := func(before, after *v1alpha1.CatalogRecipe) *asked {
		q := &asked{after: map[string]time.Duration{}, priority: map[int]int{}}
		m.enqueueUsersOfRecipe().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		return q
	}
	q := update(of(nil, "1.0.0"), of(nil, "1.1.0", "1.0.0"))
	if len(q.after) != 100 || q.after["b01"] != 0 || q.after["b00"] != 0 || q.after["b02"] != followPace || q.after["b98"] != 49*followPace {
		t.Errorf("a new version: %v", q.after)
	}
	withdrawn := func(o *v1alpha1.CatalogRecipe) { o.Status.Versions[0].Withdrawn = true }
	if q := update(of(nil, "1.0.0"), of(withdrawn, "1.0.0")); len(q.after) != 100 || q.after["b98"] != 0 {
		t.Errorf("a version that is withdrawn: %v", q.after)
	}
	if len(q.priority) != 1 || q.priority[handler.LowPriority] == 0 {
		t.Errorf("priorities %v", q.priority)
	}
}

func TestWhomARecipesChangeConcerns(t *testing.T) {
	refused := func(message string) func(*v1alpha1.CatalogRecipe) {
		return func(o *v1alpha1.CatalogRecipe) {
			o.Generation++
			o.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRecipeAccepted, Status: metav1.ConditionFalse, Message: message}}
		}
	}
	all := []string{"notes", "notes@"}
	for name, tt := range map[string]struct {
		before, after *v1alpha1.CatalogRecipe
		want          []string
	}{
		"an overlay":                     {of(nil, "1.0.0"), of(func(o *v1alpha1.CatalogRecipe) { o.Generation++; o.Spec.Quality = &v1alpha1.QualityOverlay{} }, "1.0.0"), nil},
		"a version that is refused":      {of(nil, "1.0.0"), of(refused("no"), "1.0.0"), nil},
		"a verdict where nothing runs":   {of(nil), of(refused("no")), all},
		"a new version":                  {of(nil, "1.0.0"), of(nil, "1.1.0", "1.0.0"), []string{"notes", "notes@1.1.0"}},
		"one that is not kept any more":  {of(nil, "1.1.0", "1.0.0"), of(nil, "1.1.0"), []string{"notes@1.0.0"}},
		"an older one that is withdrawn": {of(nil, "1.1.0", "1.0.0"), of(func(o *v1alpha1.CatalogRecipe) { o.Status.Versions[1].Withdrawn = true }, "1.1.0", "1.0.0"), all},
		"another object":                 {of(nil, "1.0.0"), of(func(o *v1alpha1.CatalogRecipe) { o.UID = "other" }, "1.0.0"), all},
		"taken back":                     {of(nil, "1.0.0"), of(func(o *v1alpha1.CatalogRecipe) { o.Spec.Recipe = nil }, "1.0.0"), all},
		"deprecated":                     {of(nil, "1.0.0"), of(func(o *v1alpha1.CatalogRecipe) { o.Spec.Deprecated = &v1alpha1.RecipeDeprecation{Reason: "old"} }, "1.0.0"), all},
	} {
		got, _ := concerned(tt.before, tt.after)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
