// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestABridgeSaysWhetherTheNetworkIsolatesIt waits for what the operator found by
// its two pods. The local cluster's network enforces policies; what others do is
// not known here, but that something was found is.
func TestABridgeSaysWhetherTheNetworkIsolatesIt(t *testing.T) {
	name := installed.name("isolated")
	if out, err := installed.runKubectl(t.Context(), manifest(name, "desiredState: Suspended"), "apply", "--filename=-"); err != nil {
		t.Fatalf("apply: %v: %s", err, out)
	}
	t.Cleanup(func() {
		_, _ = installed.runKubectl(t.Context(), "", "delete", "hostedbridge", name, "--wait=false")
	})
	if got := isolationFound(t, name); os.Getenv("CLUSTER") == "local" && got != "True Enforced" {
		t.Errorf("NetworkIsolated is %q, want True Enforced", got)
	}
	// The pods that tried are gone by then, or about to be.
	wait.NoError(t, time.Minute, "the pods of the probe are removed", func(ctx context.Context) error {
		for _, pod := range []string{"hosted-bridge-probe-open", "hosted-bridge-probe-denied"} {
			out, err := installed.runKubectl(ctx, "", "get", "pod", pod, "--namespace="+systemNamespace, "--ignore-not-found", "--output=name")
			if err != nil || strings.TrimSpace(out) != "" {
				return errors.Join(fmt.Errorf("there is %q", out), err)
			}
		}
		return nil
	})
}

// isolationFound waits for what the probe found, and returns the status and the
// reason of a HostedBridge's condition.
func isolationFound(t *testing.T, name string) (found string) {
	t.Helper()
	results := []string{"True Enforced", "Unknown NetworkPolicyNotEnforced"}
	const path = `jsonpath={range .status.conditions[?(@.type=="NetworkIsolated")]}{.status} {.reason}{end}`
	wait.NoError(t, wait.Limit, "NetworkIsolated says what the probe found", func(ctx context.Context) error {
		out, err := installed.runKubectl(ctx, "", "get", "hostedbridge", name, "--output="+path)
		if found = strings.TrimSpace(out); err != nil || !slices.Contains(results, found) {
			return errors.Join(fmt.Errorf("it is %q, want %s", found, strings.Join(results, " or ")), err)
		}
		return nil
	})
	return found
}

// TestTheLastUserOfANamespaceTakesItsPolicyWithThem keeps the namespace until the
// policy is gone: one that ends takes the policy itself, and nothing is shown.
func TestTheLastUserOfANamespaceTakesItsPolicyWithThem(t *testing.T) {
	t.Parallel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: installed.name("emptied") + "-"}}
	must.Succeed(t, installed.client.Create(t.Context(), namespace))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
		defer cancel()
		if err := client.IgnoreNotFound(installed.client.Delete(ctx, namespace)); err != nil {
			t.Errorf("delete Namespace %s: %v", namespace.Name, err)
		}
	})
	b := bridge(installed.name("last"), nil)
	b.Namespace = namespace.Name
	create(t, b)
	policy := client.ObjectKey{Namespace: namespace.Name, Name: bridgeobjects.PolicyName}
	wait.NoError(t, wait.Limit, "the policy is there, and a pod that it holds for", func(ctx context.Context) error {
		pods, err := podsOfTenants(ctx, namespace.Name)
		if err == nil && pods == 0 {
			err = errors.New("there is no pod")
		}
		return errors.Join(err, installed.client.Get(ctx, policy, &networkingv1.NetworkPolicy{}))
	})

	must.Succeed(t, installed.client.Delete(t.Context(), b))
	wait.NoError(t, wait.Limit, "the policy is gone", func(ctx context.Context) error {
		err := installed.client.Get(ctx, policy, &networkingv1.NetworkPolicy{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		pods, err := podsOfTenants(ctx, namespace.Name)
		if pods > 0 {
			t.Errorf("%d pods run without it", pods)
		}
		return err
	})
}

// podsOfTenants counts the pods of bridges in the namespace.
func podsOfTenants(ctx context.Context, namespace string) (int, error) {
	var pods corev1.PodList
	err := installed.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(v1alpha1.BridgePodLabels()))
	return len(pods.Items), err
}
