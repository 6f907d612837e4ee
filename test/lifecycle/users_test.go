// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package lifecycle

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// user is a tenant of the run. Their one server wants a token, which they have
// sealed: a call that is answered has opened it.
type user struct {
	name, key, token string
	// home is where their endpoints are, url the one that clients are given.
	home, url string
}

const server = "guarded"

// mintUsers makes keys and tokens, of which nothing in the cluster knows yet.
func (c *cluster) mintUsers(t *testing.T, names ...string) (users []user, keys []v1alpha1.APIKey) {
	t.Helper()
	for _, name := range names {
		key, id := must.Values(apikey.Mint(rand.Reader, apikey.KindUser))(t)
		u := user{name: name + "-" + c.run, key: key, token: rand.Text()}
		u.home = c.url + "/u/" + u.name
		u.url = u.home + "/mcp"
		users = append(users, u)
		// In the form that every version reads: users are made before the upgrade.
		keys = append(keys, v1alpha1.APIKey{ID: id, Hash: apikey.HashOf(key).String()})
	}
	return users, keys
}

// makeServer runs the server that knows the users' tokens.
func (c *cluster) makeServer(t *testing.T, users []user) {
	t.Helper()
	at := metav1.ObjectMeta{Namespace: c.namespace, Name: server}
	labels := map[string]string{"app": server}
	container := corev1.Container{
		Name: server, Image: c.guarded, ImagePullPolicy: corev1.PullIfNotPresent,
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}},
	}
	for _, u := range users {
		container.Args = append(container.Args, "--token-hash="+apikey.HashOf(u.token).String())
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}},
		&appsv1.Deployment{ObjectMeta: at, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{container}, AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(1)),
			}},
		}},
		&corev1.Service{ObjectMeta: at, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 8080}}}},
	}
	for _, o := range objects {
		if err := c.client.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T: %v", o, err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		_ = client.IgnoreNotFound(c.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}))
	})
	wait.NoError(t, patience, "the server is available", func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := c.client.Get(ctx, client.ObjectKey(client.ObjectKeyFromObject(objects[1])), &d); err != nil {
			return err
		}
		if d.Status.AvailableReplicas < 1 {
			return fmt.Errorf("%d replicas are", d.Status.AvailableReplicas)
		}
		return nil
	})
}

// makeBridge makes the user's bridge and returns without waiting for it.
func (c *cluster) makeBridge(t *testing.T, u user, key v1alpha1.APIKey) {
	t.Helper()
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: u.name}, Spec: v1alpha1.HostedBridgeSpec{
		Tier: "business", APIKeys: []v1alpha1.APIKey{key}, DesiredState: v1alpha1.StateRunning,
		Servers: []v1alpha1.Server{{
			Name: server, Secrets: []v1alpha1.SecretName{"TOKEN"},
			Transport: v1alpha1.Transport{
				Type: v1alpha1.TransportStreamableHTTP, URL: "http://" + server + "." + c.namespace + ".svc:8080/mcp",
				Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${TOKEN}"}},
			},
		}},
	}}
	if err := c.client.Create(t.Context(), b); err != nil {
		t.Fatalf("create HostedBridge %s: %v", u.name, err)
	}
}

// awaitObjects waits until the operator has made what runs the user's bridge.
func (c *cluster) awaitObjects(t *testing.T, u user) time.Duration {
	t.Helper()
	var b v1alpha1.HostedBridge
	must.Succeed(t, c.client.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: u.name}, &b))
	return wait.NoError(t, patience, u.name+" has a Deployment", func(ctx context.Context) error {
		var list appsv1.DeploymentList
		if err := c.client.List(ctx, &list, client.InNamespace(c.namespace)); err != nil {
			return err
		}
		for _, d := range list.Items {
			if metav1.IsControlledBy(&d, &b) {
				return nil
			}
		}
		return fmt.Errorf("none of %d is theirs", len(list.Items))
	})
}

// seal has the user's token kept, and waits until a call has it.
func (c *cluster) seal(t *testing.T, u user) {
	t.Helper()
	wait.NoError(t, patience, "the secret of "+u.name+" is taken", func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, u.home+"/secrets/TOKEN", strings.NewReader(u.token))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+u.key)
		res, err := newHTTP(false).Do(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		said, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		if res.StatusCode/100 != 2 {
			return fmt.Errorf("status %d: %s", res.StatusCode, said)
		}
		return nil
	})
	c.awaitServed(t, u)
}

// awaitServed waits until a call of the user is answered.
func (c *cluster) awaitServed(t *testing.T, u user) time.Duration {
	t.Helper()
	call := u.modern(newHTTP(false), "echo", `{"text":"hello"}`, "hello")
	return wait.NoError(t, patience, "a call of "+u.name+" is answered", call)
}

// burst is how many calls the load makes at once at the most, and more.
const burst = 20

// awaitPace waits until the user may call as often as the load does: the limits
// of their tier reach the processes a while after the installation.
func (c *cluster) awaitPace(t *testing.T, u user) {
	t.Helper()
	call := u.modern(newHTTP(true), "echo", `{"text":"hello"}`, "hello")
	wait.NoError(t, patience, u.name+" may call as often as the load does", func(ctx context.Context) error {
		for range burst {
			if err := call(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// awaitReady waits until the bridge says that it is Ready.
func (c *cluster) awaitReady(t *testing.T, u user) {
	t.Helper()
	wait.NoError(t, patience, u.name+" is Ready", func(ctx context.Context) error {
		var b v1alpha1.HostedBridge
		if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: u.name}, &b); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("its conditions are %+v", b.Status.Conditions)
		}
		return nil
	})
}
