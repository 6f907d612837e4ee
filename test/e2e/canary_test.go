// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/e2e/canary"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// secretsAreNowhereElse sets a secret, sends it every way that a secret can go,
// and then searches the cluster for it. Beside it lie values that were put
// where a secret must not be, one for each place: a search that misses one of
// those has shown nothing.
func secretsAreNowhereElse(t *testing.T) {
	mona := newGuardedTenant(t, "mona", left, right)
	planted := plant(t)
	secrets := travel(t, mona)
	awaitPlanted(t)

	var canaries []canary.Canary
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		canaries = append(canaries, mustCanary(t, name, secrets[name]))
	}
	for _, p := range planted {
		canaries = append(canaries, mustCanary(t, p.name, p.value))
	}
	s := canary.NewScanner(canaries...)
	start := time.Now()
	search(t, s)
	t.Logf("searched for %d values within %s: bytes by place %v", len(canaries), time.Since(start).Round(time.Millisecond), s.Scanned())

	found := map[string][]canary.Finding{}
	for _, f := range s.Findings() {
		found[f.Canary] = append(found[f.Canary], f)
	}
	for name := range secrets {
		for _, f := range found[name] {
			t.Errorf("a secret lies about: %s", f)
		}
	}
	for _, p := range planted {
		for _, place := range p.places(os.Getenv("CLUSTER") == "local") {
			if !slices.ContainsFunc(found[p.name], func(f canary.Finding) bool { return strings.HasPrefix(f.Place, place) }) {
				t.Errorf("%s is not found in any %s, so that the search shows nothing of those; it is found in %v", p.name, place, found[p.name])
			}
		}
	}
	for kind, size := range s.Scanned() {
		if size == 0 {
			t.Errorf("nothing was searched of the kind %s", kind)
		}
	}
}

func mustCanary(t *testing.T, name, value string) canary.Canary {
	t.Helper()
	return must.Value(canary.New(name, value))(t)
}

// travel sends values everywhere that a user's secret goes, also where it is
// refused, and returns them by what became of them.
func travel(t *testing.T, n tenant) map[string]string {
	t.Helper()
	values := map[string]string{
		"a secret in use": left.token(t), "a replaced secret": left.token(t),
		"a deleted secret": right.token(t), "a secret that no server uses": newToken(),
		"a refused value that is too long": strings.Repeat(newToken(), maxSecret/32),
		"a refused value of a wrong name":  newToken(), "a refused value of nobody": newToken(),
		"a refused value beyond the limit": newToken(), "a value that the server refuses": newToken(),
	}
	mustPut(t, n, left.secret, values["a replaced secret"], http.StatusCreated)
	awaitPresented(t, n, left, values["a replaced secret"])
	mustPut(t, n, left.secret, values["a secret in use"], http.StatusOK)
	awaitPresented(t, n, left, values["a secret in use"])
	mustPut(t, n, right.secret, values["a deleted secret"], http.StatusCreated)
	awaitPresented(t, n, right, values["a deleted secret"])
	mustDelete(t, n, right.secret)
	awaitOutOfService(t, n, right)
	// The server answers 401 to it, which the bridge reports.
	mustPut(t, n, right.secret, values["a value that the server refuses"], http.StatusCreated)

	mustPut(t, n, "credentials.json", values["a secret that no server uses"], http.StatusCreated)
	for _, name := range []string{"C", "D"} {
		mustPut(t, n, name, "x", http.StatusCreated)
	}
	for _, r := range []struct {
		name, value string
		status      int
	}{
		{"C", "a refused value that is too long", http.StatusRequestEntityTooLarge},
		{"small", "a refused value of a wrong name", http.StatusBadRequest},
		{"MORE", "a refused value beyond the limit", http.StatusConflict},
	} {
		if a := askSecrets(t, n, http.MethodPut, "/"+r.name, values[r.value]); a.status != r.status {
			t.Errorf("PUT of %s: status %d %s, want %d", r.value, a.status, a.code(), r.status)
		}
	}
	stranger := tenant{name: installed.name("zelda"), key: n.key}
	if a := askSecrets(t, stranger, http.MethodPut, "/C", values["a refused value of nobody"]); a.status != http.StatusUnauthorized {
		t.Errorf("PUT for nobody: status %d, want %d", a.status, http.StatusUnauthorized)
	}
	awaitPresented(t, n, left, values["a secret in use"])
	maps.Copy(values, publishersKeys(t))
	return values
}

// publishersKeys uses publishers' keys everywhere that they go, also where they
// open nothing, and returns them.
func publishersKeys(t *testing.T) map[string]string {
	t.Helper()
	p, boss := newPublisher(t, "keyed"), admin(t)
	keys := "/admin/publishers/" + p.id + "/keys"
	var withdrawn struct{ Key, KeyID string }
	boss.must(t, http.StatusCreated, http.MethodPost, keys, `{}`).into(t, &withdrawn)
	name := installed.name("keyed")
	file := fileOf(t, remote(name, left, "1.0.0"))
	p.mustPublish(t, name, file)
	// Where a recipe may not have a key, the refusal must not have it either.
	leaky := remote(name, left, "2.0.0")
	leaky.Transports[0].Headers[0].Value = p.key
	p.must(t, http.StatusUnprocessableEntity, http.MethodPut, "/recipes/"+name, fileOf(t, leaky), "If-Match", "*")
	boss.must(t, http.StatusNoContent, http.MethodDelete, keys+"/"+withdrawn.KeyID, "")
	old := newCurl(withdrawn.Key)
	for _, path := range []string{"/recipes", "/admin/publishers", "/u/" + p.id + "/mcp"} {
		if a := old.ask(t, http.MethodPost, path, file); a.status < http.StatusBadRequest {
			t.Errorf("POST %s with a withdrawn publisher's key: status %d", path, a.status)
		}
	}
	return map[string]string{"a publisher's key": p.key, "a withdrawn publisher's key": withdrawn.Key}
}

// plantedValue is a value where the search must find it.
type plantedValue struct {
	name, value string
	// kinds are the beginnings of places that an administrator reads, and
	// onNode of those that take the node's root.
	kinds, onNode []string
}

func (p plantedValue) places(local bool) []string {
	if local {
		return append(slices.Clone(p.kinds), p.onNode...)
	}
	return p.kinds
}

var plantedLabels = client.MatchingLabels{"app": "planted"}

// plant puts a value of its own into each kind of place.
func plant(t *testing.T) []plantedValue {
	t.Helper()
	inConfigMap, inSecret, inEnvironment, onCommandLine, inLog := newToken(), newToken(), newToken(), newToken(), newToken()
	inName := strings.ToLower(rand.Text())
	mode := int32(0o444)
	pod := func(name string, c corev1.Container, volumes ...corev1.Volume) *corev1.Pod {
		c.Name, c.Image, c.ImagePullPolicy = "guarded", installed.guarded, corev1.PullIfNotPresent
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: installed.namespace, Name: name, Labels: plantedLabels},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(1)), AutomountServiceAccountToken: new(false),
				Containers: []corev1.Container{c}, Volumes: volumes,
			},
		}
	}
	hash := "--token-hash=" + apikey.HashOf(inEnvironment).String()
	meta := metav1.ObjectMeta{Namespace: installed.namespace, Name: "planted"}
	running := pod("planted", corev1.Container{
		Args: []string{"--http=:8080", hash, onCommandLine}, Env: []corev1.EnvVar{{Name: "PLANTED", Value: inEnvironment}},
		VolumeMounts: []corev1.VolumeMount{{Name: "secret", MountPath: "/planted"}},
	}, corev1.Volume{Name: "secret", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: meta.Name, DefaultMode: &mode},
	}})
	// It ends at once, saying that it cannot listen on that address, and the
	// kubelet says which pod it is that ends again and again.
	failing := pod(inName, corev1.Container{Args: []string{"--http=" + inLog, hash}})
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"planted": inConfigMap}},
		&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"planted": inSecret}},
		running, failing,
	} {
		if err := installed.client.Create(t.Context(), object); err != nil {
			t.Fatalf("plant a %T: %v", object, err)
		}
		t.Cleanup(func() { uproot(t, object) })
	}
	return []plantedValue{
		{"the planted ConfigMap", inConfigMap, []string{kindObjects + " ConfigMap"}, []string{kindStore}},
		{"the planted Secret", inSecret, []string{kindObjects + " Secret"}, []string{kindStore, kindVolumes}},
		{"the planted variable", inEnvironment, []string{kindObjects + " Pod"}, []string{kindStore, kindEnvironment}},
		{"the planted argument", onCommandLine, []string{kindObjects + " Pod"}, []string{kindStore, kindCommandLine}},
		{"the planted log line", inLog, []string{kindLogs}, []string{kindPodLogs}},
		{"the planted name", inName, []string{kindObjects + " Pod"}, []string{kindStore, kindNodeLogs + " kubelet.log", kindNodeLogs + " audit.log"}},
	}
}

// awaitPlanted waits until the one pod runs and the kubelet has given the other
// one up for a while, after which there is a log of before its restart too.
func awaitPlanted(t *testing.T) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the planted pods are there", func(ctx context.Context) error {
		var pods corev1.PodList
		if err := installed.client.List(ctx, &pods, client.InNamespace(installed.namespace), plantedLabels); err != nil {
			return err
		}
		for _, p := range pods.Items {
			if !isReady(p) && (restarts(p) == 0 || p.Status.ContainerStatuses[0].State.Waiting == nil) {
				return fmt.Errorf("pod %s has been started again %d times", p.Name, restarts(p))
			}
		}
		return nil
	})
}

func uproot(t *testing.T, object client.Object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
	defer cancel()
	if err := client.IgnoreNotFound(installed.client.Delete(ctx, object)); err != nil {
		t.Error(errors.Join(errors.New("remove what was planted"), err))
	}
}
