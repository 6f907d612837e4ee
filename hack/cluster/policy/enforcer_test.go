// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/knftables"
)

func TestAPodIsAnnouncedBeforeTheAPIHasItsAddress(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "1"}}
	ended := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "ended", UID: "2"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.244.0.7"},
	}
	closed := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "closed"},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}},
	}
	nft := knftables.NewFake(knftables.InetFamily, Table)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, synced, err := watch(ctx, fake.NewClientset(namespace("a"), namespace("b"), pod, ended, closed), nft, "pods0")
	if err != nil || !cache.WaitForCacheSync(ctx.Done(), synced...) {
		t.Fatal("the watches did not begin", err)
	}
	go e.run(ctx)
	server := httptest.NewServer(e.handler())
	defer server.Close()
	announce := func(body string) int {
		t.Helper()
		answer, err := server.Client().Post(server.URL+"/pods", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	if code := announce(`{"namespace":"a","name":"web","uid":"1","address":"10.244.0.7"}`); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	// The rules are there when the answer is, and the ended pod's address is the
	// new one's.
	if dump := nft.Dump(); !strings.Contains(dump, "egress { 10.244.0.7 : jump egress-1 }") {
		t.Errorf("the pod is open:\n%s", dump)
	}
	// Its next start has another address, and the earlier one is not known any more
	// as its own.
	if code := announce(`{"namespace":"a","name":"web","uid":"1","address":"10.244.0.8"}`); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	if dump := nft.Dump(); strings.Contains(dump, "10.244.0.7 : jump") || !strings.Contains(dump, "10.244.0.8 : jump egress-1") {
		t.Errorf("the rules are not those of the pod's new start:\n%s", dump)
	}
	if code := announce(`no`); code == http.StatusOK {
		t.Error("an announcement that is no JSON is accepted")
	}
}

func TestAnAddressIsThatOfTheLatestPod(t *testing.T) {
	at := func(uid string, created int64, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: uid, UID: types.UID(uid), CreationTimestamp: metav1.Unix(created, 0)},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.244.0.7"},
		}
		if change != nil {
			change(p)
		}
		return p
	}
	e := &enforcer{addresses: map[string]types.UID{}}
	got := e.addressed([]*corev1.Pod{
		at("earlier", 1, nil), at("later", 2, nil),
		at("ended", 3, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		at("node", 4, func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
	})
	if len(got) != 1 || got[0].Namespace != "later" {
		t.Errorf("the address is that of %+v", got)
	}
}
