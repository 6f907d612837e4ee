// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// keybrokerName is the keybroker's Deployment, its ServiceAccount and its
// Service.
const keybrokerName = "hosted-bridge-keybroker"

func secretsStayWithoutAKeybroker(t *testing.T) {
	jack, kate := newGuardedTenant(t, "jack", left), newGuardedTenant(t, "kate", left)
	token, other, late := left.token(t), left.token(t), left.token(t)
	mustPut(t, jack, left.secret, token, http.StatusCreated)
	mustPut(t, kate, left.secret, other, http.StatusCreated)
	awaitPresented(t, jack, left, token)
	awaitPresented(t, kate, left, other)
	pod := bridgePod(t, jack.uid)

	replicas := scaleKeybroker(t, 0)
	t.Cleanup(func() { scaleKeybroker(t, replicas) })
	wait.NoError(t, wait.Limit, "no keybroker runs", func(ctx context.Context) error {
		// Those on their way out serve to the end.
		var pods corev1.PodList
		if err := installed.client.List(ctx, &pods, client.InNamespace(systemNamespace)); err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.Spec.ServiceAccountName == keybrokerName {
				return fmt.Errorf("pod %s is still there", p.Name)
			}
		}
		return nil
	})
	for _, n := range []tenant{jack, kate} {
		awaitSecrets(t, n, metav1.ConditionUnknown, v1alpha1.ReasonKeybrokerUnavailable)
	}

	// What runs goes on with what it has, and a change is refused.
	awaitPresented(t, jack, left, token)
	if a := askSecrets(t, jack, http.MethodPut, "/"+left.secret, late); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("a PUT without a keybroker: status %d %s, want %d and Retry-After", a.status, a.code(), http.StatusServiceUnavailable)
	}
	awaitReady(t, jack.name)

	// What starts waits, and says for what.
	remove(t, bridgePod(t, kate.uid))
	waiting := awaitWaiting(t, kate)
	awaitPresented(t, jack, left, token)

	scaleKeybroker(t, replicas)
	awaitPresented(t, kate, left, other)
	awaitReady(t, kate.name)
	if now := bridgePod(t, kate.uid); string(now.UID) != waiting || restarts(now) != 0 {
		t.Errorf("the pod that waited for the keybroker was replaced or started again, want that it goes on by itself")
	}
	for _, n := range []tenant{jack, kate} {
		awaitSecrets(t, n, metav1.ConditionTrue, v1alpha1.ReasonSealed)
	}
	mustPut(t, jack, left.secret, late, http.StatusOK)
	awaitPresented(t, jack, left, late)
	isSamePod(t, jack, pod)
}

// awaitWaiting waits until the tenant has a new pod which waits for the
// keybroker and says so, and returns its UID.
func awaitWaiting(t *testing.T, n tenant) (uid string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the new pod of "+n.name+" waits for the keybroker", func(ctx context.Context) error {
		pods, err := bridgePods(ctx, n.uid)
		if err != nil || len(pods) != 1 {
			return fmt.Errorf("%d pods: %w", len(pods), errors.Join(err, errors.New("want 1")))
		}
		if isReady(pods[0]) {
			t.Fatal("a pod is ready though it cannot have its secrets")
		}
		log, err := output(ctx, "logs", pods[0].Name)
		if err != nil || !strings.Contains(string(log), "keybroker") {
			return fmt.Errorf("its log says nothing of the keybroker: %w", errors.Join(err, errors.New("want that it waits for it")))
		}
		b, err := getBridge(ctx, n.name)
		if err != nil {
			return err
		}
		if ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonKeybrokerUnavailable {
			return fmt.Errorf("conditions are %s", describe(b.Status.Conditions))
		}
		uid = string(pods[0].UID)
		return nil
	})
	return uid
}

// scaleKeybroker sets the number of keybrokers and returns what it was. It is
// called in clean-ups too, after the test's context has ended.
func scaleKeybroker(t *testing.T, replicas int32) (before int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
	defer cancel()
	d := &appsv1.Deployment{}
	if err := installed.client.Get(ctx, types.NamespacedName{Namespace: systemNamespace, Name: keybrokerName}, d); err != nil {
		t.Fatalf("get Deployment %s: %v", keybrokerName, err)
	}
	before = *d.Spec.Replicas
	patch := client.MergeFrom(d.DeepCopy())
	d.Spec.Replicas = &replicas
	if err := installed.client.Patch(ctx, d, patch); err != nil {
		t.Fatalf("scale Deployment %s to %d: %v", keybrokerName, replicas, err)
	}
	return before
}

func secretsOutlastTheMasterKey(t *testing.T) {
	lena := newGuardedTenant(t, "lena", left, right)
	token, other, late := left.token(t), right.token(t), left.token(t)
	mustPut(t, lena, left.secret, token, http.StatusCreated)
	mustPut(t, lena, right.secret, other, http.StatusCreated)
	awaitPresented(t, lena, left, token)
	seen := awaitPresented(t, lena, right, other)
	pod := bridgePod(t, lena.uid)
	version := listSecrets(t, lena).Secrets[0].KeyVersion

	if out := keybroker(t, "rotate", "--dry-run"); out == "" {
		t.Error("a dry run says nothing")
	}
	if now := listSecrets(t, lena).Secrets[0].KeyVersion; now != version {
		t.Fatalf("a dry run brought key version %d from %d", now, version)
	}
	stop := hurryKeybroker(t)
	keybroker(t, "rotate")
	keybroker(t, "verify")
	// Without the older version it can only be the new one that opens.
	keybroker(t, "rotate", "--retire")
	keybroker(t, "verify")
	stop()

	for _, s := range listSecrets(t, lena).Secrets {
		if s.KeyVersion != version+1 {
			t.Errorf("%s is under key version %d, want %d", s.Name, s.KeyVersion, version+1)
		}
	}
	wait.NoError(t, wait.Limit, "the status has the new key version", func(ctx context.Context) error {
		b, err := getBridge(ctx, lena.name)
		if err != nil {
			return err
		}
		if b.Status.KeyVersion == nil || *b.Status.KeyVersion != version+1 {
			return fmt.Errorf("status.keyVersion is not %d", version+1)
		}
		return nil
	})
	// The secrets are the same, so that nothing is announced or renewed.
	if again := awaitPresented(t, lena, right, other); again.Connections != seen.Connections {
		t.Errorf("the right server saw %d connections before the rotation and %d after", seen.Connections, again.Connections)
	}
	mustPut(t, lena, left.secret, late, http.StatusOK)
	awaitPresented(t, lena, left, late)
	isSamePod(t, lena, pod)

	// A pod that starts now gets all of them from the new version.
	remove(t, pod)
	wait.NoError(t, wait.Limit, "the bridge's pod is another", func(ctx context.Context) error {
		return startedAgain(ctx, lena, pod)
	})
	awaitPresented(t, lena, left, late)
	awaitPresented(t, lena, right, other)
}

// keybroker runs a command of the keybroker's program in one of its pods.
func keybroker(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := installed.runKubectl(ctx, "", keybrokerCommand(args...)...)
	if err != nil {
		t.Fatalf("keybroker %s: %v: %s", strings.Join(args, " "), err, out)
	}
	t.Logf("keybroker %s:\n%s", strings.Join(args, " "), out)
	return out
}

func keybrokerCommand(args ...string) []string {
	return append([]string{"exec", "--stdin", "--namespace=" + systemNamespace, "deployment/" + keybrokerName, "--", "/keybroker"}, args...)
}

// hurryKeybroker changes an annotation of the keybroker's pods every second
// until stop is called. The kubelet brings a changed Secret into a pod when it
// next looks at the pod, which without a reason it does about once a minute.
func hurryKeybroker(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			pods, err := listPodsOf(ctx, keybrokerName)
			for _, p := range pods {
				patch := client.MergeFrom(p.DeepCopy())
				p.Annotations = map[string]string{"e2e.hostedbridge.dev/look": time.Now().Format(time.RFC3339Nano)}
				err = errors.Join(err, installed.client.Patch(ctx, &p, patch))
			}
			if err != nil && ctx.Err() == nil {
				t.Logf("annotate the keybroker's pods: %v", err)
			}
			pause(ctx, time.Second)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
