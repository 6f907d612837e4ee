// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package keybroker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/test/must"
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
	cluster := must.Value(NewCluster(config))(t)
	s := must.Value(New(Config{Namespace: system}, testDeps(t, cluster, cluster, t.Output())))(t)
	return &installed{s, cluster, s.handler()}
}

// applyRBAC applies the keybroker's rights as config/default would.
func applyRBAC(t *testing.T) {
	t.Helper()
	admin := testenv.Client(t)
	content := must.Value(os.ReadFile("../../config/rbac/keybroker.yaml"))(t)
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		must.Succeed(t, json.Unmarshal(raw, &kind))
		objects := map[string]object{
			"ServiceAccount": &corev1.ServiceAccount{}, "Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{},
			"ClusterRole": &rbacv1.ClusterRole{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{},
		}
		o, ok := objects[kind.Kind]
		if !ok {
			t.Fatalf("unexpected kind %q", kind.Kind)
		}
		must.Succeed(t, json.Unmarshal(raw, o))
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
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.WorkloadName(name), OwnerReferences: owner}},
		tenantPod(namespace, name, v1alpha1.WorkloadName(name)),
	)
	return b
}

func pod(namespace, name, account string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
}

// tenantPod is pod, made as a tenant's.
func tenantPod(namespace, name, account string) *corev1.Pod {
	p := pod(namespace, name, account)
	p.ObjectMeta = testenv.OfTenant(p.ObjectMeta)
	return p
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
	must.Succeed(t, admin.SubResource("token").Create(t.Context(), sa, request))
	return request.Status.Token
}

func (i *installed) expectIdentity(t *testing.T, token string, want identity, refusal *httpapi.Problem) {
	t.Helper()
	got, err := i.callers.identify(t.Context(), token)
	got.object = nil
	if refusal == nil && (err != nil || got != want) {
		t.Errorf("%+v, error %v; want %+v", got, err, want)
	}
	if refusal != nil && (err == nil || publicProblem(err) != refusal) {
		t.Errorf("%+v, error %v; want %v", got, err, refusal)
	}
}

func remove(t *testing.T, o object) {
	t.Helper()
	must.Succeed(t, testenv.Client(t).Delete(t.Context(), o))
}

func TestRealTokensOfRealPods(t *testing.T) {
	for name, verified := range map[string]func(i *installed){
		"by a review": func(*installed) {},
		"by the API server's keys": func(i *installed) {
			i.callers.cluster = &byKeys{i.cluster, NewTokenVerifier(i.cluster, time.Now)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := install(t)
			verified(i)
			expectRealTokens(t, i)
		})
	}
}

// byKeys is the API server without its word about tokens.
type byKeys struct {
	*Cluster

	tokens *TokenVerifier
}

func (b *byKeys) Review(ctx context.Context, token, audience string) (*authenticationv1.TokenReviewStatus, error) {
	return b.tokens.Review(ctx, token, audience)
}

func expectRealTokens(t *testing.T, i *installed) {
	t.Helper()
	admin := testenv.Client(t)
	namespace := testenv.Namespace(t, admin)
	b := bridge(t, namespace, "alice")
	workload := v1alpha1.WorkloadName("alice")
	token := podToken(t, namespace, "alice", workload, Audience)
	alice := identity{kind: kindBridge, bridge: reference(b)}
	i.expectIdentity(t, token, alice, nil)
	i.expectIdentity(t, podToken(t, namespace, "alice", workload, "somebody-else"), identity{}, errTokenRefused)
	i.expectIdentity(t, token[:len(token)-2], identity{}, errTokenRefused)

	// Another account of the namespace, whose pod is not the bridge's.
	testenv.ExpectApplied(t, admin,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stranger"}}, pod(namespace, "stranger", "stranger"))
	i.expectIdentity(t, podToken(t, namespace, "stranger", "stranger", Audience), identity{}, errNotABridge)
	// A pod that somebody made who may make pods, with the bridge's account.
	testenv.ExpectApplied(t, admin, pod(namespace, "imitated", workload))
	i.expectIdentity(t, podToken(t, namespace, "imitated", workload, Audience), identity{}, errNotABridge)
	// A token that is bound to no pod.
	unbound := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{Audience}}}
	if err := admin.SubResource("token").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: workload}}, unbound); err != nil {
		t.Fatal(err)
	}
	i.expectIdentity(t, unbound.Status.Token, identity{}, errTokenRefused)

	// Another test may have made the ingress's pod.
	testenv.ExpectPresent(t, admin,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: ingressAccount}}, pod(system, "ingress", ingressAccount))
	testenv.ExpectApplied(t, admin,
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
	testenv.ExpectApplied(t, admin, tenantPod(namespace, "alice", workload))
	refused("a pod whose name is used again")
}

func reference(b *v1alpha1.HostedBridge) secretstore.Bridge {
	return secretstore.Bridge{Namespace: b.Namespace, Name: b.Name, UID: b.UID}
}

// set sets a secret of the bridge's.
func (i *installed) set(t *testing.T, b secretstore.Bridge, name string, value []byte) error {
	t.Helper()
	_, err := i.store.Update(t.Context(), b, func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		return []secretstore.Change{{Name: name, Value: value}}, nil
	})
	return err
}

// path returns the path of the bridge's secrets, or of one of them.
func path(b *v1alpha1.HostedBridge, name ...string) string {
	return strings.Join(append([]string{"/v1/bridges", b.Namespace, b.Name, string(b.UID), "secrets"}, name...), "/")
}

func TestSecretsOnARealAPIServer(t *testing.T) {
	i, admin := install(t), testenv.Client(t)
	namespace := testenv.Namespace(t, admin)
	b := bridge(t, namespace, "alice")
	put(t, i.handler, path(b, "ONE"), "one", http.StatusCreated)
	put(t, i.handler, path(b, "two.json"), "two", http.StatusCreated)
	put(t, i.handler, path(b, "ONE"), "value of one", http.StatusOK)
	put(t, i.handler, path(b, "GONE"), "gone", http.StatusCreated)
	if w := ask(t, i.handler, "DELETE", path(b, "GONE"), ingressCertificate, "", nil); w.Code != http.StatusNoContent {
		t.Errorf("remove: %d %s", w.Code, w.Body)
	}
	token := podToken(t, namespace, "alice", v1alpha1.WorkloadName("alice"), Audience)
	want := map[string][]byte{"ONE": []byte("value of one"), "two.json": []byte("two")}
	got := deliver(t, i.handler, token)
	if diff := cmp.Diff(want, got.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if w := ask(t, i.handler, "GET", path(b), ingressCertificate, "", nil); !strings.Contains(w.Body.String(), `"limit":5`) || !strings.Contains(w.Body.String(), got.Revision) {
		t.Errorf("list: %d %s", w.Code, w.Body)
	}
	if w := ask(t, i.handler, "PUT", strings.Replace(path(b, "ONE"), string(b.UID), "uid-earlier", 1), ingressCertificate, "", []byte("x")); w.Code != http.StatusNotFound {
		t.Errorf("the wrong uid: %d %s", w.Code, w.Body)
	}

	// Both Secrets are the bridge's, and the salt cannot be exchanged by a
	// patch.
	envelopes := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.EnvelopesSecretName("alice")}}
	salt := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.SaltSecretName("alice")}}
	for _, s := range []*corev1.Secret{envelopes, salt} {
		testenv.ExpectExists(t, admin, s)
		if owner := metav1.GetControllerOf(s); owner == nil || owner.UID != b.UID || s.Labels[v1alpha1.LabelName] != v1alpha1.NameValue {
			t.Errorf("Secret %s has owner %+v and labels %v", s.Name, owner, s.Labels)
		}
	}
	if len(envelopes.Data) != 3 || envelopes.Data[".index"] == nil {
		t.Errorf("%d keys, want two envelopes and the index", len(envelopes.Data))
	}
	if _, err := i.cluster.PatchSecret(t.Context(), salt, map[string][]byte{"salt": make([]byte, 32)}); !apierrors.IsInvalid(err) {
		t.Errorf("changing the salt: error %v", err)
	}
	stale := envelopes.DeepCopy()
	stale.ResourceVersion = "1"
	if _, err := i.cluster.PatchSecret(t.Context(), stale, map[string][]byte{"ONE": nil}); !apierrors.IsConflict(err) {
		t.Errorf("a stale write: error %v", err)
	}

	// The next HostedBridge of the name has nothing of it, and waits until it is
	// gone.
	later := reference(b)
	later.UID = "uid-later"
	if err := i.set(t, later, "ONE", []byte("x")); !errors.Is(err, secretstore.ErrNotReady) {
		t.Errorf("for a later HostedBridge: error %v", err)
	}

	// Without the salt nothing opens, also what comes back from a backup.
	backup := envelopes.DeepCopy()
	remove(t, salt)
	if got := deliver(t, i.handler, token); len(got.Secrets) != 0 || len(got.Unreadable) != 2 {
		t.Errorf("%d secrets open without the salt, unreadable %v", len(got.Secrets), got.Unreadable)
	}
	code, detail := refusal(t, put(t, i.handler, path(b, "ONE"), "x", http.StatusConflict))
	if code != "salt_missing" || !strings.Contains(detail, "set them again") {
		t.Errorf("%s: %s", code, detail)
	}
	for _, name := range []string{"ONE", "two.json"} {
		if w := ask(t, i.handler, "DELETE", path(b, name), ingressCertificate, "", nil); w.Code != http.StatusNoContent {
			t.Errorf("remove %s: %d", name, w.Code)
		}
	}
	put(t, i.handler, path(b, "NEW"), "new", http.StatusCreated)
	testenv.ExpectChanged(t, admin, envelopes, func() { envelopes.Data["ONE"] = backup.Data["ONE"] })
	if got := deliver(t, i.handler, token); !slices.Equal(got.Unreadable, []string{"ONE"}) || string(got.Secrets["NEW"]) != "new" {
		t.Errorf("an old envelope beside the new salt: %d secrets, unreadable %v", len(got.Secrets), got.Unreadable)
	}
}

func TestMoreThanASecretHoldsOnARealAPIServer(t *testing.T) {
	i, admin := install(t), testenv.Client(t)
	namespace := testenv.Namespace(t, admin)
	b := bridge(t, namespace, "alice")
	var err error
	n := 0
	for ; n < 20 && err == nil; n++ {
		err = i.set(t, reference(b), fmt.Sprintf("BIG_%d", n), make([]byte, 64<<10))
	}
	if !errors.Is(err, secretstore.ErrTooLarge) || n != 16 {
		t.Errorf("after %d: error %v", n, err)
	}
	// The API server itself says so in a way that is understood.
	stored := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.EnvelopesSecretName("alice")}}
	testenv.ExpectExists(t, admin, stored)
	_, err = i.cluster.PatchSecret(t.Context(), stored, map[string][]byte{"MORE": make([]byte, 128<<10)})
	if !apierrors.IsInvalid(err) && !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("error %v", err)
	}
	if got := deliver(t, i.handler, podToken(t, namespace, "alice", v1alpha1.WorkloadName("alice"), Audience)); len(got.Secrets) != 15 {
		t.Errorf("%d secrets", len(got.Secrets))
	}
}

func TestTwoReplicasWriteAtOnceOnARealAPIServer(t *testing.T) {
	one, two := install(t), install(t)
	b := bridge(t, testenv.Namespace(t, testenv.Client(t)), "alice")
	var group sync.WaitGroup
	for w, i := range []*installed{one, two} {
		group.Go(func() {
			for n := range 5 {
				if err := i.set(t, reference(b), fmt.Sprintf("SECRET_%d_%d", w, n), []byte("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	opened, err := one.store.Open(t.Context(), reference(b))
	if err != nil || len(opened.Values) != 10 || opened.Unreadable != nil {
		t.Errorf("%d secrets, unreadable %v, error %v", len(opened.Values), opened.Unreadable, err)
	}
}

// TestTheSameNamesInAnotherNamespace has a pod there with the labels and the
// service account's name of alice's.
func TestTheSameNamesInAnotherNamespace(t *testing.T) {
	i, admin := install(t), testenv.Client(t)
	namespace, other := testenv.Namespace(t, admin), testenv.Namespace(t, admin)
	put(t, i.handler, path(bridge(t, namespace, "alice"), "TOKEN"), canary, http.StatusCreated)
	workload := v1alpha1.WorkloadName("alice")
	imitated := tenantPod(other, "alice", workload)
	imitated.Labels[v1alpha1.LabelInstance] = "alice"
	testenv.ExpectApplied(t, admin, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: workload}}, imitated)
	token := podToken(t, other, "alice", workload, Audience)
	if code, _ := refusal(t, ask(t, i.handler, "GET", "/v1/secrets", token, "", nil)); code != "not_a_bridge" {
		t.Errorf("without an owner: %s", code)
	}
	mine := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: workload}}
	theirs := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: workload}}
	testenv.ExpectExists(t, admin, mine)
	testenv.ExpectChanged(t, admin, theirs, func() { theirs.OwnerReferences = mine.OwnerReferences })
	if code, _ := refusal(t, ask(t, i.handler, "GET", "/v1/secrets", token, "", nil)); code != "bridge_not_current" {
		t.Errorf("with alice's HostedBridge as the owner: %s", code)
	}
}

func TestPublishingTwiceWritesOnce(t *testing.T) {
	i, admin := install(t), testenv.Client(t)
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: caName}}
	if err := i.cluster.ApplyCA(t.Context(), system, map[string]string{caKey: "x"}); !apierrors.IsForbidden(err) {
		t.Errorf("without the installation's ConfigMap: error %v", err)
	}
	testenv.ExpectApplied(t, admin, ca)
	var versions []string
	for range 2 {
		p := &Publisher{Trust: i.cluster, Namespace: system, Data: must.Value(Published(i.authority))(t), Log: slog.New(slog.DiscardHandler)}
		must.Succeed(t, p.Run(t.Context()))
		testenv.ExpectExists(t, admin, ca)
		versions = append(versions, ca.ResourceVersion)
	}
	if ca.Data[caKey] != string(i.authority.CertificatePEM()) || versions[0] != versions[1] {
		t.Errorf("published %q in versions %v", ca.Data[caKey], versions)
	}
	// Somebody else's value does not last beyond the next start.
	ca.Data[caKey] = "forged"
	must.Succeed(t, admin.Update(t.Context(), ca))
	must.Succeed(t, i.cluster.ApplyCA(t.Context(), system, must.Value(Published(i.authority))(t)))
	testenv.ExpectExists(t, admin, ca)
	if ca.Data[caKey] != string(i.authority.CertificatePEM()) {
		t.Error("the forged certificate stands")
	}
}
