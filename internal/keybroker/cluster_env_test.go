// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package keybroker

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/desired"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// object is any object of the API, for the client of package testenv.
type object interface {
	metav1.Object
	runtime.Object
}

// installed is a keybroker with no more rights than the manifests give it.
type installed struct {
	*Server
	cluster *Cluster
	handler http.Handler
}

func install(t *testing.T) *installed {
	t.Helper()
	admin := testenv.Client(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}
	if err := admin.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	applyRBAC(t)
	config := testenv.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + system + ":hosted-bridge-keybroker",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	cluster, err := NewCluster(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Namespace: system, ClusterID: "test"}, Deps{
		Reader: cluster, Secrets: cluster, Ring: testRing(t, 1), Random: rand.Reader, Now: time.Now,
		Registry: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &installed{s, cluster, s.handler()}
}

// applyRBAC applies the keybroker's rights as config/default would.
func applyRBAC(t *testing.T) {
	t.Helper()
	admin := testenv.Client(t)
	content, err := os.ReadFile("../../config/rbac/keybroker.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := json.Unmarshal(raw, &kind); err != nil {
			t.Fatal(err)
		}
		objects := map[string]object{
			"ServiceAccount": &corev1.ServiceAccount{}, "Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{},
			"ClusterRole": &rbacv1.ClusterRole{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{},
		}
		o, ok := objects[kind.Kind]
		if !ok {
			t.Fatalf("unexpected kind %q", kind.Kind)
		}
		if err := json.Unmarshal(raw, o); err != nil {
			t.Fatal(err)
		}
		if kind.Kind != "ClusterRole" && kind.Kind != "ClusterRoleBinding" {
			o.SetNamespace(system)
		}
		if err := admin.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// bridge makes a HostedBridge with what the operator and the kubelet make.
func bridge(t *testing.T, namespace, name string) *v1alpha1.HostedBridge {
	t.Helper()
	admin := testenv.Client(t)
	t.Helper()
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	testenv.ExpectApplied(t, admin, b)
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("HostedBridge"))}
	testenv.ExpectApplied(t, admin,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: desired.Envelopes(name), OwnerReferences: owner}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: desired.Workload(name), OwnerReferences: owner}},
		pod(namespace, name, desired.Workload(name)),
	)
	return b
}

func pod(namespace, name, account string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
}

// podToken returns a token as the kubelet projects it into the pod.
func podToken(t *testing.T, namespace, podName, account, audience string) string {
	t.Helper()
	admin := testenv.Client(t)
	t.Helper()
	p := pod(namespace, podName, account)
	testenv.ExpectExists(t, admin, p)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID},
	}}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := admin.SubResource("token").Create(t.Context(), sa, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func (i *installed) expectIdentity(t *testing.T, token string, want identity, refusal *problem) {
	t.Helper()
	got, err := i.callers.identify(t.Context(), token)
	if refusal == nil && (err != nil || got != want) {
		t.Errorf("%+v, error %v; want %+v", got, err, want)
	}
	if refusal != nil && (err == nil || publicProblem(err) != refusal) {
		t.Errorf("%+v, error %v; want %v", got, err, refusal)
	}
}

func remove(t *testing.T, o object) {
	t.Helper()
	if err := testenv.Client(t).Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func TestRealTokensOfRealPods(t *testing.T) {
	i, admin := install(t), testenv.Client(t)
	namespace := testenv.Namespace(t, admin)
	b := bridge(t, namespace, "alice")
	workload := desired.Workload("alice")
	token := podToken(t, namespace, "alice", workload, Audience)
	alice := identity{kindBridge, bridgeRef{namespace, "alice", b.UID}}
	i.expectIdentity(t, token, alice, nil)
	i.expectIdentity(t, podToken(t, namespace, "alice", workload, "somebody-else"), identity{}, errTokenRefused)
	i.expectIdentity(t, token[:len(token)-2], identity{}, errTokenRefused)

	testenv.ExpectApplied(t, admin,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: ingressAccount}}, pod(system, "ingress", ingressAccount),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ingressAccount}}, pod(namespace, "ingress", ingressAccount))
	i.expectIdentity(t, podToken(t, system, "ingress", ingressAccount, Audience), identity{kind: kindIngress}, nil)
	i.expectIdentity(t, podToken(t, namespace, "ingress", ingressAccount, Audience), identity{}, errNotABridge)

	// The HostedBridge is made again under its name; its service account and
	// pod are still those of the earlier one.
	remove(t, b)
	i.expectIdentity(t, token, identity{}, errBridge)
	testenv.ExpectApplied(t, admin, &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "alice"}})
	i.expectIdentity(t, token, identity{}, errBridge)

	// The token of a pod that is gone, and of one whose name is used again.
	// The API server may remember its verdict on a token for some seconds, so
	// that it is either's refusal.
	remove(t, pod(namespace, "alice", workload))
	refused := func(what string) {
		t.Helper()
		_, err := i.callers.identify(t.Context(), token)
		if p := publicProblem(err); p != errPod && p != errTokenRefused {
			t.Errorf("%s: error %v, want %v or %v", what, err, errPod, errTokenRefused)
		}
	}
	refused("a pod that is gone")
	testenv.ExpectApplied(t, admin, pod(namespace, "alice", workload))
	refused("a pod whose name is used again")
}

func TestSecretsOnARealAPIServer(t *testing.T) {
	i, admin := install(t), testenv.Client(t)
	namespace := testenv.Namespace(t, admin)
	b := bridge(t, namespace, "alice")
	ref := bridgeRef{namespace, "alice", b.UID}
	for _, name := range []string{"ONE", "two.json", "ONE"} {
		if err := i.vault.seal(t.Context(), ref, name, []byte("value of "+name)); err != nil {
			t.Fatal(err)
		}
	}
	w := ask(t, i.handler, "GET", "/v1/secrets", podToken(t, namespace, "alice", desired.Workload("alice"), Audience), "", nil)
	var got struct{ Secrets map[string][]byte }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d, error %v", w.Code, err)
	}
	want := map[string][]byte{"ONE": []byte("value of ONE"), "two.json": []byte("value of two.json")}
	if diff := cmp.Diff(want, got.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}

	// What the operator applies to the same Secret leaves the envelopes alone,
	// and the salt cannot be exchanged by a patch.
	salt := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: desired.Salt("alice")}}
	testenv.ExpectExists(t, admin, salt)
	if owner := metav1.GetControllerOf(salt); owner == nil || owner.UID != b.UID {
		t.Errorf("the salt's owner is %+v", owner)
	}
	err := i.cluster.SetKey(t.Context(), salt, saltKey, make([]byte, 32))
	if !apierrors.IsInvalid(err) {
		t.Errorf("changing the salt: error %v", err)
	}
	if err := i.vault.seal(t.Context(), bridgeRef{namespace, "alice", "uid-earlier"}, "ONE", nil); publicProblem(err) != errNotOwned {
		t.Errorf("for an earlier HostedBridge: error %v", err)
	}
	stale := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: desired.Envelopes("alice"), ResourceVersion: "1"}}
	if err := i.cluster.SetKey(t.Context(), stale, "ONE", nil); !apierrors.IsConflict(err) {
		t.Errorf("a stale write: error %v", err)
	}
	for n := range 20 {
		err = i.vault.seal(t.Context(), ref, "BIG_"+string(rune('A'+n)), make([]byte, 64<<10))
		if err != nil {
			break
		}
	}
	if err == nil || publicProblem(err) != errTooMuch {
		t.Errorf("more than a Secret holds: error %v", err)
	}
}

func TestPublishingTwiceWritesOnce(t *testing.T) {
	i, admin := install(t), testenv.Client(t)
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: caName}}
	if err := i.cluster.ApplyCA(t.Context(), system, []byte("x")); !apierrors.IsForbidden(err) {
		t.Errorf("without the installation's ConfigMap: error %v", err)
	}
	testenv.ExpectApplied(t, admin, ca)
	var versions []string
	for range 2 {
		p := &Publisher{Trust: i.cluster, Namespace: system, PEM: i.authority.CertificatePEM(), Log: slog.New(slog.DiscardHandler)}
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		testenv.ExpectExists(t, admin, ca)
		versions = append(versions, ca.ResourceVersion)
	}
	if ca.Data[caKey] != string(i.authority.CertificatePEM()) || versions[0] != versions[1] {
		t.Errorf("published %q in versions %v", ca.Data[caKey], versions)
	}
	// Somebody else's value does not last beyond the next start.
	ca.Data[caKey] = "forged"
	if err := admin.Update(t.Context(), ca); err != nil {
		t.Fatal(err)
	}
	if err := i.cluster.ApplyCA(t.Context(), system, i.authority.CertificatePEM()); err != nil {
		t.Fatal(err)
	}
	testenv.ExpectExists(t, admin, ca)
	if ca.Data[caKey] != string(i.authority.CertificatePEM()) {
		t.Error("the forged certificate stands")
	}
}
