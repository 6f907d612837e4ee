// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestGrantsNameTheServersOfASecret(t *testing.T) {
	server := func(name string, secrets ...v1alpha1.SecretName) effective.Server {
		return effective.Server{Server: v1alpha1.Server{Name: name, Secrets: secrets}}
	}
	for _, test := range []struct {
		name    string
		servers []effective.Server
		want    []string
	}{
		{"no servers", nil, nil},
		{"a server without secrets", []effective.Server{server("a")}, nil},
		{"a server with another secret", []effective.Server{server("a", "JIRA_TOKEN")}, nil},
		{"a secret whose name begins with the name", []effective.Server{server("a", "TOKEN_2", "MY_TOKEN")}, nil},
		{"a server that has the secret's name", []effective.Server{server("TOKEN", "OTHER")}, nil},
		{"one of several servers and secrets", []effective.Server{server("a", "X"), server("b", "X", "TOKEN", "Y"), server("c")}, []string{"b"}},
		{"several servers, in the order of the spec", []effective.Server{server("z", "TOKEN"), server("a", "TOKEN")}, []string{"z", "a"}},
		{"names that the API server would not take", []effective.Server{server("a b", "TOKEN"), server("", "TOKEN"), server("c", "X TOKEN", "", "Y\nTOKEN TOKEN")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, grantsOf(test.servers, nil).Servers("TOKEN")); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARecipeGrantsWhatItNames(t *testing.T) {
	servers := []effective.Server{
		{Server: v1alpha1.Server{Name: "followed", Recipe: &v1alpha1.RecipeReference{Name: "notes"}}},
		{Server: v1alpha1.Server{Name: "bounded", Recipe: &v1alpha1.RecipeReference{Name: "notes"}, Secrets: []v1alpha1.SecretName{"TOKEN", "OTHER"}}},
		{Server: v1alpha1.Server{Name: "lost", Recipe: &v1alpha1.RecipeReference{Name: "gone"}, Secrets: []v1alpha1.SecretName{"TOKEN"}}},
		{Server: v1alpha1.Server{Name: "inline", Secrets: []v1alpha1.SecretName{"OTHER"}}},
	}
	got := grantsOf(servers, []v1alpha1.RecipeStatus{
		{Server: "bounded", Secrets: []string{"TOKEN"}}, {Server: "followed", Secrets: []string{"TOKEN"}}, {Server: "lost"},
		{Server: "inline", Secrets: []string{"TOKEN"}},
	})
	if diff := cmp.Diff([]string{"followed", "bounded"}, got.Servers("TOKEN")); diff != "" {
		t.Errorf("of TOKEN (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"inline"}, got.Servers("OTHER")); diff != "" {
		t.Errorf("of OTHER (-want +got):\n%s", diff)
	}
}

func TestARouteHasWhatItsBridgeSaysOfSecrets(t *testing.T) {
	alice := bridge("one", "alice", 0)
	x := NewIndex()
	x.SetBridge(alice)
	bare := x.Snapshot()
	if b, _ := bare.Lookup("alice"); b.SecretsRevision != "" || b.Grants != "" {
		t.Errorf("without secrets: %+v", b)
	}
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.HostedBridge)
	}{
		{"another revision", func(b *v1alpha1.HostedBridge) { b.Status.Secrets = &v1alpha1.SecretsStatus{Revision: "r1"} }},
		{"another grant", func(b *v1alpha1.HostedBridge) {
			b.Spec.Servers = []v1alpha1.Server{{Name: "a", Secrets: []v1alpha1.SecretName{"TOKEN"}}}
		}},
	} {
		changed := alice.DeepCopy()
		test.change(changed)
		x.SetBridge(changed)
		table := x.Snapshot()
		if table == bare {
			t.Errorf("%s is no other table", test.name)
		}
		want := ""
		if changed.Status.Secrets != nil {
			want = changed.Status.Secrets.Revision
		}
		if b, _ := table.Lookup("alice"); b.SecretsRevision != want || len(b.Grants.Servers("TOKEN")) != len(changed.Spec.Servers) {
			t.Errorf("%s: %+v", test.name, b)
		}
		x.SetBridge(changed.DeepCopy())
		if x.Snapshot() != table {
			t.Errorf("%s that is said again is another table", test.name)
		}
	}
}
