// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// expectNamespaced narrows the installation to the users' namespace while they
// call, makes one more there and one elsewhere, and widens it again.
func (c *cluster) expectNamespaced(t *testing.T, users []user, more user, key v1alpha1.APIKey) {
	t.Helper()
	if n := len(c.clusterWide(t)); n == 0 {
		t.Fatal("the installation has no right in the whole cluster before, so that nothing is shown")
	}
	elsewhere := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "elsewhere-" + c.run},
		Spec:       v1alpha1.HostedBridgeSpec{DesiredState: v1alpha1.StateSuspended},
	}
	before := c.pods(t)
	l := startLoad(t, users)
	c.install(t, c.next, "watchNamespaces={"+c.namespace+"}")
	c.awaitReplaced(t, before, system)
	l.expectNoFailure(t, "narrowed to one namespace")
	if left := c.clusterWide(t); len(left) > 0 {
		t.Errorf("it has rights in the whole cluster by %s", strings.Join(left, ", "))
	}

	must.Succeed(t, c.client.Create(t.Context(), elsewhere))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := client.IgnoreNotFound(c.client.Delete(ctx, elsewhere)); err != nil {
			t.Error(err)
		}
	})
	c.makeBridge(t, more, key)
	c.seal(t, more)
	c.awaitReady(t, more)
	c.mustHelm(t, "test", release, "--timeout=90s")
	// By now somebody else's would have had its conditions for long.
	must.Succeed(t, c.client.Get(t.Context(), client.ObjectKeyFromObject(elsewhere), elsewhere))
	if found := elsewhere.Status.Conditions; len(found) > 0 {
		t.Errorf("a HostedBridge of another namespace was looked after: %+v", found)
	}

	c.install(t, c.next)
	wait.NoError(t, patience, "the other one is looked after, too", func(ctx context.Context) error {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(elsewhere), elsewhere); err != nil {
			return err
		}
		if len(elsewhere.Status.Conditions) == 0 {
			return errors.New("it has no conditions")
		}
		return nil
	})
	for _, u := range append(users, more) {
		c.awaitServed(t, u)
		c.awaitReady(t, u)
	}
}

// clusterWide returns the ClusterRoleBindings of the installation's processes.
func (c *cluster) clusterWide(t *testing.T) (names []string) {
	t.Helper()
	var list rbacv1.ClusterRoleBindingList
	must.Succeed(t, c.client.List(t.Context(), &list))
	for _, b := range list.Items {
		for _, s := range b.Subjects {
			if s.Kind == rbacv1.ServiceAccountKind && s.Namespace == system {
				names = append(names, fmt.Sprintf("%s (%s)", b.Name, s.Name))
			}
		}
	}
	return names
}
