// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profilediff

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const system = "system"

// clusterOf returns an installation with these bridges, whose API server is asked by list.
func clusterOf(t *testing.T, bridges int, list func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error) Source {
	t.Helper()
	scheme := runtime.NewScheme()
	must.Succeed(t, v1alpha1.AddToScheme(scheme))
	b := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{List: list})
	for i := range bridges {
		b = b.WithObjects(&v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "people", Name: fmt.Sprintf("u%04d", i)}, Spec: v1alpha1.HostedBridgeSpec{Tier: "free"}})
	}
	return Source{Client: b.Build(), Namespace: system}
}

// pages answers a list of bridges as the API server does, by pages, and counts them.
func pages(count *int) func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
	return func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		if err := c.List(ctx, l, o...); err != nil {
			return err
		}
		bridges, ok := l.(*v1alpha1.HostedBridgeList)
		if !ok {
			return nil
		}
		*count++
		var asked client.ListOptions
		asked.ApplyOptions(o)
		first := 0
		if asked.Continue != "" {
			if _, err := fmt.Sscan(asked.Continue, &first); err != nil {
				return err
			}
		}
		last := min(len(bridges.Items), first+int(asked.Limit))
		if last < len(bridges.Items) {
			bridges.Continue = fmt.Sprint(last)
		}
		bridges.Items = bridges.Items[first:last]
		return nil
	}
}

func givenProfile(tier string) v1alpha1.BridgeProfile {
	return v1alpha1.BridgeProfile{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "team"}, Spec: v1alpha1.BridgeProfileSpec{
		Tier: tier, Who: v1alpha1.ProfileSubjects{Namespaces: []string{"people"}, Everyone: true},
	}}
}

func TestBridgesAreReadByPagesAndAResultIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		p := NewPreviews(clusterOf(t, 2*pageSize+7, pages(&lists)), quota.Defaults, time.Now)
		for _, step := range []struct {
			tier  string
			again bool
			wait  time.Duration
			lists int
			why   string
		}{
			{"pro", true, 0, 3, "the first time all pages are read"},
			{"pro", false, 0, 3, "a kept result is read from memory"},
			{"pro", true, 0, 6, "an administrator asks again"},
			{"business", false, 0, 9, "another profile is another question"},
			{"pro", false, keptFor, 9, "just before a result is forgotten"},
			{"pro", false, time.Second, 12, "after it"},
		} {
			time.Sleep(step.wait)
			got, at, err := p.Of(t.Context(), givenProfile(step.tier), step.again)
			if err != nil || got.Bridges != 2*pageSize+7 || got.Changed != got.Bridges || got.Selected != got.Bridges || len(got.Effects) != 1 || len(got.Effects[0].Users) != got.Bridges {
				t.Fatalf("%s: %d of %d, %+v, %v", step.why, got.Changed, got.Bridges, got.Effects, err)
			}
			if lists != step.lists || time.Since(at) > keptFor {
				t.Errorf("%s: %d lists of bridges, %s old", step.why, lists, time.Since(at))
			}
		}
		for i := range 2 * keptPreviews {
			profile := givenProfile("pro")
			profile.Spec.Priority = int32(i)
			must.Value(func() (any, error) { _, _, err := p.Of(t.Context(), profile, true); return nil, err }())(t)
		}
		if len(p.kept) != keptPreviews {
			t.Errorf("%d results are kept", len(p.kept))
		}
	})
}

func TestOnePreviewIsComputedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := make(chan struct{})
		p := NewPreviews(clusterOf(t, 1, func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
			if _, ok := l.(*v1alpha1.HostedBridgeList); ok {
				<-read
			}
			return c.List(ctx, l, o...)
		}), quota.Defaults, time.Now)
		first := make(chan error)
		go func() {
			_, _, err := p.Of(t.Context(), givenProfile("pro"), true)
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := p.Of(ctx, givenProfile("business"), true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second one beside it: %v", err)
		}
		close(read)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if _, _, err := p.Of(t.Context(), givenProfile("business"), true); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}
