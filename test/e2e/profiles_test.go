// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestAProfileDecidesWhichToolsItsMembersHave moves a user into a group and out of it, under
// a client that stays connected, and has a server of the group use the user's own secret.
func TestAProfileDecidesWhichToolsItsMembersHave(t *testing.T) {
	t.Parallel()
	n := newTenant(t, "profiled", "own", "second")
	group := installed.name("group")
	p := &v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: group},
		Spec: v1alpha1.BridgeProfileSpec{
			Who:  v1alpha1.ProfileSubjects{Namespaces: []string{installed.namespace}, Groups: []v1alpha1.ProfileGroup{{FromNamespace: installed.namespace, Value: group}}},
			Tier: "pro",
			Servers: []v1alpha1.ProfileServer{
				{Use: v1alpha1.ServerRequired, Server: bridge("", nil, "team").Spec.Servers[0]},
				{Server: left.server()},
			},
		},
	}
	must.Succeed(t, installed.client.Create(t.Context(), p))
	t.Cleanup(func() {
		if err := installed.client.Delete(context.WithoutCancel(t.Context()), p); err != nil {
			t.Error(err)
		}
	})
	session := must.Value(newSDKClient(n, legacyVersion).connect(t.Context()))(t)
	defer session.Close()
	awaitTools(t, session, "own_"+tool, "second_"+tool)
	joins := func(groups ...string) time.Time {
		b := must.Value(getBridge(t.Context(), n.name))(t)
		before := b.DeepCopy()
		b.Spec.Groups = groups
		must.Succeed(t, installed.client.Patch(t.Context(), b, client.MergeFrom(before)))
		return time.Now()
	}
	began := joins(group)
	awaitTools(t, session, "own_"+tool, "second_"+tool, "team_"+tool)
	t.Logf("a member has the tools of the group after %s", time.Since(began).Round(10*time.Millisecond))
	token := left.token(t)
	mustPut(t, n, left.secret, token, http.StatusCreated)
	awaitPresented(t, n, left, token)
	wait.NoError(t, wait.Limit, "the status and the columns say whose server it is", func(ctx context.Context) error {
		b, err := getBridge(ctx, n.name)
		if err != nil {
			return err
		}
		columns, err := installed.runKubectl(ctx, "", "get", "hostedbridge", n.name, "--namespace="+installed.namespace)
		if err != nil || !strings.Contains(columns, group) {
			return fmt.Errorf("kubectl says %s, %w", columns, err)
		}
		for _, s := range b.Status.ServerStates {
			if s.Name == "team" && s.Profile == group && s.Use == v1alpha1.ServerRequired && s.State == v1alpha1.ServerHealthy {
				return nil
			}
		}
		return fmt.Errorf("the states are %+v", b.Status.ServerStates)
	})
	wait.NoError(t, wait.Limit, "the profile counts its member", func(ctx context.Context) error {
		err := installed.client.Get(ctx, client.ObjectKeyFromObject(p), p)
		if err == nil && (p.Status.Matched != 1 || p.Status.Updated != 1 || !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)) {
			err = fmt.Errorf("its status is %+v", p.Status)
		}
		return err
	})
	began = joins()
	wait.NoError(t, wait.Limit, "who left the group has its tools no more", func(ctx context.Context) error {
		list, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		for _, listed := range list.Tools {
			if strings.HasPrefix(listed.Name, "team_") || strings.HasPrefix(listed.Name, left.name+"_") {
				return fmt.Errorf("%s is listed", listed.Name)
			}
		}
		return nil
	})
	t.Logf("who leaves loses them after %s", time.Since(began).Round(10*time.Millisecond))
	if err := callNamed(t.Context(), n, "team_"+tool); err == nil {
		t.Error("a tool of the group can be called by one that left it")
	}
}
